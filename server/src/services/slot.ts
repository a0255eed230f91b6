/**
 * What operators do to slots. Approval is by the hash of a discovery and refuses with every reason at once; a slot that
 * somebody holds is never changed under them. Whoever edits names the version they read.
 */
import { ID_PREFIXES, type PublicApi, type RequestOf } from '@gpuaas/contract';
import { type Candidate, candidateHash } from '@gpuaas/contract/node';
import { mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Tx } from '../db/client.ts';
import { listOpenOwnerships } from '../db/disk-ownership.ts';
import type { NodeRow } from '../db/node.ts';
import { lockSummary } from '../db/placement.ts';
import { findSlot, listSlots, type NewSlot, replacePartitions, type SlotRow } from '../db/slot.ts';
import * as db from '../db/slot-approval.ts';
import { findNewestDiscovery, listCandidates } from '../db/topology.ts';
import { insertWipeProof } from '../db/wipe-proof.ts';
import { findLiveRun } from '../db/workflow-run.ts';
import { approvalProblems } from '../domain/approval.ts';
import { diffOf, pairSlots } from '../domain/topology.ts';
import { AppError, conflict, type FieldError, notFound } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { startRun } from '../workflows/engine/run.ts';
import { repairSlot } from '../workflows/repair-slot.ts';
import { callerId } from './caller.ts';
import { keepIllSlots, refuseHostChanges } from './health-report.ts';
import { getNode } from './topology.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const refuseIfAny = (problems: readonly FieldError[]): void => {
  if (problems.length === 0) return;
  throw new AppError('conflict', problems.map(({ message }) => message).join(' '), { errors: problems });
};

const lockNode = async (tx: Tx, id: string): Promise<NodeRow> => {
  await lockSummary(tx, id);
  return getNode(tx, id);
};

export const get = (ctx: ReadCtx, { params }: Req<'adminNodeSlotGet'>) =>
  ctx.read(async (reader) => {
    const slot = await findSlot(reader, params.node_id, params.slot_id);
    if (slot === undefined) throw notFound('slot');
    return slot;
  });

/** What only a driver can tell is kept from the approval before, while the device is with guests. */
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

const written = (
  id: string,
  index: number,
  found: Candidate,
): NewSlot & { content_hash: string; content: Candidate } => ({
  id,
  slot_index: index,
  gpu_pci_address: found.gpu_pci_address ?? '',
  gpu_uuid: found.gpu_uuid,
  module_id: found.module_id,
  numa_node: found.numa_node,
  nvme_serial: found.nvme_serial ?? '',
  nvme_device: found.nvme_device ?? '',
  mac_address: found.mac_address ?? '',
  private_ip: found.private_ip ?? '',
  fabric_vf_pci_address: found.fabric_vf_pci_address ?? '',
  destructive_wipe_policy: found.wipe_policy ?? 'blkdiscard',
  content_hash: candidateHash(found),
  content: found,
});

const takenProblems = (taken: Awaited<ReturnType<typeof db.listTakenBindings>>): FieldError[] =>
  taken.map(({ slot_index, field, value, node_name }) => ({
    pointer: `/candidates/${slot_index}/${field}`,
    code: 'taken',
    message: `Slot ${slot_index}: ${field} ${value} belongs to a slot of ${node_name}. Disable that one when nobody holds it, or change this one.`,
  }));

const freeIndex = (taken: Set<number>, wanted: number): number => {
  let index = wanted;
  while (taken.has(index)) index += 1;
  taken.add(index);
  return index;
};

type Wanted = Readonly<{ content: Candidate; slot: db.ApprovedSlot | undefined }>;

