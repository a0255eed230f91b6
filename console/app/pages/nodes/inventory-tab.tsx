/** What is on a host, and first of all where that is not what claims say. */
import type { Node, NodeFinding, NodeInventory } from '@gpuaas/sdk';
import { List, Stack, Text } from '@mantine/core';
import { useMay } from '../../api/me.tsx';
import { useAll, useRead } from '../../api/read.ts';
import { command } from '../../format/shell.ts';
import { count } from '../../format/size.ts';
import { span } from '../../format/time.ts';
import { Async } from '../../ui/async.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { ToneBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { ReasonAction } from './act.tsx';
import { isMissing } from './hooks.ts';
import { AllocationLink } from './links.tsx';

type Machine = NodeInventory['vms'][number];
type Lease = NodeInventory['leases'][number];

const STALE_S = 300;
const SECOND_MS = 1_000;

const findingColumns: readonly Column<NodeFinding>[] = [
  { header: 'Finding', cell: ({ code }) => <ToneBadge tone="warn">{code.replaceAll('_', ' ')}</ToneBadge> },
  { header: 'What', cell: ({ message }) => <span className="long-text">{message}</span> },
  { header: 'VM', cell: ({ vm }) => <span className="mono">{vm ?? 'none'}</span>, isSecondary: true },
  { header: 'Allocation', cell: ({ allocation_id }) => <AllocationLink id={allocation_id} />, isSecondary: true },
  { header: 'Since', cell: ({ since }) => <Ago at={since} /> },
];

const CLAIMED = 'A claim holds its allocation; release that first.';

type Rules = Readonly<{ refusal: string | null; claimed: ReadonlySet<string> }>;

const machineColumns = (node: Node, { refusal, claimed }: Rules): readonly Column<Machine>[] => [
  { header: 'Machine', cell: ({ name }) => <span className="mono">{name}</span> },
  {
    header: 'State',
    cell: ({ state, ended_by }) => (
      <ToneBadge
        tone={state === 'running' ? 'good' : state === 'crashed' ? 'bad' : 'idle'}
        title={ended_by === null ? undefined : `Ended by the ${ended_by}.`}
      >
        {state.replace('_', ' ')}
      </ToneBadge>
    ),
  },
  { header: 'Ours', cell: ({ is_managed }) => (is_managed ? 'yes' : 'no, without our tag'), isSecondary: true },
  { header: 'Allocation', cell: ({ allocation_id }) => <AllocationLink id={allocation_id} /> },
  {
    header: 'Devices',
    cell: ({ devices }) => <span title={devices.join('\n')}>{count(devices.length, 'device')}</span>,
    isSecondary: true,
  },
  {
    header: 'Actions',
    isHeaderHidden: true,
    align: 'right',
    cell: ({ name, is_managed, allocation_id }) => (
      <ReasonAction
        label="Remove"
        size="xs"
        title={`Remove ${name}`}
        disabledReason={
          refusal ??
          (is_managed ? null : 'It does not carry our tag; nobody but its owner removes it.') ??
          (claimed.has(allocation_id ?? '') ? CLAIMED : null)
        }
        isDestructive
        typeToConfirm={name}
        operation="adminNodeVmRemove"
        request={(reason) => ({ params: { node_id: node.id, vm_name: name }, body: { reason } })}
        command={(reason) => command(['admin', 'node', 'vm', 'remove', node.name, name], [['reason', reason]])}
      >
        The machine is switched off and removed from the host. Refused if a claim holds it. Drives are not erased by it:
        its slots stay in quarantine until they are repaired.
      </ReasonAction>
    ),
  },
];

