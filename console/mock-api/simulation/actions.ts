/** The facts from which the server's rules decide which actions a node or a slot has, or why not. */
import { OPEN_DISK_APPROVAL_STATES } from '@gpuaas/contract';
import { type NodeAction, type NodeFacts, nodeRefusal } from '../../../server/src/domain/node-actions.ts';
import type { Refusal } from '../../../server/src/domain/refusal.ts';
import { type SlotAction, type SlotFacts, slotRefusal } from '../../../server/src/domain/slot-actions.ts';
import { isLive } from '../../../server/src/domain/workflow.ts';
import type { Node, Slot } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { gpusOf } from './gpu-model.ts';
import { slotsOf } from './placement.ts';
import { occupancyOf } from './slots.ts';

const UNSETTLED: readonly string[] = OPEN_DISK_APPROVAL_STATES;

export const nodeFacts = (world: World, node: Node): NodeFacts => {
  const claims = world.claims.filter((claim) => claim.node_id === node.id && claim.released_at === null);
  return {
    id: node.id,
    state: node.state,
    host_role: node.host_role,
    capacity_mode: node.capacity_mode,
    occupancy: occupancyOf(world, node),
    is_held: node.is_held,
    launch_failures: node.launch_failures,
    gpu_count: node.gpu_count,
    gpu_model_conflict: gpusOf(world, node).gpu_model_conflict,
    last_seen_at: node.is_connected ? world.ago() : node.last_seen_at,
    claims,
    slots: slotsOf(world, node.id),
    holders: [...new Set(claims.map((claim) => claim.allocation_id))].sort(),
    disks: world.disks.filter((disk) => disk.node_id === node.id && UNSETTLED.includes(disk.state)),
    has_discovery: node.discovered_at !== null,
  };
};

const slotFacts = (world: World, slot: Slot, callerId: string): SlotFacts => {
  const node = world.nodes.get(slot.node_id);
  const holder = slot.allocation_id === null ? undefined : world.allocations.get(slot.allocation_id);
  const runs = [...world.runs.values()].filter((run) => run.subject_id === slot.id);
  return {
    approval: slot.approval,
    status: slot.status,
    has_hardware_change: slot.drift !== null,
    node_state: node?.state ?? 'deleted',
    node_occupancy: node === undefined ? 'free' : occupancyOf(world, node),
    holder: holder === undefined ? null : { state: holder.state, is_whole_node: holder.capacity_shape === 'baremetal' },
    is_repairing: runs.some((run) => isLive(run.state)),
    prevents_host_changes: node?.alerts.some((one) => one.classifications.includes('prevent_host_changes')) ?? false,
    taken: [],
    is_override_by_caller: world.slotOverrides.some(
      (one) =>
        one.slot_id === slot.id &&
        one.requested_by === callerId &&
        one.confirmed_at === null &&
        Date.parse(one.expires_at) > world.now(),
    ),
  };
};

export const refuseNode = (world: World, node: Node, action: NodeAction): Refusal | null =>
  nodeRefusal(action, nodeFacts(world, node));

export const refuseSlot = (world: World, slot: Slot, callerId: string, action: SlotAction): Refusal | null =>
  slotRefusal(action, slotFacts(world, slot, callerId));
