/** Current and past sessions. Project admins may end any session, other users their own. */
import type { Allocation, TerminalSession } from '@gpuaas/sdk';
import { useChange } from '../../api/change.ts';
import { useMay, useMe } from '../../api/me.tsx';
import { usePages } from '../../api/read.ts';
import { bytes } from '../../format/size.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Section } from '../../ui/page.tsx';
import { PagedTable } from '../../ui/paged-table.tsx';
import { StateBadge, ToneBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';

const EVERY_MS = 10_000;
const KINDS: Readonly<Record<TerminalSession['kind'], string>> = {
  terminal: 'Terminal',
  console: 'Serial console',
  ssh: 'SSH',
  forward: 'Port forward',
};

const Kind = ({ row }: Readonly<{ row: TerminalSession }>) => (
  <span className="al-badges">
    {KINDS[row.kind]}
    {row.port !== null && <span className="mono">{row.port}</span>}
    {row.is_recorded && <ToneBadge tone="warn">Recorded</ToneBadge>}
    {!row.is_writable && <span className="muted">Read-only</span>}
  </span>
);

const How = ({ row }: Readonly<{ row: TerminalSession }>) => (
  <div className="al-stack-tight">
    <span>
      <StateBadge kind="session" state={row.state} />
    </span>
    {row.end_message !== null && <span className="muted al-small">{row.end_message}</span>}
  </div>
);

export const Sessions = ({ allocation: { id, project_id } }: Readonly<{ allocation: Allocation }>) => {
  const me = useMe();
  const may = useMay();
  const close = useChange('terminalSessionClose');
  const params = { project_id, allocation_id: id };
  const list = usePages('terminalSessionList', { params }, { everyMs: EVERY_MS });
  const managing = may('allocation.recording.read', { project: project_id });
  const refusalOf = ({ state, principal_id }: TerminalSession): string | null => {
    if (state === 'closed') return 'The session has ended.';
    return principal_id === me.id || managing === null
      ? null
      : 'Only its owner or a project admin can end this session.';
  };
  const columns: readonly Column<TerminalSession>[] = [
    { header: 'Type', cell: (row) => <Kind row={row} /> },
    { header: 'User', cell: ({ principal_name }) => principal_name },
    { header: 'State', cell: (row) => <How row={row} /> },
    { header: 'Started', cell: ({ opened_at, created_at }) => <Ago at={opened_at ?? created_at} /> },
    { header: 'Source', isSecondary: true, cell: ({ source_ip }) => <span className="mono">{source_ip ?? '–'}</span> },
    {
      header: 'Traffic in / out',
      isSecondary: true,
      cell: ({ bytes_in, bytes_out }) => `${bytes(bytes_in)}, ${bytes(bytes_out)}`,
    },
    {
      header: 'End',
      isHeaderHidden: true,
      align: 'right',
      cell: (row) => (
        <ActionButton
          size="xs"
          variant="default"
          disabledReason={refusalOf(row)}
          onClick={() => void close.run({ params: { ...params, session_id: row.id } })}
          aria-label={`End session of ${row.principal_name}`}
        >
          End
        </ActionButton>
      ),
    },
  ];
  return (
    <Section title="Sessions" flush>
      {close.error !== null && <ErrorPanel error={close.error} />}
      <PagedTable
        pages={list}
        label="Sessions"
        columns={columns}
        rows={2}
        empty={<p className="muted al-padded">No sessions. Sessions are listed for 90 days.</p>}
      />
    </Section>
  );
};
