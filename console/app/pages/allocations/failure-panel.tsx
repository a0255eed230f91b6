/** A failure on the page of what failed: what, what it cost, what happens now, what one can do. */

import type { Allocation, TimelineEntry } from '@gpuaas/sdk';
import { Button, Group, Text } from '@mantine/core';
import { IconCircleX, IconMail, IconRoute } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { Copyable, CopyButton } from '../../ui/copy.tsx';
import { Facts } from '../../ui/page.tsx';
import { launchSearch } from '../launch/form.ts';
import { failureWords, reportLink, reportText } from './failure.ts';
import { LaunchButton } from './launch-button.tsx';

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
                // Its place is kept while the timeline is read, so that nothing below jumps.
                ['Where', words.step ?? (timeline === undefined ? '…' : 'The timeline names no step that failed.')],
                ['Money', words.charged],
                ['Now', words.now],
                ['Correlation id', <Copyable key="id" text={correlation_id} label="correlation id" />],
              ]}
            />
            <Group gap="xs" mt={10}>
              <LaunchButton size="xs" projectId={project_id} search={launchSearch(allocation)}>
                Launch the same again
              </LaunchButton>
              <Button
                size="xs"
                variant="default"
                leftSection={<IconRoute size={15} aria-hidden />}
                renderRoot={(props) => (
                  <Link
                    to="/projects/$projectId/follow"
                    params={{ projectId: project_id }}
                    search={{ id: correlation_id }}
                    {...props}
                  />
                )}
              >
                Follow this id
              </Button>
              <Button
                size="xs"
                variant="default"
                component="a"
                href={reportLink(allocation)}
                leftSection={<IconMail size={15} aria-hidden />}
              >
                Report it by mail
              </Button>
              <CopyButton text={reportText(allocation)} label="the report" />
            </Group>
            <Text size="sm" className="muted" mt={6}>
              A report goes to the people who run this platform, and carries the ids that they need. The mail leaves the
              address to you.
            </Text>
          </div>
        </div>
      </div>
    </section>
  );
};
