/** Operator actions on single slots. A claimed slot is never changed, and an edit names the version that was read. */
import { ID_PREFIXES, type PublicApi, type RequestOf } from '@gpuaas/contract';
import { invariant, mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { NodeRow } from '../db/node.ts';
import { findRegion } from '../db/region.ts';
import * as db from '../db/slot-approval.ts';
import { confirmOverride, insertOverride, lockOpenOverride } from '../db/slot-override.ts';
import { insertWipeProof } from '../db/statements/prove.ts';
import { REASONS } from '../domain/reasons.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { slotRefusal } from '../domain/slot-actions.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { refuse, refuseIfAny } from '../pipeline/actions.ts';
import { callerId } from '../pipeline/caller.ts';
import { refreshSummary } from '../placement/summary.ts';
import { type SlotContext, type SlotView, slotContexts, slotView } from '../views/slot.ts';
import { endElsewhere } from '../workflows/device-proofs.ts';
import { startRun } from '../workflows/engine/run.ts';
import { repairSlot } from '../workflows/repair-slot.ts';
import { lockNode } from './slot-approve.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

export const get = (ctx: ReadCtx, { params }: Req<'adminNodeSlotGet'>) =>
  ctx.read((reader) => slotView(ctx, reader, params.node_id, params.slot_id));

type OnSlot = Req<'adminNodeSlotDisable'>;
type Locked = Readonly<{ node: NodeRow; slot: db.ApprovedSlot; stand: SlotContext }>;

const lockAny = async (ctx: WriteCtx, params: OnSlot['params']): Promise<Locked> => {
  const node = await lockNode(ctx.tx, params.node_id);
  const slot = (await db.lockSlots(ctx.tx, node.id)).find(({ id }) => id === params.slot_id);
  if (slot === undefined) throw notFound('slot');
  const view = (await slotContexts(ctx, ctx.tx, node, [slot])).get(slot.id);
  invariant(view !== undefined, 'a locked slot has a view');
  return { node, slot, stand: view };
};

/** The slot at the version that its editor read. */
const lockSlot = async (ctx: WriteCtx, { params, if_match }: OnSlot): Promise<Locked> => {
  const locked = await lockAny(ctx, params);
  if (locked.slot.version !== if_match) throw new AppError('precondition_failed', REFUSALS.slot_changed);
  return locked;
};

const finish = async (ctx: WriteCtx, slot: db.ApprovedSlot, reason: string): Promise<SlotView> => {
  await refreshSummary(ctx.tx, slot.node_id);
  ctx.target('slot', slot.id);
  ctx.note({ approval_before: slot.approval, status_before: slot.status, reason });
  return slotView(ctx, ctx.tx, slot.node_id, slot.id);
};

export const disable = async (ctx: WriteCtx, req: Req<'adminNodeSlotDisable'>) => {
  const { slot, stand: view } = await lockSlot(ctx, req);
  // Disabling again replaces the reason.
  refuse(slotRefusal('disable', view));
  await db.setApproval(ctx.tx, { id: slot.id, version: slot.version, approval: 'disabled', reason: req.body.reason });
  return finish(ctx, slot, req.body.reason);
};

export const enable = async (ctx: WriteCtx, req: Req<'adminNodeSlotEnable'>) => {
  const { slot, stand: view } = await lockSlot(ctx, req);
  const { taken_problems, ...facts } = view;
  if (refuse(slotRefusal('enable', { ...facts, taken: [] }))) return finish(ctx, slot, req.body.reason);
  // The same sentences, with the field of each.
  refuseIfAny(taken_problems);
  await db.setApproval(ctx.tx, { id: slot.id, version: slot.version, approval: 'approved', reason: req.body.reason });
  await endElsewhere(ctx.tx, slot.node_id, await db.findDevices(ctx.tx, slot.id));
  return finish(ctx, slot, req.body.reason);
};

const quarantineSlot = async (
  ctx: WriteCtx,
  { id, version }: db.ApprovedSlot,
  because: Readonly<{ reason: string; quarantine_reason: string | null }>,
): Promise<void> => {
  const isSet = await db.quarantineSlot(ctx.tx, { id, version, ...because });
  invariant(isSet, 'a locked slot that may be set apart is');
};

export const quarantine = async (ctx: WriteCtx, req: Req<'adminNodeSlotQuarantine'>) => {
  const { slot, stand: view } = await lockSlot(ctx, req);
  refuse(slotRefusal('quarantine', view));
  const { reason } = req.body;
  await quarantineSlot(ctx, slot, { reason, quarantine_reason: view.is_repairing ? reason : null });
  return finish(ctx, slot, req.body.reason);
};

/** The run does the work; until it has a proof the slot stays quarantined. */
export const repair = async (ctx: WriteCtx, req: Req<'adminNodeSlotRepair'>) => {
  const { slot, stand: view } = await lockSlot(ctx, req);
  refuse(slotRefusal('repair', view));
  await quarantineSlot(ctx, slot, { reason: REASONS.slot_in_repair, quarantine_reason: null });
  const run = await startRun(ctx.tx, {
    workflow: repairSlot,
    subject_id: slot.id,
    organization_id: null,
    project_id: null,
    correlation_id: ctx.correlation_id,
  });
  ctx.note({ workflow_run_id: run.id });
  return finish(ctx, slot, req.body.reason);
};

/** Two people, one generation of the slot: the first requests, another confirms. */
export const markWiped = async (ctx: WriteCtx, { params, body }: Req<'adminNodeSlotMarkWiped'>) => {
  const { node, slot, stand: view } = await lockAny(ctx, params);
  refuse(slotRefusal('mark_wiped', view));
  const by = callerId(ctx);
  const open = await lockOpenOverride(ctx.tx, slot);
  if (open === undefined || open.requested_by === by) {
    const asked =
      open ??
      (await insertOverride(ctx.tx, {
        id: mintId(ID_PREFIXES.slot_override),
        slot_id: slot.id,
        generation: slot.generation,
        reason: body.reason,
        requested_by: by,
      }));
    if (asked === undefined) throw new Error('the request was just written');
    return { override: asked, slot: await finish(ctx, slot, body.reason) };
  }
  const override = await confirmOverride(ctx.tx, open.id, by);
  if (override === undefined) throw conflict('Another operator already confirmed it.');
  const region = await findRegion(ctx.tx, node.region_name);
  const wipe_proof_id = await insertWipeProof(ctx.tx, {
    node_id: slot.node_id,
    slot_id: slot.id,
    allocation_id: null,
    disk_serial: slot.nvme_serial ?? 'unknown',
    task_id: override.id,
    method: 'two_person_override',
    is_verified: false,
    evidence: { requested_by: override.requested_by, confirmed_by: by, reasons: [override.reason, body.reason] },
    correlation_id: ctx.correlation_id,
  });
  if (
    !(await db.restoreSlot(ctx.tx, slot, {
      wipe_proof_id,
      ...(region?.allows_wipe_override === true
        ? { status: 'available', reason: REASONS.wipe_overridden }
        : { status: 'quarantined', reason: REASONS.override_not_allowed }),
    }))
  )
    throw conflict(REFUSALS.slot_changed);
  await endElsewhere(ctx.tx, slot.node_id, await db.findDevices(ctx.tx, slot.id));
  return { override, slot: await finish(ctx, slot, body.reason) };
};
