/** The failure of an allocation: cause, charges, current status and next actions. */

import type { Allocation, TimelineEntry } from '@gpuaas/sdk';
import { Button, Group, Text } from '@mantine/core';
import { IconCircleX, IconMail } from '@tabler/icons-react';
import { Copyable, CopyButton } from '../../ui/copy.tsx';
import { Facts } from '../../ui/page.tsx';
import { launchSearch } from '../launch/form.ts';
import { failureWords, reportLink, reportText } from './failure.ts';
import { LaunchButton } from './launch-button.tsx';
import { TraceButton } from './trace-button.tsx';

export const FailurePanel = ({
  allocation,
  timeline,
}: Readonly<{ allocation: Allocation; timeline: readonly TimelineEntry[] | undefined }>) => {
  const words = failureWords(allocation, timeline ?? []);
  if (words === null) return null;
  const { project_id, correlation_id } = allocation;
  return (
    <section className="panel" data-tone="bad" role="alert" aria-label={words.title}>
      <div className="al-panel-line">
        <IconCircleX size={18} aria-hidden />
        <div className="al-grow">
          <Text fw={600} inherit>
            {words.title}
          </Text>
          <div className="panel-body">
            <p>{words.cause}</p>
            <Facts
              facts={[
                // The row stays in place while the timeline loads, so that the layout does not jump.
                ['Failed step', words.step ?? (timeline === undefined ? '…' : 'The timeline shows no failed step.')],
                ['Charges', words.charged],
                ['Status', words.now],
                ['Correlation ID', <Copyable key="id" text={correlation_id} label="correlation ID" />],
              ]}
            />
            <Group gap="xs" mt={10}>
              <LaunchButton size="xs" projectId={project_id} search={launchSearch(allocation)}>
                Launch again
              </LaunchButton>
              <TraceButton project_id={project_id} correlation_id={correlation_id} />
              <Button
                size="xs"
                variant="default"
                component="a"
                href={reportLink(allocation)}
                leftSection={<IconMail size={15} aria-hidden />}
              >
                Report by email
              </Button>
              <CopyButton text={reportText(allocation)} label="report" />
            </Group>
            <Text size="sm" className="muted" mt={6}>
              The report contains the IDs that operators need. Add the address of your platform operators.
            </Text>
          </div>
        </div>
      </div>
    </section>
  );
};
