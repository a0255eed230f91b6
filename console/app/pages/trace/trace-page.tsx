/** Traces one ID: everything recorded under it, in one timeline across all hosts. */

import { TRACE_SOURCES, type Trace } from '@gpuaas/sdk';
import { Button, Chip, Group, Stack, TextInput } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { useRead } from '../../api/read.ts';
import { download } from '../../format/download.ts';
import { command } from '../../format/shell.ts';
import { clock, duration, exact } from '../../format/time.ts';
import { Async } from '../../ui/async.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { Copyable } from '../../ui/copy.tsx';
import { EmptyState, Facts, Page, Section } from '../../ui/page.tsx';
import { type Source, sourcesOf } from './rows.ts';
import { SubjectLink } from './subject-link.tsx';
import { TraceView } from './trace-view.tsx';

const Failure = ({ trace }: Readonly<{ trace: Trace }>) => {
  const entry = trace.entries.find(({ key }) => key === trace.first_failure_key);
  if (entry === undefined) return null;
  return (
    <section className="panel" data-tone="bad" aria-label="First failure">
      <strong>First failure: {entry.title}</strong>
      <div className="panel-body">
        {entry.detail !== null && <div style={{ overflowWrap: 'anywhere' }}>{entry.detail}</div>}
        <span className="muted">
          {exact(entry.at)} on {entry.host_name ?? entry.host_role}.{' '}
        </span>
        <a className="link" href={`#entry-${entry.key}`}>
          Show in timeline
        </a>
      </div>
    </section>
  );
};

const Evidence = ({ trace }: Readonly<{ trace: Trace }>) => (
  <Stack gap={4}>
    {trace.is_truncated && <div>Only 1,000 entries are shown: all failures and the newest entries.</div>}
    {trace.clock_skews.map(({ node_id, host_name, skew_ms }) => (
      <div key={node_id}>
        The clock of {host_name} is{' '}
        {skew_ms === 0
          ? 'right.'
          : `${duration(Math.abs(skew_ms))} ${skew_ms < 0 ? 'behind' : 'ahead'}. Times are shown corrected.`}
      </div>
    ))}
    {trace.gaps.map((gap) => (
      <div key={gap}>Missing data: {gap}</div>
    ))}
  </Stack>
);

const Found = ({
  trace,
  sources,
  onSources,
  projectId,
}: Readonly<{
  trace: Trace;
  sources: readonly Source[];
  onSources(sources: readonly string[]): void;
  projectId: string | null;
}>) => (
  <Stack gap="md">
    <Failure trace={trace} />
    <Section
      title={`Trace of ${trace.kind.replace('_', ' ')}`}
      actions={
        <Button
          size="xs"
          variant="default"
          leftSection={<IconDownload size={14} aria-hidden />}
          onClick={() => download(`trace-${trace.id}.json`, JSON.stringify(trace, null, 2))}
        >
          Export
        </Button>
      }
    >
      <Facts
        facts={[
          [
            'Correlation IDs',
            <Stack key="ids" gap={2}>
              {trace.correlation_ids.map((id) => (
                <Copyable key={id} text={id} label="correlation ID" />
              ))}
            </Stack>,
          ],
          [
            'Related resources',
            <Group key="subjects" gap={12}>
              {trace.subjects.map((subject) => (
                <SubjectLink key={subject.id} subject={subject} projectId={projectId} />
              ))}
            </Group>,
          ],
          [
            'Period',
            trace.entries.length === 0
              ? 'nothing'
              : `${exact(trace.entries[0]?.at ?? '')} to ${clock(trace.entries.at(-1)?.at ?? '')}`,
          ],
        ]}
      />
      <Evidence trace={trace} />
    </Section>
    <Section
      title="Timeline"
      flush
      actions={
        <Chip.Group multiple value={[...sources]} onChange={onSources}>
          <Group gap={6}>
            {TRACE_SOURCES.map((source) => (
              <Chip key={source} value={source} size="xs">
                {source}
              </Chip>
            ))}
          </Group>
        </Chip.Group>
      }
    >
      <TraceView trace={trace} sources={sources} />
    </Section>
  </Stack>
);

const IdBox = ({ id, onTrace }: Readonly<{ id: string; onTrace(id: string): void }>) => {
  const [text, setText] = useState(id);
  useEffect(() => setText(id), [id]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onTrace(text.trim());
  };
  return (
    <form onSubmit={submit}>
      <Group gap="xs" align="flex-end">
        <TextInput
          style={{ flex: 1, minWidth: 220 }}
          label="Correlation, allocation, node, slot, task or run ID"
          placeholder="c-01k9zv3m8q4t6w2x5y7r0s1n3p"
          value={text}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button type="submit">Trace</Button>
      </Group>
    </form>
  );
};

const WELL_FORMED = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/;
const LIVE_MS = 5_000;

const TracePage = ({ projectId }: Readonly<{ projectId: string | null }>) => {
  const { id = '', sources } = useSearch({ strict: false });
  const navigate = useNavigate();
  const isAsked = WELL_FORMED.test(id);
  const ofProject = useRead(
    'traceGet',
    { params: { project_id: projectId ?? '' }, query: { id } },
    { enabled: isAsked && projectId !== null, everyMs: LIVE_MS },
  );
  const ofPlatform = useRead(
    'adminTraceGet',
    { query: { id } },
    { enabled: isAsked && projectId === null, everyMs: LIVE_MS },
  );
  const trace = projectId === null ? ofPlatform : ofProject;
  const go = (search: Readonly<{ id?: string; sources?: string }>) =>
    void navigate({ to: '.', search: { id, ...(sources === undefined ? {} : { sources }), ...search }, replace: true });
  return (
    <Page title="Trace" subtitle="Everything recorded for one ID, from the request to the host.">
      <IdBox id={id} onTrace={(next) => go({ id: next })} />
      {id === '' ? (
        <EmptyState title="Enter an ID">
          Every error, allocation and audit entry has a correlation ID. Paste it here, or anywhere on a page, to see its
          timeline across all hosts.
        </EmptyState>
      ) : !isAsked ? (
        <EmptyState title="Not a valid ID">
          IDs have 8 to 64 letters, digits, dots, dashes and underscores. They start with a letter or digit.
        </EmptyState>
      ) : (
        <>
          <Async of={trace} rows={8} label="Loading trace">
            {(data) => (
              <Found
                trace={data}
                sources={sourcesOf(sources)}
                onSources={(chosen) => go({ sources: chosen.join(',') })}
                projectId={projectId}
              />
            )}
          </Async>
          <CliCommand
            command={
              projectId === null ? command(['admin', 'trace', id]) : command(['trace', id], [['project', projectId]])
            }
          />
        </>
      )}
    </Page>
  );
};

export const ProjectTracePage = () => {
  const { projectId } = useParams({ strict: false });
  return <TracePage projectId={projectId ?? null} />;
};
export const PlatformTracePage = () => <TracePage projectId={null} />;
