/** The history of the allocation by run: every step and attempt with its duration and error. */

import type { Allocation, TimelineEntry } from '@gpuaas/sdk';
import { Stack, Text, UnstyledButton } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { useState } from 'react';
import { clock, day } from '../../format/time.ts';
import { Loading } from '../../ui/loading.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { Exact, Took } from '../../ui/time.tsx';
import { isFailedEntry } from './failure.ts';
import { outcomeWord, runsOf, type TimelineRun } from './timeline.ts';
import { TraceButton } from './trace-button.tsx';

const Entry = ({ entry }: Readonly<{ entry: TimelineEntry }>) => {
  const [isOpen, setOpen] = useState(isFailedEntry(entry));
  const { word, tone } = outcomeWord(entry.outcome);
  const Chevron = isOpen ? IconChevronDown : IconChevronRight;
  return (
    <li className="al-entry">
      <UnstyledButton className="al-entry-line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Chevron size={15} aria-hidden />
        <span className="mono al-small muted" title={entry.started_at}>
          {clock(entry.started_at).slice(0, 8)}
        </span>
        <span className="al-entry-label">{entry.label}</span>
        <ToneBadge tone={tone}>{word}</ToneBadge>
        <span className="muted al-small">
          {entry.attempt > 1 && `attempt ${entry.attempt}, `}
          <Took ms={entry.duration_ms} />
        </span>
      </UnstyledButton>
      {isOpen && (
        <div className="al-entry-detail al-small">
          <p>{entry.detail ?? 'No details.'}</p>
          <p className="muted">
            <span className="mono">{entry.step}</span>, attempt {Math.max(1, entry.attempt)}, from{' '}
            <Exact at={entry.started_at} /> to <Exact at={entry.finished_at} />
          </p>
        </div>
      )}
    </li>
  );
};

const Run = ({ run }: Readonly<{ run: TimelineRun }>) => (
  <Section
    title={run.title}
    actions={
      <Text size="sm" className="muted">
        {day(run.started_at)}, <Took ms={run.duration_ms} />
        {run.failures > 0 && `, ${run.failures === 1 ? '1 failure' : `${run.failures} failures`}`}
      </Text>
    }
    flush
  >
    <ol className="al-entries">
      {run.entries.map((entry) => (
        <Entry key={`${entry.sequence} ${entry.step} ${entry.started_at}`} entry={entry} />
      ))}
    </ol>
  </Section>
);

export const TimelineTab = ({
  allocation: { project_id, correlation_id },
  timeline,
}: Readonly<{ allocation: Allocation; timeline: readonly TimelineEntry[] | undefined }>) => {
  if (timeline === undefined) return <Loading rows={6} label="Loading timeline" />;
  const runs = runsOf(timeline).toReversed();
  return (
    <Stack gap="md">
      <div>
        <TraceButton project_id={project_id} correlation_id={correlation_id} />
      </div>
      {runs.length === 0 ? (
        <EmptyState title="No steps yet">The first step appears here when it ends.</EmptyState>
      ) : (
        runs.map((run) => <Run key={run.key} run={run} />)
      )}
    </Stack>
  );
};
