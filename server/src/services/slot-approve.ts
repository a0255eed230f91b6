/**
 * Approval: candidates of a discovery become slots. It is by the hash of that discovery and refuses with every reason
 * together; a claimed slot is never changed.
 */
import { ID_PREFIXES, type PublicApi, type RequestOf } from '@gpuaas/contract';
import type { Candidate } from '@gpuaas/contract/node';
import { invariant, mintId } from '@gpuaas/kit';
import { markUnhealthySlots } from '../agents/node-health.ts';
import type { WriteCtx } from '../context.ts';
import type { Tx } from '../db/client.ts';
import { listOpenOwnerships } from '../db/disk-ownership.ts';
import { clearNodeDrift, type NodeRow } from '../db/node.ts';
import { findWipeMinimum } from '../db/node-region.ts';
import { lockSummary } from '../db/placement.ts';
import { listSlots, replacePartitions } from '../db/slot.ts';
import * as db from '../db/slot-approval.ts';
import { findNewestDiscovery, listCandidates } from '../db/topology.ts';
import { approvalProblems } from '../domain/approval.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { bindingConflicts, boundSlot } from '../domain/slot-binding.ts';
import { diffOf, pairSlots } from '../domain/topology.ts';
import type { StepOf } from '../domain/workflow-declaration.ts';
import type { REPAIR_SLOT } from '../domain/workflow-steps.ts';
import { AppError, type FieldError } from '../errors.ts';
import { refuseIfAny } from '../pipeline/actions.ts';
import { callerId } from '../pipeline/caller.ts';
import { refreshSummary } from '../placement/summary.ts';
import { getNode, refuseNode } from '../views/node.ts';
import { slotViews } from '../views/slot.ts';
import { endElsewhere } from '../workflows/device-proofs.ts';
import { startRun } from '../workflows/engine/run.ts';
import { repairSlot } from '../workflows/repair-slot.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

export const lockNode = async (tx: Tx, id: string): Promise<NodeRow> => {
  await lockSummary(tx, id);
  return getNode(tx, id);
};

/** Facts that only a driver can read are kept from the previous approval while the device is in a guest. */
const filledFrom = (found: Candidate, before: Candidate | null): Candidate =>
  before === null
    ? found
    : {
        ...found,
        gpu_uuid: found.gpu_uuid ?? before.gpu_uuid,
        gpu_model: found.gpu_model ?? before.gpu_model,
        module_id: found.module_id ?? before.module_id,
        mig_mode: found.mig_mode ?? before.mig_mode,
      };

const freeIndex = (taken: Set<number>, wanted: number): number => {
  let index = wanted;
  while (taken.has(index)) index += 1;
  taken.add(index);
  return index;
};

type ChosenCandidate = Readonly<{ content: Candidate; slot: db.ApprovedSlot | undefined }>;

const chosenOf = async (
  ctx: WriteCtx,
  node: NodeRow,
  body: Req<'adminNodeSlotApprove'>['body'],
  slots: readonly db.ApprovedSlot[],
) => {
  const discovery = await findNewestDiscovery(ctx.tx, node.id);
  invariant(discovery !== undefined, 'approval requires a discovery');
  if (discovery.map_hash !== body.map_hash) throw new AppError('precondition_failed', REFUSALS.newer_discovery);
  const rows = await listCandidates(ctx.tx, discovery.task_id);
  const slotOf = new Map(
    [
      ...pairSlots(
        slots,
        rows.map(({ content }) => content),
      ),
    ].map(([slot, found]) => [found, slot]),
  );
  const indexes = body.slot_indexes ?? rows.map(({ slot_index }) => slot_index);
  const missing = indexes.filter((index) => !rows.some(({ slot_index }) => slot_index === index));
  if (missing.length > 0)
    throw new AppError('invalid_request', REFUSALS.no_candidate(missing), {
      errors: [{ pointer: '/body/slot_indexes', code: 'unknown', message: `No candidate ${missing.join(', ')}.` }],
    });
  const wanted = rows
    .filter(({ slot_index }) => indexes.includes(slot_index))
    .map(({ content }): ChosenCandidate => {
      const slot = slotOf.get(content);
      const filled = filledFrom(content, slot?.content ?? null);
      return { slot, content: filled };
    })
    // Approving all again changes only the differences.
    .filter(
      ({ slot, content }) =>
        slot === undefined ||
        slot.approval !== 'approved' ||
        slot.content === null ||
        (body.wipe_method !== undefined && body.wipe_method !== slot.wipe_method) ||
        Object.keys(diffOf(slot.content, content)).length > 0,
    );
  return { discovery, wanted, all: rows.map(({ content }) => content) };
};

/** A disk that is about to be wiped must not become a slot that can be allocated meanwhile. */
const beingErased = (
  contents: readonly Candidate[],
  open: Awaited<ReturnType<typeof listOpenOwnerships>>,
): FieldError[] =>
  contents
    .filter(({ nvme_serial }) => open.some(({ serial }) => serial === nvme_serial))
    .map(({ slot_index, nvme_serial }) => ({
      pointer: `/candidates/${slot_index}/nvme_serial`,
      code: 'being_erased',
      message: `Slot ${slot_index}: disk ${nvme_serial} is queued for wiping. Wait for the wipe, or revoke its approval.`,
    }));