const wantedOf = async (
  ctx: WriteCtx,
  node: NodeRow,
  body: Req<'nodeSlotApprove'>['body'],
  slots: readonly db.ApprovedSlot[],
) => {
  const discovery = await findNewestDiscovery(ctx.tx, node.id);
  if (discovery === undefined) throw conflict('Nothing has been discovered on this node yet.');
  if (discovery.map_hash !== body.map_hash)
    throw new AppError('precondition_failed', 'Another discovery has been made since; look at it and approve that.');
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
    throw new AppError('invalid_request', `The discovery has no candidate ${missing.join(', ')}.`, {
      errors: [{ pointer: '/body/slot_indexes', code: 'unknown', message: `No candidate ${missing.join(', ')}.` }],
    });
  const wanted = rows
    .filter(({ slot_index }) => indexes.includes(slot_index))
    .map(({ content }): Wanted => {
      const slot = slotOf.get(content);
      const filled = filledFrom(content, slot?.content ?? null);
      return { slot, content: body.wipe_policy === undefined ? filled : { ...filled, wipe_policy: body.wipe_policy } };
    })
    // Approving all again changes only what changed.
    .filter(
      ({ slot, content }) =>
        slot === undefined ||
        slot.approval !== 'approved' ||
        slot.content === null ||
        Object.keys(diffOf(slot.content, content)).length > 0,
    );
  return { discovery, wanted, all: rows.map(({ content }) => content) };
};

/** A disk that is about to be erased must not become a slot that somebody is given meanwhile. */
const beingErased = (
  contents: readonly Candidate[],
  open: Awaited<ReturnType<typeof listOpenOwnerships>>,
): FieldError[] =>
  contents
    .filter(({ nvme_serial }) => open.some(({ serial }) => serial === nvme_serial))
    .map(({ slot_index, nvme_serial }) => ({
      pointer: `/candidates/${slot_index}/nvme_serial`,
      code: 'being_erased',
      message: `Slot ${slot_index}: the drive ${nvme_serial} is about to be erased. Wait for that, or take its approval back.`,
    }));

/** Makes slots schedulable. The operator is named and the discovery cited in every row. */
export const approve = async (ctx: WriteCtx, { params, body }: Req<'nodeSlotApprove'>) => {
  const node = await lockNode(ctx.tx, params.node_id);
  const slots = await db.lockSlots(ctx.tx, node.id);
  const { discovery, wanted, all } = await wantedOf(ctx, node, body, slots);
  // Whoever holds the whole node may have written to these disks, and no wipe of theirs has been asked for.
  if (!['free', 'sliced'].includes(node.occupancy))
    throw conflict(`The node is ${node.occupancy}; slots are approved while nobody holds it as a whole.`);
  const at = ({ slot_index, field, code, message }: ReturnType<typeof approvalProblems>[number]): FieldError => ({
    pointer: `/candidates/${slot_index}/${field}`,
    code,
    message,
  });
  const contents = wanted.map(({ content }) => content);
  refuseIfAny([
    ...approvalProblems(contents, { has_fabric: discovery.map.partitions.length > 0, all }).map(at),
    ...wanted
      .filter(({ slot }) => slot?.is_claimed === true)
      .map(({ content }) => ({
        pointer: `/candidates/${content.slot_index}`,
        code: 'held',
        message: `Slot ${content.slot_index} is held by an allocation; approve it again when it is released.`,
      })),
    ...beingErased(contents, await listOpenOwnerships(ctx.tx, node.id)),
    ...(slots.length + wanted.filter(({ slot }) => slot === undefined).length > node.gpu_count
      ? [
          {
            pointer: '/candidates',
            code: 'count',
            message: `The node has ${node.gpu_count} GPUs on record; that would be more slots.`,
          },
        ]
      : []),
  ]);
  const taken = new Set(slots.map(({ slot_index }) => slot_index));
  const rows = wanted.map(({ slot, content }) =>
    slot === undefined
      ? written(mintId(ID_PREFIXES.slot), freeIndex(taken, content.slot_index), content)
      : written(slot.id, slot.slot_index, content),
  );
  refuseIfAny(takenProblems(await db.listTakenBindings(ctx.tx, node, rows)));
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
  await replacePartitions(ctx.tx, node.id, discovery.map.partitions);
  await db.clearNodeDrift(ctx.tx, node.id);
  await keepIllSlots(ctx.tx, node.id);
  await refreshSummary(ctx.tx, node.id);
  ctx.target('node', node.id);
  ctx.note({ map_hash: body.map_hash, discovery_task_id: discovery.task_id, slot_ids: rows.map(({ id }) => id) });
  const ids = new Set(rows.map(({ id }) => id));
  const after = await listSlots(ctx.tx, node.id, { after: null, limit: 64 });
  return { slots: body.slot_indexes === undefined ? after : after.filter(({ id }) => ids.has(id)) };
};

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
