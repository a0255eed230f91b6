/** The inventory of a host, starting with its drift from the claims. */
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
import { ReasonAction } from './action-controls.tsx';
import { isMissing } from './hooks.ts';
import { AllocationLink } from './links.tsx';

type Vm = NodeInventory['vms'][number];
type Lease = NodeInventory['leases'][number];

const STALE_S = 300;
const SECOND_MS = 1_000;

const findingColumns: readonly Column<NodeFinding>[] = [
  { header: 'Finding', cell: ({ code }) => <ToneBadge tone="warn">{code.replaceAll('_', ' ')}</ToneBadge> },
  { header: 'Details', cell: ({ message }) => <span className="long-text">{message}</span> },
  { header: 'VM', cell: ({ vm }) => <span className="mono">{vm ?? 'none'}</span>, isSecondary: true },
  { header: 'Allocation', cell: ({ allocation_id }) => <AllocationLink id={allocation_id} />, isSecondary: true },
  { header: 'Since', cell: ({ since }) => <Ago at={since} /> },
];

const CLAIMED = 'A claim holds this allocation. Release the allocation first.';

type Rules = Readonly<{ refusal: string | null; claimed: ReadonlySet<string> }>;

const vmColumns = (node: Node, { refusal, claimed }: Rules): readonly Column<Vm>[] => [
  { header: 'VM', cell: ({ name }) => <span className="mono">{name}</span> },
  {
    header: 'State',
    cell: ({ state, ended_by }) => (
      <ToneBadge
        tone={state === 'running' ? 'good' : state === 'crashed' ? 'bad' : 'idle'}
        title={ended_by === null ? undefined : `Ended by ${ended_by}.`}
      >
        {state.replace('_', ' ')}
      </ToneBadge>
    ),
  },
  { header: 'Managed', cell: ({ is_managed }) => (is_managed ? 'yes' : 'no'), isSecondary: true },
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
          (is_managed ? null : 'Not managed by GPUaaS. Only its owner can remove it.') ??
          (claimed.has(allocation_id ?? '') ? CLAIMED : null)
        }
        isDestructive
        typeToConfirm={name}
        operation="adminNodeVmRemove"
        request={(reason) => ({ params: { node_id: node.id, vm_name: name }, body: { reason } })}
        command={(reason) => command(['admin', 'node', 'vm', 'remove', node.name, name], [['reason', reason]])}
      >
        The VM is powered off and removed from the host. Refused if a claim holds it. Disks are not wiped: the slots
        stay quarantined until repaired.
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
  { header: 'Expected', cell: ({ wanted }) => wanted },
  {
    header: 'Actions',
    isHeaderHidden: true,
    align: 'right',
    cell: ({ allocation_id }) => (
      <ReasonAction
        label="End"
        size="xs"
        title="End unclaimed bundle lease"
        disabledReason={refusal ?? (claimed.has(allocation_id) ? CLAIMED : null)}
        isDestructive
        typeToConfirm={allocation_id}
        operation="adminNodeBundleLeaseEnd"
        request={(reason) => ({ params: { node_id: node.id, allocation_id }, body: { reason } })}
        command={(reason) =>
          command(['admin', 'node', 'bundle-lease', 'end', node.name, allocation_id], [['reason', reason]])
        }
      >
        Use this after restoring the database from a backup. Refused while a claim holds the allocation. The VM is
        removed and its slots are quarantined until repaired.
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
          <ToneBadge tone="good">The host matches its claims</ToneBadge>
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
            Last inventory report {span(inventory.age_s * SECOND_MS)} ago. Reports are expected every 2 minutes. Data
            may be outdated.
          </span>
        </p>
      )}
      <Section title="VMs" flush>
        {inventory.vms.length === 0 ? (
          <Text p="md" className="muted">
            No VMs on this host.
          </Text>
        ) : (
          <DataTable label="VMs" columns={vmColumns(node, rules)} rows={inventory.vms} rowKey={({ name }) => name} />
        )}
      </Section>
      <Section title="Bundle leases" flush>
        {inventory.leases.length === 0 ? (
          <Text p="md" className="muted">
            No bundle leases on this host.
          </Text>
        ) : (
          <DataTable
            label="Bundle leases"
            columns={leaseColumns(node, rules)}
            rows={inventory.leases}
            rowKey={({ allocation_id }) => allocation_id}
          />
        )}
      </Section>
      <Section title="Automatic repairs">
        {inventory.repaired.length === 0 ? (
          <Text className="muted">No repairs needed.</Text>
        ) : (
          <List>
            {inventory.repaired.map((sentence) => (
              <List.Item key={sentence}>{sentence}</List.Item>
            ))}
          </List>
        )}
      </Section>
      <span className="muted">
        Reported at <Ago at={inventory.observed_at} /> by the host clock.
      </span>
    </Stack>
  );
};

export const InventoryTab = ({ node }: Readonly<{ node: Node }>) => {
  const inventory = useRead('adminNodeInventoryGet', { params: { node_id: node.id } }, { everyMs: 10_000 });
  return isMissing(inventory.error) ? (
    <EmptyState title="No inventory report yet">
      Agents report their inventory at least every 2 minutes. This agent has not reported yet.
    </EmptyState>
  ) : (
    <Async of={inventory} rows={8} label="Loading inventory">
      {(found) => <Body node={node} inventory={found} />}
    </Async>
  );
};
