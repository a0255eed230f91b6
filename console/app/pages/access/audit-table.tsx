/** Audit rows, newest first; each expands to the permission decision, the origin and the recorded request. */
import type { AuditLog } from '@gpuaas/sdk';
import { ActionIcon } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode, useId, useState } from 'react';
import { Copyable, Id } from '../../ui/copy.tsx';
import { Facts } from '../../ui/page.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago, Exact } from '../../ui/time.tsx';
import './audit.css';
import type { AuditSearch } from './audit-filters.ts';

type Words = Readonly<{
  /** The name of an actor, if known. */
  nameOf(actorId: string): string | undefined;
  /** The page that traces a correlation ID. */
  follow(row: AuditLog): ReactNode;
  /** A link that adds a filter. */
  only(search: AuditSearch, text: string): ReactNode;
}>;

const actorText = (row: AuditLog, { nameOf }: Words): string =>
  (row.actor_id === null ? undefined : nameOf(row.actor_id)) ?? row.actor_kind.replaceAll('_', ' ');

export const AuditTable = ({ rows, words }: Readonly<{ rows: readonly AuditLog[]; words: Words }>) => {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const base = useId();
  const toggle = (id: string) =>
    setOpen((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reachable by key.
    <section className="table-scroll audit-table" tabIndex={0} aria-label="Audit entries">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">Details</span>
            </th>
            <th scope="col" className="secondary">
              Time
            </th>
            <th scope="col">Result</th>
            <th scope="col">Action</th>
            <th scope="col" className="secondary">
              Actor
            </th>
            <th scope="col" className="secondary">
              Target
            </th>
            <th scope="col" className="secondary">
              Correlation ID
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const isOpen = open.has(row.id);
            return (
              <Fragment key={row.id}>
                <tr>
                  <td>
                    <ActionIcon
                      variant="subtle"
                      color="gray"
                      size={24}
                      aria-label={`Details of ${row.action}`}
                      aria-expanded={isOpen}
                      aria-controls={isOpen ? `${base}${row.id}` : undefined}
                      onClick={() => toggle(row.id)}
                    >
                      {isOpen ? <IconChevronDown size={16} /> : <IconChevronRight size={16} />}
                    </ActionIcon>
                  </td>
                  <td className="secondary">
                    <Ago at={row.created_at} />
                  </td>
                  <td>
                    <StateBadge kind="result" state={row.result} />
                  </td>
                  <td>
                    <span className="mono">{row.action}</span>
                    <div className="muted audit-narrow">
                      <Ago at={row.created_at} />
                    </div>
                  </td>
                  <td className="secondary">{actorText(row, words)}</td>
                  <td className="secondary">
                    {row.target_id === null ? '–' : <Id id={row.target_id} label="target" />}
                  </td>
                  <td className="secondary">{words.follow(row)}</td>
                </tr>
                {isOpen && (
                  <tr id={`${base}${row.id}`} className="audit-details">
                    <td colSpan={7}>
                      <Details row={row} words={words} />
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </section>
  );
};

const Details = ({ row, words }: Readonly<{ row: AuditLog; words: Words }>) => {
  const metadata = Object.keys(row.metadata).length === 0 ? null : JSON.stringify(row.metadata, null, 2);
  const id = (value: string, label: string, search: AuditSearch) => (
    <>
      <Copyable text={value} label={label} /> {words.only(search, `only this ${label}`)}
    </>
  );
  return (
    <Facts
      facts={[
        ['Time', <Exact key="at" at={row.created_at} />],
        ['Action', words.only({ action: row.action }, `only ${row.action}`)],
        [
          'Actor',
          <Fragment key="actor">
            {actorText(row, words)}
            {row.actor_role !== null && ` as ${row.actor_role}`}
            {row.actor_id !== null && <div>{id(row.actor_id, 'actor', { actor: row.actor_id })}</div>}
          </Fragment>,
        ],
        [
          'Target',
          row.target_id === null ? (
            '–'
          ) : (
            <Fragment key="target">
              {row.target_kind !== null && `${row.target_kind.replaceAll('_', ' ')} `}
              {id(row.target_id, 'target', { target: row.target_id })}
            </Fragment>
          ),
        ],
        ['Project', row.project_id === null ? '–' : <Id key="project" id={row.project_id} label="project" />],
        ['Decided by', row.policy],
        ...(row.error_code === null
          ? []
          : [
              [
                'Error code',
                <a key="code" className="link" href={`/docs/errors/${row.error_code}`} target="_blank" rel="noreferrer">
                  {row.error_code}
                </a>,
              ] as const,
            ]),
        ['Source address', row.source_ip ?? '–'],
        ['User agent', row.user_agent ?? '–'],
        ['Correlation ID', words.follow(row)],
        [
          'Recorded data',
          metadata === null ? (
            'none'
          ) : (
            <pre key="kept" className="audit-metadata mono">
              {metadata}
            </pre>
          ),
        ],
        ['Chain', row.sealed ? 'Sealed' : 'Not sealed yet (takes about 1 second)'],
      ]}
    />
  );
};

/** The correlation ID as a link to its trace. */
export const TraceLink = ({ id, projectId }: Readonly<{ id: string; projectId: string | null }>) => {
  const shown = id.length > 16 ? `${id.slice(0, 6)}…${id.slice(-4)}` : id;
  return projectId === null ? (
    <Link className="link mono" to="/platform/trace" search={{ id }} title={`Trace ${id}`}>
      {shown}
    </Link>
  ) : (
    <Link
      className="link mono"
      to="/projects/$projectId/trace"
      params={{ projectId }}
      search={{ id }}
      title={`Trace ${id}`}
    >
      {shown}
    </Link>
  );
};
