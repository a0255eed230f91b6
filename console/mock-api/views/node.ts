/** A node and its slots as operators see them, with what may be done now or why not. */
import type { Node, NodeView, Slot, SlotView } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { freeSlots, largestSet, slotsOf } from '../life/placement.ts';
import { occupancyOf } from '../life/slots.ts';
import { action } from './allocation.ts';

const hasDrift = (world: World, node: Node): boolean => slotsOf(world, node.id).some((slot) => slot.drift !== null);

/** Free for what the node is for. */
export const freeOf = (world: World, node: Node): readonly Slot[] => {
  const free = freeSlots(world, node, node.capacity_mode === 'baremetal' ? 'baremetal' : 'gpu_slice');
  return free.length > 0 || node.capacity_mode === 'slice' ? free : freeSlots(world, node, 'baremetal');
};

const GONE: readonly Node['state'][] = ['retired', 'removing', 'deleted'];

const agentReason = (node: Node): string | null => {
  if (GONE.includes(node.state)) return `The node is ${node.state}.`;
  if (node.state === 'bootstrap_issued') return 'Its agent has not enrolled yet.';
  return node.is_connected ? null : 'Its agent is not connected.';
};

const actionsOf = (world: World, node: Node): NodeView['actions'] => {
  const slots = slotsOf(world, node.id);
  const held = slots.some((slot) => slot.allocation_id !== null) || occupancyOf(world, node) !== 'free';
  const gone = GONE.includes(node.state) ? `The node is ${node.state}.` : null;
  const drain = node.state === 'active' ? null : `The node is ${node.state}; only an active node is drained.`;
  const retire =
    gone ??
    (node.state === 'active' ? 'The node is active; drain it first.' : null) ??
    (held ? 'Something stands on the node.' : null);
  return [
    action('drain', drain),
    action('resume', node.state === 'draining' ? null : `The node is ${node.state}, not draining.`),
    action('hold', gone ?? (node.is_held ? 'It is held already.' : null)),
    action('let_go', node.is_held ? null : 'Nothing keeps it for bare metal.'),
    action('discover', agentReason(node)),
    action('approve', agentReason(node) ?? (node.discovered_at === null ? 'The host was not discovered yet.' : null)),
    action('convert', gone ?? (held ? 'Something stands on the node.' : null)),
    action('probe', agentReason(node)),
    action('enroll', gone),
    action('revoke_agent', gone),
    action('retire', retire),
    action('delete', node.state === 'retired' ? null : 'Only a retired node is deleted.'),
  ];
};

export const nodeView =
  (world: World) =>
  (node: Node): NodeView => {
    const free = freeOf(world, node);
    return {
      id: node.id,
      name: node.name,
      region_name: node.region_name,
      pool_name: node.pool_name,
      pool_organization_id: node.pool_organization_id,
      gpu_model: node.gpu_model,
      gpu_count: node.gpu_count,
      host_role: node.host_role,
      state: node.state,
      state_reason: node.state_reason,
      state_since: node.state_since,
      capacity_mode: node.capacity_mode,
      occupancy: occupancyOf(world, node),
      is_held: node.is_held,
      held_reason: node.held_reason,
      health: node.health,
      is_runtime_validated: node.is_runtime_validated,
      has_drift: hasDrift(world, node),
      reboot_required: node.reboot_required,
      reboot_reason: node.reboot_reason,
      reconciled_at: node.is_connected ? world.ago(24_000) : node.reconciled_at,
      finding_count: node.findings.length,
      last_seen_at: node.is_connected ? world.ago(4_000) : node.last_seen_at,
      is_connected: node.is_connected,
      free_gpus: free.length,
      largest_set: largestSet(free),
      version: node.version,
      created_at: node.created_at,
      actions: actionsOf(world, node),
    };
  };

const HELD = 'An allocation holds the slot; release it first.';

const slotActions = (slot: Slot): SlotView['actions'] => {
  const held = slot.allocation_id === null ? null : HELD;
  const isApart = slot.status === 'quarantined' || slot.status === 'cleanup_blocked';
  return [
    action('disable', slot.approval === 'disabled' ? 'It is disabled already.' : null),
    action(
      'enable',
      slot.approval === 'approved'
        ? 'It is for sale already.'
        : slot.approval === 'needs_reapproval'
          ? 'The slot is not what was approved any more; look at the difference and approve it again.'
          : null,
    ),
    action('quarantine', held ?? (slot.status === 'quarantined' ? 'It is quarantined already.' : null)),
    action('repair', held),
    action('mark_wiped', held ?? (isApart ? null : `The slot is ${slot.status}; there is no wipe to vouch for.`)),
    action(
      'retry_cleanup',
      slot.status !== 'cleanup_blocked'
        ? `The slot is ${slot.status}; there is no cleanup to try again.`
        : slot.allocation_id === null
          ? 'No allocation holds the slot; repair it instead.'
          : null,
    ),
  ];
};

export const slotView = (slot: Slot): SlotView => ({ ...slot, actions: slotActions(slot) });

export const tileOf = (slot: Slot) => ({
  id: slot.id,
  slot_index: slot.slot_index,
  approval: slot.approval,
  status: slot.status,
  status_reason: slot.status_reason,
  status_since: slot.status_since,
  health: slot.health,
  numa_node: slot.numa_node,
  has_drift: slot.drift !== null,
  allocation_id: slot.allocation_id,
  wiped_at: slot.wiped_at,
});

export const mapRow = (world: World) => (node: Node) => {
  const free = freeOf(world, node);
  return {
    node_id: node.id,
    name: node.name,
    region_name: node.region_name,
    pool_name: node.pool_name,
    gpu_model: node.gpu_model,
    gpu_count: node.gpu_count,
    state: node.state,
    state_reason: node.state_reason,
    capacity_mode: node.capacity_mode,
    occupancy: occupancyOf(world, node),
    health: node.health,
    is_held: node.is_held,
    is_connected: node.is_connected,
    has_drift: hasDrift(world, node),
    reboot_required: node.reboot_required,
    finding_count: node.findings.length,
    free_gpus: free.length,
    largest_set: largestSet(free),
    slots: slotsOf(world, node.id).map(tileOf),
  };
};
