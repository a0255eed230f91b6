/** Disks that hold something of before. The platform erases one only after somebody has said so, by its serial. */
import type { DiskOwnership, Node } from '@gpuaas/sdk';
import { Stack, Text } from '@mantine/core';
import { useMay } from '../../api/me.tsx';
import { useAll } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import type { Tone } from '../../format/state.ts';
import { Async } from '../../ui/async.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Section } from '../../ui/page.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { ReasonAction } from './act.tsx';
import { disksToOwn, type TopologyMap } from './approve.ts';

const STATES: Readonly<Record<DiskOwnership['state'], readonly [word: string, tone: Tone]>> = {
  approved: ['Waits until it is free', 'busy'],
  wiping: ['Being erased', 'busy'],
  blocked: ['Blocked', 'bad'],
  owned: ['Erased and owned', 'good'],
  revoked: ['Taken back', 'idle'],
};

const OPEN: readonly DiskOwnership['state'][] = ['approved', 'wiping', 'blocked', 'owned'];

const columns = (node: Node, refusal: string | null): readonly Column<DiskOwnership>[] => [
  { header: 'Serial', cell: ({ serial }) => <span className="mono">{serial}</span> },
  {
    header: 'State',
    cell: ({ state, state_reason }) => {
      const [word, tone] = STATES[state];
      return (
        <>
          <ToneBadge tone={tone}>{word}</ToneBadge>
          {state_reason !== null && <div className="muted">{state_reason}</div>}
        </>
      );
    },
  },
  { header: 'Since', cell: ({ state_since }) => <Ago at={state_since} />, isSecondary: true },
  { header: 'Why', cell: ({ reason }) => reason, isSecondary: true },
  {
    header: 'Actions',
    isHeaderHidden: true,
    align: 'right',
    cell: (disk) => (
      <ReasonAction
        label="Take back"
        size="xs"
        title={`Take back the approval to erase ${disk.serial}`}
        disabledReason={
          refusal ??
          (disk.state === 'approved' || disk.state === 'blocked'
            ? null
            : disk.state === 'revoked'
              ? 'It was taken back already.'
              : 'Its erasure has begun or is done; that cannot be taken back.')
        }
        operation="adminNodeDiskRevoke"
        request={(reason) => ({ params: { node_id: node.id, disk_ownership_id: disk.id }, body: { reason } })}
        command={(reason) => command(['admin', 'disk', 'revoke', node.name, disk.id], [['reason', reason]])}
      >
        Nothing has been erased yet, and nothing will be.
      </ReasonAction>
    ),
  },
];

export const Disks = ({ node, map }: Readonly<{ node: Node; map: TopologyMap | null }>) => {
  const disks = useAll('adminNodeDiskList', { params: { node_id: node.id } }, { everyMs: 10_000 });
  const refusal = useMay()('admin.slot.approve');
  const owned = new Set(disks.data?.filter(({ state }) => OPEN.includes(state)).map(({ serial }) => serial));
  const offered = map === null ? [] : disksToOwn(map).filter(({ serial }) => !owned.has(serial));
  return (
    <Section title="Disks that hold something of before">
      <Stack gap="sm">
        <Text className="muted">
          A disk with data on it is never erased by itself. Approve it by its serial: the agent waits until the disk is
          free, never unmounts anything, erases it, reads it back, and discovery runs again.
        </Text>
        {offered.map(({ serial, slot, why }) => (
          <div key={serial} className="candidate">
            <div className="candidate-line">
              <span>
                <strong className="mono">{serial}</strong>, slot {slot}: {why}
              </span>
              <ReasonAction
                label="Erase and own"
                size="xs"
                title={`Erase disk ${serial}`}
                disabledReason={refusal}
                isDestructive
                typeToConfirm={serial}
                operation="adminNodeDiskApprove"
                request={(reason) => ({ params: { node_id: node.id }, body: { serial, reason } })}
                command={(reason) => command(['admin', 'disk', 'approve', node.name, serial], [['reason', reason]])}
              >
                Everything on disk <span className="mono">{serial}</span> of {node.name} is erased once it is free. It
                cannot be brought back.
              </ReasonAction>
            </div>
          </div>
        ))}
        <Async of={disks} rows={2} label="Loading the disks">
          {(found) =>
            found.length === 0 ? (
              <Text className="muted">
                {offered.length === 0 ? 'No disk is in the way, and none was asked for.' : 'None was approved yet.'}
              </Text>
            ) : (
              <DataTable label="Disks" columns={columns(node, refusal)} rows={found} rowKey={({ id }) => id} />
            )
          }
        </Async>
      </Stack>
    </Section>
  );
};
