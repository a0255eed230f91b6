/** The steps from an empty database to the first launch, and the health of the site. Both come from the server. */
import { Button, Stack, Text } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useRead } from '../../api/read.ts';
import { Async } from '../../ui/async.tsx';
import { Page, Section } from '../../ui/page.tsx';
import { HEALTH_ID } from './setup-places.ts';
import { SetupSteps } from './setup-steps.tsx';
import { SiteChecks } from './site-checks.tsx';

/** A step may be done in another place while the page is open. */
const SETUP_EVERY_MS = 15_000;

const Health = () => {
  const site = useRead('adminDoctorGet', {});
  return (
    <Section
      title="Site health"
      flush
      actions={
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconRefresh size={15} aria-hidden />}
          loading={site.isFetching}
          onClick={() => void site.refetch()}
        >
          Check again
        </Button>
      }
    >
      <Async of={site} label="Site health" rows={8}>
        {(data) => <SiteChecks site={data} />}
      </Async>
    </Section>
  );
};

export const SetupPage = () => {
  const setup = useRead('adminSetupGet', {}, { everyMs: SETUP_EVERY_MS });
  return (
    <Page title="Setup" subtitle="From an empty database to the first launch, and the health of the site.">
      <Stack gap="md">
        <Text size="sm" className="muted">
          The same in a terminal: <code>gpuaas admin setup</code> runs the steps, and <code>gpuaas admin doctor</code>{' '}
          checks the site.
        </Text>
        <Section title="Steps" flush>
          <Async of={setup} label="Steps" rows={8}>
            {(data) => <SetupSteps setup={data} />}
          </Async>
        </Section>
        {/* Below a section that grows it would move. */}
        {setup.isPending ? null : (
          <div id={HEALTH_ID} className="site-health">
            <Health />
          </div>
        )}
      </Stack>
    </Page>
  );
};
