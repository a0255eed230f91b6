/** Disks with existing data. A disk is wiped only after an operator approves it by serial number. */
import { type DiskOwnership, type Node, OPEN_DISK_APPROVAL_STATES } from '@gpuaas/sdk';
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
import { ReasonAction } from './action-controls.tsx';
import { disksToApprove, type TopologyMap } from './approve.ts';

const STATES: Readonly<Record<DiskOwnership['state'], readonly [word: string, tone: Tone]>> = {
  approved: ['Waiting until free', 'busy'],
  wiping: ['Wiping', 'busy'],
  blocked: ['Blocked', 'bad'],
  owned: ['Wiped', 'good'],
  excluded: ['Excluded', 'warn'],
  revoked: ['Revoked', 'idle'],
};

/** They need no decision. */
const APPROVED: readonly DiskOwnership['state'][] = [...OPEN_DISK_APPROVAL_STATES, 'owned', 'excluded'];

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
  { header: 'Reason', cell: ({ reason }) => reason, isSecondary: true },
  {
    header: 'Actions',
    isHeaderHidden: true,
    align: 'right',
    cell: (disk) => (
      <ReasonAction
        label="Revoke"
        size="xs"
        title={`Revoke the ${disk.state === 'excluded' ? 'exclusion' : 'wipe approval'} of ${disk.serial}`}
        disabledReason={
          refusal ??
          (['approved', 'blocked', 'excluded'].includes(disk.state)
            ? null
            : disk.state === 'revoked'
              ? 'The approval is already revoked.'
              : 'The wipe has started or finished and cannot be revoked.')
        }
        operation="adminNodeDiskRevoke"
        request={(reason) => ({ params: { node_id: node.id, disk_ownership_id: disk.id }, body: { reason } })}
        command={(reason) => command(['admin', 'disk', 'revoke', node.name, disk.id], [['reason', reason]])}
      >
        {disk.state === 'excluded'
          ? 'The node is not allocated as bare metal until the disk is approved or excluded again.'
          : 'The disk is not wiped.'}
      </ReasonAction>
    ),
  },
];

type Offered = Readonly<{ serial: string | null; name: string; why: string; isLoose: boolean }>;

const LOOSE =
  'a release of the whole node would not wipe it. Approve or exclude it, so that the node can be bare metal.';
const NO_SERIAL = 'it reports no serial number, so it can be neither approved nor excluded. Remove it from the host.';

type OfDisk = Readonly<{ node: Node; serial: string; refusal: string | null }>;

const Approve = ({ node, serial, refusal }: OfDisk) => (
  <ReasonAction
    label="Approve wipe"
    size="xs"
    title={`Wipe disk ${serial}`}
    disabledReason={refusal}
    isDestructive
    typeToConfirm={serial}
    operation="adminNodeDiskApprove"
    request={(reason) => ({ params: { node_id: node.id }, body: { serial, reason } })}
    command={(reason) => command(['admin', 'disk', 'approve', node.name, serial], [['reason', reason]])}
  >
    All data on disk <span className="mono">{serial}</span> of {node.name} is wiped once the disk is free. The data
    cannot be recovered.
  </ReasonAction>
);

const Exclude = ({ node, serial, refusal }: OfDisk) => (
  <ReasonAction
    label="Exclude"
    size="xs"
    title={`Exclude disk ${serial}`}
    disabledReason={refusal}
    operation="adminNodeDiskExclude"
    request={(reason) => ({ params: { node_id: node.id }, body: { serial, reason } })}
    command={(reason) => command(['admin', 'disk', 'exclude', node.name, serial], [['reason', reason]])}
  >
    Disk <span className="mono">{serial}</span> of {node.name} is never wiped. What a bare-metal tenant writes to it
    stays readable for the next one.
  </ReasonAction>
);

export const Disks = ({ node, map }: Readonly<{ node: Node; map: TopologyMap | null }>) => {
  const disks = useAll('adminNodeDiskList', { params: { node_id: node.id } }, { everyMs: 10_000 });
  const refusal = useMay()('admin.slot.approve');
  const owned = new Set(disks.data?.filter(({ state }) => APPROVED.includes(state)).map(({ serial }) => serial));
  const blocking = (map === null ? [] : disksToApprove(map)).filter(({ serial }) => !owned.has(serial));
  const loose = node.unapproved_disks.filter(({ serial }) => serial === null || !owned.has(serial));
  const offered: readonly Offered[] = [
    ...blocking.map(({ serial, slot, why }) => ({ serial, name: serial, why: `slot ${slot}: ${why}`, isLoose: false })),
    ...loose
      .filter(({ serial }) => !blocking.some((one) => one.serial === serial))
      .map(({ serial, name }) => ({
        serial,
        name: serial ?? name,
        why: serial === null ? NO_SERIAL : LOOSE,
        isLoose: true,
      })),
  ];
  return (
    <Section title="Disks with existing data">
      <Stack gap="sm">
        <Text className="muted">
          A disk with data is never wiped automatically. After approval, the agent waits until the disk is free, wipes
          and verifies it, and runs discovery. It never unmounts a disk.
        </Text>
        {offered.map(({ serial, name, why, isLoose }) => (
          <div key={name} className="candidate">
            <div className="candidate-line">
              <span>
                <strong className="mono">{name}</strong>, {why}
              </span>
              {serial !== null && <Approve node={node} serial={serial} refusal={refusal} />}
              {serial !== null && isLoose && <Exclude node={node} serial={serial} refusal={refusal} />}
            </div>
          </div>
        ))}
        <Async of={disks} rows={2} label="Loading disks">
          {(found) =>
            found.length === 0 ? (
              <Text className="muted">
                {offered.length === 0 ? 'No disks need approval.' : 'No disks approved yet.'}
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
