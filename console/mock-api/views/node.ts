/** A node and its slots as operators see them, with what may be done now or why not. */
import type { Node, NodeView, Slot, SlotView } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { NODE_ACTIONS, nodeRefusal, SLOT_ACTIONS, slotRefusal } from '../life/actions.ts';
import { freeSlots, largestSet, slotsOf } from '../life/placement.ts';
import { occupancyOf } from '../life/slots.ts';
import { action } from './allocation.ts';

const hasDrift = (world: World, node: Node): boolean => slotsOf(world, node.id).some((slot) => slot.drift !== null);

/** Free for what the node is for. */
export const freeOf = (world: World, node: Node): readonly Slot[] => {
  const free = freeSlots(world, node, node.capacity_mode === 'baremetal' ? 'baremetal' : 'gpu_slice');
  return free.length > 0 || node.capacity_mode === 'slice' ? free : freeSlots(world, node, 'baremetal');
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
      has_hardware_change: hasDrift(world, node),
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
      actions: NODE_ACTIONS.map((name) => action(name, nodeRefusal(world, node, name)?.reason ?? null)),
    };
  };

export const slotView =
  (world: World) =>
  (slot: Slot): SlotView => ({
    ...slot,
    actions: SLOT_ACTIONS.map((name) => action(name, slotRefusal(world, slot, name)?.reason ?? null)),
  });

export const tileOf = (slot: Slot) => ({
  id: slot.id,
  slot_index: slot.slot_index,
  approval: slot.approval,
  status: slot.status,
  status_reason: slot.status_reason,
  status_since: slot.status_since,
  health: slot.health,
  numa_node: slot.numa_node,
  has_hardware_change: slot.drift !== null,
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
    has_hardware_change: hasDrift(world, node),
    reboot_required: node.reboot_required,
    finding_count: node.findings.length,
    free_gpus: free.length,
    largest_set: largestSet(free),
    slots: slotsOf(world, node.id).map(tileOf),
  };
};
