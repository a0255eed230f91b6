/** How hardware becomes capacity: discovered, approved by an operator, disabled, and wiped with proof. */
import { taskLabel } from '@gpuaas/contract/task-kinds';
import { whyNotExclude } from '../../../server/src/domain/disk-use.ts';
import { REASONS } from '../../../server/src/domain/reasons.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { type MockCtx, must, type Req } from '../core/context.ts';
import { conflict, invalidField, Refusal, refuse } from '../core/errors.ts';
import { asIs, idOf, newestFirst, pageOf } from '../core/page.ts';
import type { DiskOwnership, Node, NodeTask, Slot, SlotOverride } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { slotOf } from '../seed/fleet.ts';
import { refuseNode, refuseSlot } from '../simulation/actions.ts';
import { gpusOf } from '../simulation/gpu-model.ts';
import { discover, discoveryTask, repair, wipeDisk } from '../simulation/node-work.ts';
import { slotsOf } from '../simulation/placement.ts';
import { addProof, moveSlot, occupancyOf } from '../simulation/slots.ts';
import { taskView } from '../simulation/task.ts';
import { discoveryOf } from '../views/discovery.ts';
import { factsOf } from '../views/facts.ts';
import { slotView } from '../views/node.ts';
import { getNode } from './node.ts';

const HOUR_MS = 3_600_000;

const getSlot = (ctx: MockCtx, params: Readonly<{ node_id: string; slot_id: string }>): Slot => {
  const slot = ctx.world.slots.get(params.slot_id);
  return must(slot?.node_id === params.node_id ? slot : undefined, 'slot');
};

const refuseHeld = (slot: Slot): void => {
  if (slot.allocation_id !== null) throw conflict(REFUSALS.slot_claimed);
};

/** A discovery from before the start of the demo has a task as well. */
const taskOf = (world: World, node: Node): NodeTask => {
  const known = discoveryTask(world, node);
  if (known !== undefined) return known;
  const at = node.discovered_at ?? node.created_at;
  return {
    id: `tsk_${node.id.slice(4)}`,
    node_id: node.id,
    allocation_id: null,
    kind: 'slice.topology_discover',
    label: taskLabel('slice.topology_discover'),
    attempt: 1,
    state: node.discovered_at === null ? 'queued' : 'completed',
    state_reason: null,
    error_code: null,
    percent: null,
    progress_note: null,
    output: null,
    correlation_id: `c-${node.id.slice(4)}`,
    created_at: at,
    dispatched_at: at,
    started_at: at,
    finished_at: node.discovered_at,
    expires_at: new Date(Date.parse(at) + HOUR_MS).toISOString(),
  };
};

type OnSlot = Req<'adminNodeSlotDisable'>;
const lockSlot = (ctx: MockCtx, { params, if_match }: OnSlot): Slot => {
  const slot = getSlot(ctx, params);
  if (slot.version !== if_match) throw new Refusal('precondition_failed', REFUSALS.slot_changed);
  return slot;
};

const finish = (ctx: MockCtx, slot: Slot, reason: string) => {
  ctx.target('slot', slot.id);
  ctx.note({ reason });
  return slotView(ctx)(slot);
};

const approveOne = (world: World, node: Node, slotIndex: number, by: string): Slot => {
  const fresh = slotOf(world, node, slotIndex, by);
  const known = slotsOf(world, node.id).find((one) => one.slot_index === slotIndex);
  const found = node.found.get(slotIndex);
  const approved = { approval: 'approved' as const, drift: null, approved_by: by, approved_at: world.ago() };
  if (known !== undefined)
    return Object.assign(known, approved, {
      nvme_serial: found?.nvme_serial ?? known.nvme_serial,
      version: known.version + 1,
    });
  const slot = Object.assign(fresh, approved, {
    status_since: world.ago(),
    last_claimed_at: null,
    wiped_at: null,
    wipe_outcome: null,
    wipe_proof_id: null,
  });
  world.slots.set(slot.id, slot);
  world.slotsOf.set(
    node.id,
    [...slotsOf(world, node.id), slot].sort((a, b) => a.slot_index - b.slot_index),
  );
  return slot;
};

const addDisk = (
  { world, principal }: MockCtx,
  node: Node,
  disk: Readonly<{ serial: string; device: string }>,
  state: DiskOwnership['state'],
  reason: string,
): DiskOwnership => {
  const row: DiskOwnership = {
    id: world.mint('disk_ownership'),
    node_id: node.id,
    serial: disk.serial,
    device: disk.device,
    state,
    state_reason: null,
    state_since: world.ago(),
    approved_by: principal.id,
    reason,
    wipe_proof_id: null,
    version: 1,
    created_at: world.ago(),
  };
  world.disks.push(row);
  return row;
};

const notDiscovered = ({ name }: Node): Refusal => new Refusal('not_found', REFUSALS.node_not_discovered(name));

