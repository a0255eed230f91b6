/** Health of a node after overrides, and what its tenants learn of it. */
import { type Notice, noticeChange, noticesOf, WHOLE_HOST } from '../../../server/src/domain/notice.ts';
import type { Allocation, HealthAlert, Node } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { slotsOf } from './placement.ts';

export const AGENT = 'agent';

/** The effective alerts, after health overrides. */
export const countedAlerts = (world: World, node: Node): HealthAlert[] => {
  const live = node.overrides.filter((one) => one.expires_at === null || Date.parse(one.expires_at) > world.now());
  const own = live.find((one) => one.source === AGENT && one.mode === 'replace');
  const muted = new Set(live.flatMap((one) => one.muted_alert_ids));
  return [...(own === undefined ? node.alerts : []), ...live.flatMap((one) => one.alerts)].filter(
    (alert) => !muted.has(alert.id),
  );
};

/** A slice gets notices of its own slots and of the whole host; a whole node of every part. */
export const noticesFor = (world: World, row: Allocation): Notice[] => {
  const node = row.node_id === null ? undefined : world.nodes.get(row.node_id);
  if (row.state !== 'active' || node === undefined) return [];
  const targets: (string | null)[] = [WHOLE_HOST];
  for (const slot of slotsOf(world, node.id))
    if (row.slot_ids.includes(slot.id))
      targets.push(slot.gpu_pci_address, slot.nvme_serial, slot.fabric_vf_pci_address);
  return noticesOf(
    countedAlerts(world, node).flatMap(({ target, tenant_message, since }) =>
      tenant_message !== null && (row.capacity_shape === 'baremetal' || targets.includes(target))
        ? [{ message: tenant_message, since, hidden: [node.name, target] }]
        : [],
    ),
  );
};

/** Runs a change of the node's alerts and tells its tenants which notices began and ended. */
export const informTenants = (world: World, node: Node, correlation_id: string, change: () => void): void => {
  const rows = [...world.allocations.values()].filter((row) => row.node_id === node.id);
  const before = rows.map((row) => noticesFor(world, row));
  change();
  for (const [index, row] of rows.entries()) {
    const changed = noticeChange(before[index] ?? [], noticesFor(world, row));
    if (changed === null) continue;
    world.emit('allocation.notices_changed', {
      ...{ subject: row.id, organization_id: row.organization_id, project_id: row.project_id, correlation_id },
      data: { allocation_id: row.id, name: row.name, ...changed },
    });
  }
};
