/**
 * What operators do to slots one by one. A slot that somebody holds is never changed under them, and whoever edits names
 * the version they read.
 */
import { ID_PREFIXES, type PublicApi, type RequestOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import { findSlot, type SlotRow } from '../db/slot.ts';
import * as db from '../db/slot-approval.ts';
import { insertWipeProof } from '../db/wipe-proof.ts';
import { findLiveRun } from '../db/workflow-run.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { startRun } from '../workflows/engine/run.ts';
import { repairSlot } from '../workflows/repair-slot.ts';
import { callerId } from './caller.ts';
import { refuseHostChanges } from './health-report.ts';
import { lockNode, refuseIfAny, takenProblems, written } from './slot-approve.ts';
import { getNode } from './topology.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

export const get = (ctx: ReadCtx, { params }: Req<'adminNodeSlotGet'>) =>
  ctx.read(async (reader) => {
    const slot = await findSlot(reader, params.node_id, params.slot_id);
    if (slot === undefined) throw notFound('slot');
    return slot;
  });

type OnSlot = Req<'nodeSlotDisable'>;

const lockSlot = async (ctx: WriteCtx, { params, if_match }: OnSlot): Promise<db.ApprovedSlot> => {
  const node = await lockNode(ctx.tx, params.node_id);
  const slot = (await db.lockSlots(ctx.tx, node.id)).find(({ id }) => id === params.slot_id);
  if (slot === undefined) throw notFound('slot');
  if (slot.version !== if_match)
    throw new AppError('precondition_failed', 'The slot has changed since you read it; read it again.');
  return slot;
};

const finish = async (ctx: WriteCtx, slot: db.ApprovedSlot, reason: string): Promise<SlotRow> => {
  await refreshSummary(ctx.tx, slot.node_id);
  ctx.target('slot', slot.id);
  ctx.note({ approval_before: slot.approval, status_before: slot.status, reason });
  const row = await findSlot(ctx.tx, slot.node_id, slot.id);
  if (row === undefined) throw notFound('slot');
  return row;
};

export const disable = async (ctx: WriteCtx, req: Req<'nodeSlotDisable'>) => {
  const slot = await lockSlot(ctx, req);
  await db.setApproval(ctx.tx, { id: slot.id, version: slot.version, approval: 'disabled', reason: req.body.reason });
  return finish(ctx, slot, req.body.reason);
};

export const enable = async (ctx: WriteCtx, req: Req<'nodeSlotEnable'>) => {
  const slot = await lockSlot(ctx, req);
  if (slot.approval === 'approved') return finish(ctx, slot, req.body.reason);
  if (slot.approval === 'needs_reapproval' || (slot.drift !== null && Object.keys(slot.drift).length > 0))
    throw conflict('The slot is not what was approved any more; look at the difference and approve it again.');
  if (slot.content !== null) {
    const own = written(slot.id, slot.slot_index, slot.content);
    refuseIfAny(takenProblems(await db.listTakenBindings(ctx.tx, await getNode(ctx.tx, slot.node_id), [own])));
  }
  await db.setApproval(ctx.tx, { id: slot.id, version: slot.version, approval: 'approved', reason: req.body.reason });
  return finish(ctx, slot, req.body.reason);
};

const refuseHeld = (slot: db.ApprovedSlot): void => {
  if (slot.is_claimed) throw conflict('An allocation holds the slot; release it first.');
};

export const quarantine = async (ctx: WriteCtx, req: Req<'nodeSlotQuarantine'>) => {
  const slot = await lockSlot(ctx, req);
  refuseHeld(slot);
  if (!(await db.quarantineSlot(ctx.tx, { id: slot.id, version: slot.version, reason: req.body.reason })))
    throw conflict(`The slot is ${slot.status}; it cannot be quarantined now.`);
  return finish(ctx, slot, req.body.reason);
};

/** The run does the work; until it has a proof the slot stays in quarantine. */
export const repair = async (ctx: WriteCtx, req: Req<'nodeSlotRepair'>) => {
  const slot = await lockSlot(ctx, req);
  refuseHeld(slot);
  await refuseHostChanges(ctx.tx, slot.node_id);
  if (!(await db.quarantineSlot(ctx.tx, { id: slot.id, version: slot.version, reason: 'It is being repaired.' })))
    throw conflict(`The slot is ${slot.status}; it cannot be repaired now.`);
  const run = await startRun(
    ctx.tx,
    {
      workflow: repairSlot,
      subject_id: slot.id,
      organization_id: null,
      project_id: null,
      correlation_id: ctx.correlation_id,
    },
    () => ctx.deps.events.wake(),
  );
  ctx.note({ workflow_run_id: run.id });
  return finish(ctx, slot, req.body.reason);
};

/** Two people, one generation of the slot: the first asks, another confirms. */
export const markWiped = async (ctx: WriteCtx, { params, body }: Req<'nodeSlotMarkWiped'>) => {
  const node = await lockNode(ctx.tx, params.node_id);
  const slot = (await db.lockSlots(ctx.tx, node.id)).find(({ id }) => id === params.slot_id);
  if (slot === undefined) throw notFound('slot');
  refuseHeld(slot);
  if (!['quarantined', 'cleanup_blocked'].includes(slot.status))
    throw conflict(`The slot is ${slot.status}; there is no wipe to vouch for.`);
  if ((await findLiveRun(ctx.tx, repairSlot.name, slot.id)) !== undefined)
    throw conflict('The slot is being repaired; wait for that, or cancel the run.');
  const by = callerId(ctx);
  const open = await db.lockOpenOverride(ctx.tx, slot);
  if (open === undefined || open.requested_by === by) {
    const asked =
      open ??
      (await db.insertOverride(ctx.tx, {
        id: mintId(ID_PREFIXES.slot_override),
        slot_id: slot.id,
        generation: slot.generation,
        reason: body.reason,
        requested_by: by,
      }));
    if (asked === undefined) throw new Error('the request was just written');
    return { override: asked, slot: await finish(ctx, slot, body.reason) };
  }
  const override = await db.confirmOverride(ctx.tx, open.id, by);
  if (override === undefined) throw conflict('Somebody else has just confirmed it.');
  const wipe_proof_id = await insertWipeProof(ctx.tx, {
    node_id: node.id,
    slot_id: slot.id,
    allocation_id: null,
    disk_serial: slot.nvme_serial ?? 'unknown',
    task_id: override.id,
    method: 'two_person_override',
    is_verified: true,
    evidence: { requested_by: override.requested_by, confirmed_by: by, reasons: [override.reason, body.reason] },
    correlation_id: ctx.correlation_id,
  });
  if (!(await db.restoreSlot(ctx.tx, { id: slot.id, wipe_proof_id, reason: 'Two operators vouched for the wipe.' })))
    throw conflict('The slot has changed meanwhile; read it again.');
  return { override, slot: await finish(ctx, slot, body.reason) };
};
