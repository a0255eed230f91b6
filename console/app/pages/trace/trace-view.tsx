/** A trace in lanes by host role, with the first failure pinned on top and marked in its place. */
import './trace.css';
import { HOST_ROLES, type Trace, type TraceEntry } from '@gpuaas/sdk';
import { Button, Collapse, Group, Text } from '@mantine/core';
import { type CSSProperties, Fragment, useState } from 'react';
import { count } from '../../format/size.ts';
import { clock, day, duration, exact } from '../../format/time.ts';
import { CopyBlock } from '../../ui/copy.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { offsetOf, rowsOf, type Source, type TraceRow } from './rows.ts';

type Lane = TraceEntry['host_role'];
const LANE_NAMES = { platform_control: 'Control plane', app_control: 'Apps', worker_compute: 'Hosts' } as const;

const SOURCE_NAMES: Readonly<Record<Source, string>> = {
  request: 'request',
  audit: 'audit',
  workflow: 'step',
  task: 'host task',
  log: 'log',
  event: 'event',
};

const tookOf = ({ at, since }: TraceEntry): string | null =>
  since === null ? null : duration(Math.max(0, Date.parse(at) - Date.parse(since)));

/** An empty lane would only take space from the others. */
const lanesOf = ({ entries }: Trace): readonly Lane[] =>
  HOST_ROLES.filter((lane) => entries.some(({ host_role }) => host_role === lane));

/** The time is in the first column. */
const laneStyle = (lanes: readonly Lane[], lane: Lane): CSSProperties =>
  ({ '--lane': lanes.indexOf(lane) + 2 }) as CSSProperties;

type ItemProps = Readonly<{ entry: TraceEntry; isFirstFailure: boolean; lanes: readonly Lane[] }>;

const Item = ({ entry, isFirstFailure, lanes }: ItemProps) => {
  const [isOpen, setOpen] = useState(false);
  const took = tookOf(entry);
  const hasMore = Object.keys(entry.data).length > 0;
  return (
    <div
      className="trace-item"
      id={`entry-${entry.key}`}
      data-level={entry.level}
      data-first-failure={isFirstFailure}
      style={laneStyle(lanes, entry.host_role)}
    >
      <Group gap={8} align="baseline">
        {entry.is_failure && <ToneBadge tone="bad">{isFirstFailure ? 'First failure' : 'Failed'}</ToneBadge>}
        {!entry.is_failure && entry.level === 'warn' && <ToneBadge tone="warn">Warning</ToneBadge>}
        {!entry.is_failure && entry.level === 'error' && <ToneBadge tone="bad">Error</ToneBadge>}
        <Text span fw={500}>
          {entry.title}
        </Text>
        <span className="muted">
          <span className="trace-lane">{LANE_NAMES[entry.host_role]} · </span>
          {[SOURCE_NAMES[entry.source], entry.host_name, took].filter((part) => part !== null).join(' · ')}
        </span>
      </Group>
      {entry.detail !== null && <div>{entry.detail}</div>}
      {hasMore && (
        <>
          <Button
            size="compact-xs"
            mih={24}
            variant="subtle"
            color="gray"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? 'Hide details' : 'Show details'}
          </Button>
          <Collapse expanded={isOpen}>
            {isOpen && <CopyBlock text={JSON.stringify(entry.data, null, 2)} label="details" />}
          </Collapse>
        </>
      )}
    </div>
  );
};

const Lines = ({ lines, lanes }: Readonly<{ lines: readonly TraceEntry[]; lanes: readonly Lane[] }>) => {
  const [isOpen, setOpen] = useState(false);
  const [first] = lines;
  if (first === undefined) return null;
  return (
    <div className="trace-item" data-level="info" style={laneStyle(lanes, first.host_role)}>
      <Button
        size="compact-xs"
        mih={24}
        variant="subtle"
        color="gray"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {count(lines.length, 'log line')}
        {first.host_name === null ? '' : ` of ${first.host_name}`}
      </Button>
      <Collapse expanded={isOpen}>
        {isOpen &&
          lines.map((line) => (
            <span key={line.key} className="mono trace-line">
              {clock(line.at)} {line.title}
            </span>
          ))}
      </Collapse>
    </div>
  );
};

const startOf = (row: TraceRow): string => (row.kind === 'entry' ? row.entry.at : (row.lines[0]?.at ?? ''));

export const TraceView = ({ trace, sources }: Readonly<{ trace: Trace; sources: readonly Source[] }>) => {
  const rows = rowsOf(trace.entries, sources);
  const first = trace.entries[0]?.at ?? '';
  const lanes = lanesOf(trace);
  return (
    <section className="trace" aria-label="Entries" style={{ '--lanes': Math.max(1, lanes.length) } as CSSProperties}>
      <span className="trace-head">{first === '' ? 'Time' : `UTC, ${day(first)}`}</span>
      {lanes.map((lane) => (
        <span key={lane} className="trace-head">
          {LANE_NAMES[lane]} <span className="mono">{lane}</span>
        </span>
      ))}
      {rows.map((row) => (
        <Fragment key={row.key}>
          <time
            className="trace-time tabular"
            dateTime={startOf(row)}
            title={exact(startOf(row))}
            style={{ gridColumn: 1 }}
          >
            {clock(startOf(row))} <span className="mono">{offsetOf(startOf(row), first)}</span>
          </time>
          {row.kind === 'entry' ? (
            <Item entry={row.entry} isFirstFailure={row.entry.key === trace.first_failure_key} lanes={lanes} />
          ) : (
            <Lines lines={row.lines} lanes={lanes} />
          )}
        </Fragment>
      ))}
    </section>
  );
};
