/** A node and its slots as operators see them, with the caller's actions or why they are unavailable. */
import { api, type OperationId, roleHolds, roleRefusal } from '@gpuaas/contract';
import { NODE_OPERATIONS } from '../../../server/src/domain/node-actions.ts';
import { nodeDeadline } from '../../../server/src/domain/node-state.ts';
import type { Refusal } from '../../../server/src/domain/refusal.ts';
import { action } from '../../../server/src/domain/refusal.ts';
import { SLOT_OPERATIONS } from '../../../server/src/domain/slot-actions.ts';
import { slotDeadline } from '../../../server/src/domain/slot-state.ts';
import type { MockCtx } from '../core/context.ts';
import type { Node, NodeView, Slot, SlotView } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { refuseNode, refuseSlot } from '../simulation/actions.ts';
import { unapprovedDisks } from '../simulation/disks.ts';
import { gpusOf } from '../simulation/gpu-model.ts';
import { freeOf, slotsOf } from '../simulation/placement.ts';
import { occupancyOf } from '../simulation/slots.ts';

const hasHardwareChange = (world: World, node: Node): boolean =>
  slotsOf(world, node.id).some((slot) => slot.drift !== null);

const platformActions = <Name extends string>(
  { principal }: MockCtx,
  operations: Readonly<Record<Name, OperationId>>,
  refusalOf: (name: Name) => Refusal | null,
) =>
  (Object.keys(operations) as Name[]).map((name) => {
    const { permission } = api[operations[name]];
    const role = principal.platform_role;
    const may = permission === null || (role !== null && roleHolds(`platform:${role}`, permission));
    return action(name, may ? (refusalOf(name)?.reason ?? null) : roleRefusal(permission));
  });

/** The common fields of a node's page and its row of the slot map. */
const common = (world: World, node: Node) => ({
  name: node.name,
  region_name: node.region_name,
  pool_name: node.pool_name,
  gpu_model: node.gpu_model,
  gpu_count: node.gpu_count,
  state: node.state,
  state_reason: node.state_reason,
  capacity_mode: node.capacity_mode,
  occupancy: occupancyOf(world, node),
  is_held: node.is_held,
  health: node.health,
  is_connected: node.is_connected,
  has_hardware_change: hasHardwareChange(world, node),
  gpu_model_conflict: gpusOf(world, node).gpu_model_conflict,
  unapproved_disks: unapprovedDisks(world, node),
  reboot_required: node.reboot_required,
  finding_count: node.findings.length,
  ...freeOf(world, node),
});

export const nodeView =
  (ctx: MockCtx) =>
  (node: Node): NodeView => {
    const { world } = ctx;
    return {
      ...common(world, node),
      id: node.id,
      pool_organization_id: node.pool_organization_id,
      host_role: node.host_role,
      state_since: node.state_since,
      state_deadline_at: nodeDeadline(node),
      held_reason: node.held_reason,
      launch_failures: node.launch_failures,
      launch_failed_at: node.launch_failed_at,
      is_runtime_validated: node.is_runtime_validated,
      reboot_reason: node.reboot_reason,
      gpus_found: gpusOf(world, node).gpus_found,
      reconciled_at: node.is_connected ? world.ago(24_000) : node.reconciled_at,
      host: node.host,
      last_seen_at: node.is_connected ? world.ago(4_000) : node.last_seen_at,
      version: node.version,
      created_at: node.created_at,
      actions: platformActions(ctx, NODE_OPERATIONS, (name) => refuseNode(world, node, name)),
    };
  };

export const slotView =
  (ctx: MockCtx) =>
  (slot: Slot): SlotView => ({
    ...slot,
    status_deadline_at: slotDeadline(slot),
    actions: platformActions(ctx, SLOT_OPERATIONS, (name) => refuseSlot(ctx.world, slot, ctx.principal.id, name)),
  });

const tileOf = (slot: Slot) => ({
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

export const mapRow = (world: World) => (node: Node) => ({
  node_id: node.id,
  ...common(world, node),
  slots: slotsOf(world, node.id).map(tileOf),
});