/** The host may still be wiping what the slot had, and its task is about that. */
const beingWiped = (slot_index: number): FieldError => ({
  pointer: `/candidates/${slot_index}`,
  code: 'being_wiped',
  message: `Slot ${slot_index} has another disk or GPU and is being wiped. Wait for the wipe, or cancel its run.`,
});

const FIRST_WIPE: StepOf<typeof REPAIR_SLOT> = 'wipe';

/**
 * Only a proof makes a new slot available: the earlier content of its disk is unknown, even where discovery finds no
 * signature.
 */
const startFirstWipes = async (ctx: WriteCtx, slots: readonly Readonly<{ id: string }>[]): Promise<void> => {
  for (const { id } of slots)
    await startRun(ctx.tx, {
      workflow: repairSlot,
      first_step: FIRST_WIPE,
      subject_id: id,
      organization_id: null,
      project_id: null,
      correlation_id: ctx.correlation_id,
    });
};

/** Approves slots. The operator is named and the discovery cited in every row. */
export const approve = async (ctx: WriteCtx, { params, body }: Req<'adminNodeSlotApprove'>) => {
  const node = await lockNode(ctx.tx, params.node_id);
  const slots = await db.lockSlots(ctx.tx, node.id);
  await refuseNode(ctx.tx, node, 'approve');
  const { discovery, wanted, all } = await chosenOf(ctx, node, body, slots);
  const at = ({ slot_index, field, code, message }: ReturnType<typeof approvalProblems>[number]): FieldError => ({
    pointer: `/candidates/${slot_index}/${field}`,
    code,
    message,
  });
  // An operator's choice of method belongs to the slot and is not a fact of the disk: the next discovery would report
  // it as changed.
  const policyOf = (found: Candidate) => body.wipe_method ?? found.wipe_method;
  const contents = wanted.map(({ content }) => ({ ...content, wipe_method: policyOf(content) }));
  refuseIfAny([
    ...approvalProblems(contents, {
      has_fabric: discovery.map.partitions.length > 0,
      all,
      wipe_minimum: await findWipeMinimum(ctx.tx, node.id),
    }).map(at),
    ...wanted
      .filter(({ slot }) => slot?.is_claimed === true)
      .map(({ content }) => ({
        pointer: `/candidates/${content.slot_index}`,
        code: 'held',
        message: `Slot ${content.slot_index} is held by an allocation. Approve it after the release.`,
      })),
    ...beingErased(contents, await listOpenOwnerships(ctx.tx, node.id)),
    ...(slots.length + wanted.filter(({ slot }) => slot === undefined).length > node.gpu_count
      ? [
          {
            pointer: '/candidates',
            code: 'count',
            message: `The node has ${node.gpu_count} GPUs; the approval would create more slots.`,
          },
        ]
      : []),
  ]);
  const taken = new Set(slots.map(({ slot_index }) => slot_index));
  const rows = wanted.map(({ slot, content }) => ({
    ...(slot === undefined
      ? boundSlot(mintId(ID_PREFIXES.slot), freeIndex(taken, content.slot_index), content)
      : boundSlot(slot.id, slot.slot_index, content)),
    wipe_method: policyOf(content) ?? 'blkdiscard',
  }));
  refuseIfAny([
    ...bindingConflicts(await db.listTakenBindings(ctx.tx, node, rows)),
    ...(await db.listChangedInTask(ctx.tx, node.id, rows)).map(beingWiped),
  ]);
  const by = { node, approved_by: callerId(ctx), discovery_task_id: discovery.task_id };
  const known = new Set(slots.map(({ id }) => id));
  await db.reapproveSlots(
    ctx.tx,
    by,
    rows.filter(({ id }) => known.has(id)),
  );
  await db.insertCandidateSlots(
    ctx.tx,
    by,
    rows.filter(({ id }) => !known.has(id)),
  );
  await startFirstWipes(
    ctx,
    rows.filter(({ id }) => !known.has(id)),
  );
  await endElsewhere(ctx.tx, node.id, rows);
  await replacePartitions(ctx.tx, node.id, discovery.map.partitions);
  await clearNodeDrift(ctx.tx, node.id);
  await markUnhealthySlots(ctx.tx, node.id);
  await refreshSummary(ctx.tx, node.id);
  ctx.target('node', node.id);
  ctx.note({ map_hash: body.map_hash, discovery_task_id: discovery.task_id, slot_ids: rows.map(({ id }) => id) });
  const ids = new Set(rows.map(({ id }) => id));
  const after = await listSlots(ctx.tx, node.id, { after: null, limit: 64 });
  const shown = body.slot_indexes === undefined ? after : after.filter(({ id }) => ids.has(id));
  return { slots: await slotViews(ctx, ctx.tx, node, shown) };
};