export const topology = {
  adminNodeDiscoveryCreate: async (ctx: MockCtx, { params }: Req<'adminNodeDiscoveryCreate'>) => {
    const node = getNode(ctx, params.node_id);
    refuse(refuseNode(ctx.world, node, 'discover'));
    const open = discoveryTask(ctx.world, node);
    return taskView(open?.finished_at === null ? open : discover(ctx.world, node, ctx.correlation_id));
  },
  adminNodeDiscoveryGet: async (ctx: MockCtx, { params }: Req<'adminNodeDiscoveryGet'>) => {
    const node = getNode(ctx, params.node_id);
    if (node.discovered_at === null && node.discovery_task_id === null) throw notDiscovered(node);
    return discoveryOf(ctx.world, node, taskOf(ctx.world, node));
  },
  adminNodeDiscoveryFactsGet: async (ctx: MockCtx, { params }: Req<'adminNodeDiscoveryFactsGet'>) => {
    const node = getNode(ctx, params.node_id);
    if (node.discovered_at === null) throw notDiscovered(node);
    return factsOf(ctx.world, node);
  },
  adminNodeSlotGet: async (ctx: MockCtx, { params }: Req<'adminNodeSlotGet'>) => slotView(ctx)(getSlot(ctx, params)),
  adminNodeSlotApprove: async (ctx: MockCtx, { params, body }: Req<'adminNodeSlotApprove'>) => {
    const { world } = ctx;
    const node = getNode(ctx, params.node_id);
    refuse(refuseNode(world, node, 'approve'));
    const { map } = discoveryOf(world, node, taskOf(world, node));
    if (map === null || map.map_hash !== body.map_hash)
      throw new Refusal('precondition_failed', REFUSALS.newer_discovery);
    const wanted = map.candidates.filter((one) => body.slot_indexes?.includes(one.slot_index) ?? true);
    const missing = (body.slot_indexes ?? []).filter((index) => !wanted.some((one) => one.slot_index === index));
    if (missing.length > 0)
      throw invalidField(
        'slot_indexes',
        `No candidate ${missing.join(', ')}.`,
        'unknown',
        REFUSALS.no_candidate(missing),
      );
    const problems = [
      ...map.prerequisites
        .filter((one) => !one.is_met)
        .map((one) => ({ code: 'prerequisite', field: one.name, message: one.message })),
      ...wanted.flatMap((one) => one.blockers.map((blocker) => ({ ...blocker, slot_index: one.slot_index }))),
    ];
    if (problems.length > 0)
      throw new Refusal('conflict', `Not approved: ${problems[0]?.message ?? ''}`, { reasons: problems });
    for (const one of wanted) {
      const slot = one.slot_id === null ? undefined : world.slots.get(one.slot_id);
      if (one.approval_status === 'changed' && slot !== undefined) refuseHeld(slot);
    }
    const slots = wanted.map((one) => approveOne(world, node, one.slot_index, ctx.principal.id));
    for (const slot of slots)
      if (slot.wipe_proof_id === null && slot.status === 'available')
        repair(world, node, slot, ctx.correlation_id, REASONS.first_wipe);
    return { slots: slots.map(slotView(ctx)) };
  },
  adminNodeSlotDisable: async (ctx: MockCtx, req: OnSlot) => {
    const slot = lockSlot(ctx, req);
    if (refuse(refuseSlot(ctx.world, slot, ctx.principal.id, 'disable'))) return finish(ctx, slot, req.body.reason);
    slot.approval = 'disabled';
    slot.status_reason = req.body.reason;
    slot.version += 1;
    return finish(ctx, slot, req.body.reason);
  },
  adminNodeSlotEnable: async (ctx: MockCtx, req: Req<'adminNodeSlotEnable'>) => {
    const slot = lockSlot(ctx, req);
    if (refuse(refuseSlot(ctx.world, slot, ctx.principal.id, 'enable'))) return finish(ctx, slot, req.body.reason);
    slot.approval = 'approved';
    slot.version += 1;
    return finish(ctx, slot, req.body.reason);
  },
  adminNodeSlotQuarantine: async (ctx: MockCtx, req: Req<'adminNodeSlotQuarantine'>) => {
    const slot = lockSlot(ctx, req);
    if (refuse(refuseSlot(ctx.world, slot, ctx.principal.id, 'quarantine'))) return finish(ctx, slot, req.body.reason);
    moveSlot(ctx.world, slot, 'quarantined', req.body.reason);
    return finish(ctx, slot, req.body.reason);
  },
  adminNodeSlotRepair: async (ctx: MockCtx, req: Req<'adminNodeSlotRepair'>) => {
    const slot = lockSlot(ctx, req);
    if (refuse(refuseSlot(ctx.world, slot, ctx.principal.id, 'repair'))) return finish(ctx, slot, req.body.reason);
    const node = getNode(ctx, slot.node_id);
    repair(ctx.world, node, slot, ctx.correlation_id);
    return finish(ctx, slot, req.body.reason);
  },
  adminNodeSlotMarkWiped: async (ctx: MockCtx, { params, body }: Req<'adminNodeSlotMarkWiped'>) => {
    const { world, principal } = ctx;
    const slot = getSlot(ctx, params);
    refuse(refuseSlot(world, slot, ctx.principal.id, 'mark_wiped'));
    const open = world.slotOverrides.find(
      (one) => one.slot_id === slot.id && one.confirmed_at === null && Date.parse(one.expires_at) > world.now(),
    );
    if (open === undefined || open.requested_by === principal.id) {
      const asked: SlotOverride = open ?? {
        id: world.mint('slot_override'),
        slot_id: slot.id,
        kind: 'mark_wiped',
        reason: body.reason,
        requested_by: principal.id,
        requested_at: world.ago(),
        expires_at: world.ago(-HOUR_MS),
        confirmed_by: null,
        confirmed_at: null,
      };
      if (open === undefined) world.slotOverrides.push(asked);
      return { override: { ...asked }, slot: finish(ctx, slot, body.reason) };
    }
    Object.assign(open, { confirmed_by: principal.id, confirmed_at: world.ago() });
    const evidence = { requested_by: open.requested_by, confirmed_by: principal.id };
    const proof = {
      allocation_id: null,
      task_id: open.id,
      method: 'two_person_override',
      outcome: 'overridden' as const,
      evidence,
    };
    addProof(world, { slot, correlation_id: ctx.correlation_id, ...proof });
    const { region_name } = getNode(ctx, slot.node_id);
    if (world.regions.some((one) => one.name === region_name && one.allows_wipe_override))
      moveSlot(world, slot, 'available', REASONS.wipe_overridden);
    else moveSlot(world, slot, 'quarantined', REASONS.override_not_allowed);
    return { override: { ...open }, slot: finish(ctx, slot, body.reason) };
  },
  adminNodeDiskList: async (ctx: MockCtx, { params, query }: Req<'adminNodeDiskList'>) => {
    const node = getNode(ctx, params.node_id);
    return pageOf(ctx, query, newestFirst(ctx.world.disks.filter((one) => one.node_id === node.id)), idOf, asIs);
  },
  adminNodeDiskApprove: async (ctx: MockCtx, { params, body }: Req<'adminNodeDiskApprove'>) => {
    const { world } = ctx;
    const node = getNode(ctx, params.node_id);
    const disk = factsOf(world, node).disks.value.find((one) => one.serial === body.serial);
    if (disk === undefined) throw conflict(REFUSALS.no_such_disk);
    const { gpu_model_conflict } = gpusOf(world, node);
    if (gpu_model_conflict !== null) throw conflict(gpu_model_conflict);
    const known = world.disks.find((one) => one.serial === body.serial && one.state !== 'revoked');
    if (known?.state === 'excluded') throw conflict(REFUSALS.disk_excluded);
    if (known !== undefined) throw new Refusal('already_exists', REFUSALS.disk_approved);
    const row = addDisk(ctx, node, disk, 'approved', body.reason);
    wipeDisk(world, node, row, ctx.correlation_id);
    return { ...row };
  },
  adminNodeDiskExclude: async (ctx: MockCtx, { params, body }: Req<'adminNodeDiskExclude'>) => {
    const { world } = ctx;
    const node = getNode(ctx, params.node_id);
    const disk = factsOf(world, node).disks.value.find((one) => one.serial === body.serial);
    if (disk === undefined) throw conflict(REFUSALS.no_such_disk);
    const slot = slotsOf(world, node.id).find((one) => one.nvme_serial === body.serial);
    const occupancy = occupancyOf(world, node);
    const reason = whyNotExclude({
      ...{ node_state: node.state, capacity_mode: node.capacity_mode, occupancy, slot_index: slot?.slot_index ?? null },
      ...{ slot_elsewhere: null, node_elsewhere: null, unwiped_since: null },
    });
    if (reason !== undefined) throw conflict(reason);
    if (world.disks.some((one) => one.serial === body.serial && one.state !== 'revoked'))
      throw new Refusal('already_exists', REFUSALS.disk_has_decision);
    return { ...addDisk(ctx, node, disk, 'excluded', body.reason) };
  },
  adminNodeDiskRevoke: async (ctx: MockCtx, { params }: Req<'adminNodeDiskRevoke'>) => {
    const row = must(
      ctx.world.disks.find((one) => one.id === params.disk_ownership_id && one.node_id === params.node_id),
      'disk ownership',
    );
    if (!['approved', 'blocked', 'excluded'].includes(row.state))
      throw conflict(REFUSALS.disk_not_revocable(row.state));
    Object.assign(row, { state: 'revoked', state_since: ctx.world.ago(), version: row.version + 1 });
    return { ...row };
  },
};
