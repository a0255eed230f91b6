/**
 * Log lines of the host's agent and of the control plane about it, oldest first, with the newest at the end as in a
 * terminal. The lines come from hosts: they are shown only as text.
 */
import { LOG_LEVELS, type Node, type Operations } from '@gpuaas/sdk';
import { Group, NativeSelect, TextInput } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useLayoutEffect, useMemo, useRef } from 'react';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import type { Tone } from '../../format/state.ts';
import { clock, exact } from '../../format/time.ts';
import { Async } from '../../ui/async.tsx';
import { CliCommand } from '../../ui/cli-command.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { valueText } from './diff.ts';
import { TraceLink } from './links.tsx';

type Line = Operations['adminLogList']['response']['items'][number];

const TONES: Readonly<Record<Line['level'], Tone>> = {
  trace: 'idle',
  debug: 'idle',
  info: 'good',
  warn: 'warn',
  error: 'bad',
  fatal: 'bad',
};
const SPANS = [
  ['15m', 15, 'Last 15 minutes'],
  ['1h', 60, 'Last hour'],
  ['6h', 360, 'Last 6 hours'],
  ['1d', 1_440, 'Last day'],
] as const;
const MINUTE_MS = 60_000;
const POLL_MS = 5_000;
/** How close to the end the view must be to follow new lines. */
const NEAR_PX = 40;

const LogLine = ({ line }: Readonly<{ line: Line }>) => (
  <li className="log-line">
    <time dateTime={line.logged_at} title={exact(line.logged_at)} className="mono">
      {clock(line.logged_at)}
    </time>
    <span>
      <ToneBadge tone={TONES[line.level]}>{line.level}</ToneBadge>
    </span>
    <span className="log-text">
      <span className="muted">{line.service}: </span>
      {line.error_code !== null && <strong className="mono">{line.error_code} </strong>}
      {line.message}
      {Object.keys(line.fields).length > 0 && <span className="muted mono"> {valueText(line.fields)}</span>}
      {line.correlation_id !== null && (
        <>
          {' '}
          <TraceLink id={line.correlation_id} label="correlation ID" />
        </>
      )}
    </span>
  </li>
);

const Lines = ({ lines }: Readonly<{ lines: readonly Line[] }>) => {
  const box = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines are what moves the end.
  useLayoutEffect(() => {
    if (isAtEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  return (
    <section
      ref={box}
      className="log"
      aria-label="Log lines, newest last"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by key.
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
      }}
    >
      <ol style={{ margin: 0, padding: 0, listStyle: 'none' }}>
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no id, and new ones only come at the end.
          <LogLine key={`${line.logged_at} ${index}`} line={line} />
        ))}
      </ol>
    </section>
  );
};

export const LogsTab = ({ node }: Readonly<{ node: Node }>) => {
  const search = useSearch({ from: '/console/platform/nodes/$nodeId' });
  const navigate = useNavigate({ from: '/platform/nodes/$nodeId' });
  const level = LOG_LEVELS.find((one) => one === search.level) ?? 'info';
  const [word, minutes] = SPANS.find(([one]) => one === search.since) ?? SPANS[1];
  const since = useMemo(() => new Date(Date.now() - minutes * MINUTE_MS).toISOString(), [minutes]);
  const logs = useAll(
    'adminLogList',
    { query: { node_id: node.id, level, since, correlation_id: search.correlation } },
    { everyMs: POLL_MS, keepPrevious: true },
  );
  const set = (change: Readonly<{ level?: string; since?: string; correlation?: string | undefined }>) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true, resetScroll: false });
  return (
    <Section
      title="Logs"
      flush
      actions={
        <Group gap="xs">
          <NativeSelect
            aria-label="Level"
            value={level}
            onChange={(event) => set({ level: event.currentTarget.value })}
          >
            {LOG_LEVELS.map((one) => (
              <option key={one} value={one}>
                {one} and above
              </option>
            ))}
          </NativeSelect>
          <NativeSelect
            aria-label="Period"
            value={word}
            onChange={(event) => set({ since: event.currentTarget.value })}
          >
            {SPANS.map(([value, , label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </NativeSelect>
          <TextInput
            aria-label="Correlation ID"
            placeholder="Correlation ID"
            value={search.correlation ?? ''}
            onChange={(event) => set({ correlation: event.currentTarget.value.trim() || undefined })}
          />
        </Group>
      }
    >
      <Async of={logs} rows={8} label="Loading logs">
        {(lines) =>
          lines.length === 0 ? (
            <EmptyState title="No log lines">
              No lines at this level in this period. Extend the period or lower the level.
            </EmptyState>
          ) : (
            <Lines lines={lines} />
          )
        }
      </Async>
      <div style={{ padding: '4px 12px 10px' }}>
        <CliCommand
          command={command(
            ['logs'],
            [
              ['correlation-id', search.correlation],
              ['node', node.name],
              ['level', level],
              ['since', word],
            ],
          )}
        />
      </div>
    </Section>
  );
};