const leaseColumns = (node: Node, { refusal, claimed }: Rules): readonly Column<Lease>[] => [
  { header: 'Allocation', cell: ({ allocation_id }) => <AllocationLink id={allocation_id} /> },
  {
    header: 'Slots',
    cell: ({ slot_ids }) => <span title={slot_ids.join('\n')}>{slot_ids.length}</span>,
    align: 'right',
  },
  { header: 'In use', cell: ({ is_used }) => (is_used ? 'yes' : 'no') },
  { header: 'Cleaning', cell: ({ is_cleaning }) => (is_cleaning ? 'yes' : 'no'), isSecondary: true },
  { header: 'Should be', cell: ({ wanted }) => wanted },
  {
    header: 'Actions',
    isHeaderHidden: true,
    align: 'right',
    cell: ({ allocation_id }) => (
      <ReasonAction
        label="End"
        size="xs"
        title="End a lease that no claim knows"
        disabledReason={refusal ?? (claimed.has(allocation_id) ? CLAIMED : null)}
        isDestructive
        typeToConfirm={allocation_id}
        operation="adminNodeBundleLeaseEnd"
        request={(reason) => ({ params: { node_id: node.id, allocation_id }, body: { reason } })}
        command={(reason) =>
          command(['admin', 'node', 'bundle-lease', 'end', node.name, allocation_id], [['reason', reason]])
        }
      >
        For hosts that know more than a database that was restored from a backup. Refused while a claim holds the
        allocation. Its machine is stopped and removed; its slots are set apart until they are repaired.
      </ReasonAction>
    ),
  },
];

const Body = ({ node, inventory }: Readonly<{ node: Node; inventory: NodeInventory }>) => {
  const refusal = useMay()('admin.node.update');
  const slots = useAll('adminNodeSlotList', { params: { node_id: node.id } });
  const claimed = new Set(slots.data?.flatMap(({ allocation_id }) => (allocation_id === null ? [] : [allocation_id])));
  const rules = { refusal, claimed };
  return (
    <Stack gap="md">
      <Section title="Findings" flush={inventory.findings.length > 0}>
        {inventory.findings.length === 0 ? (
          <ToneBadge tone="good">The host is as claims say</ToneBadge>
        ) : (
          <DataTable
            label="Findings"
            columns={findingColumns}
            rows={inventory.findings}
            rowKey={({ code, vm, allocation_id, message }) => `${code} ${vm} ${allocation_id} ${message}`}
          />
        )}
      </Section>
      {inventory.age_s > STALE_S && (
        <p className="panel" data-tone="warn" role="status" style={{ margin: 0 }}>
          <span className="panel-body">
            The host told this {span(inventory.age_s * SECOND_MS)} ago; it should tell every two minutes. What is shown
            may be over.
          </span>
        </p>
      )}
      <Section title="Machines" flush>
        {inventory.vms.length === 0 ? (
          <Text p="md" className="muted">
            No machine is on the host.
          </Text>
        ) : (
          <DataTable
            label="Machines"
            columns={machineColumns(node, rules)}
            rows={inventory.vms}
            rowKey={({ name }) => name}
          />
        )}
      </Section>
      <Section title="Leases" flush>
        {inventory.leases.length === 0 ? (
          <Text p="md" className="muted">
            The host leases nothing.
          </Text>
        ) : (
          <DataTable
            label="Leases"
            columns={leaseColumns(node, rules)}
            rows={inventory.leases}
            rowKey={({ allocation_id }) => allocation_id}
          />
        )}
      </Section>
      <Section title="What the agent put right by itself">
        {inventory.repaired.length === 0 ? (
          <Text className="muted">Nothing had to be put right.</Text>
        ) : (
          <List>
            {inventory.repaired.map((sentence) => (
              <List.Item key={sentence}>{sentence}</List.Item>
            ))}
          </List>
        )}
      </Section>
      <span className="muted">
        Looked at <Ago at={inventory.observed_at} /> by its own clock.
      </span>
    </Stack>
  );
};

export const InventoryTab = ({ node }: Readonly<{ node: Node }>) => {
  const inventory = useRead('adminNodeInventoryGet', { params: { node_id: node.id } }, { everyMs: 10_000 });
  return isMissing(inventory.error) ? (
    <EmptyState title="Nothing told yet">
      An agent tells every two minutes at least what is on its host. This one has not yet.
    </EmptyState>
  ) : (
    <Async of={inventory} rows={8} label="Loading the inventory">
      {(found) => <Body node={node} inventory={found} />}
    </Async>
  );
};
