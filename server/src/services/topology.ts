/**
 * Discovery: an operator asks, the host answers, what it found is stored apart from slots with a hash. A candidate is
 * never schedulable. What differs from an approved slot takes the slot unschedulable until somebody approves it again,
 * and leaves whoever holds it alone.
 */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { type Candidate, candidateHash, mapHash, type TaskOutput } from '@gpuaas/contract/node';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Reader, Tx } from '../db/client.ts';
import { findWipeMinimum, recordRuntimeCheck } from '../db/node.ts';
import { lockSummary } from '../db/placement.ts';
import { type ApprovedSlot, listApprovedSlots, lockSlots, markDrift } from '../db/slot-approval.ts';
import { findOpenTask, listNodeTasks, type TaskView } from '../db/task-view.ts';
import {
  type CandidateRow,
  DISCOVER,
  type DiscoveryRow,
  findNewestDiscovery,
  findNewestFacts,
  insertDiscovery,
  insertDiscoveryTask,
  listCandidates,
} from '../db/topology.ts';
import { type ApprovalContext, approvalProblems } from '../domain/approval.ts';
import { diffOf, pairSlots } from '../domain/topology.ts';
import { notFound } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { getNode, refuseNode } from '../views/node.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

/** One at a time: a discovery that is under way answers for a second one. */
export const discoveryCreate = async (
  ctx: WriteCtx,
  { params }: Req<'adminNodeDiscoveryCreate'>,
): Promise<TaskView> => {
  const node = await getNode(ctx.tx, params.node_id);
  await refuseNode(ctx.tx, node, 'discover');
  const open = await findOpenTask(ctx.tx, node.id, DISCOVER);
  if (open !== undefined) return open;
  const task = await insertDiscoveryTask(ctx.tx, node.id, ctx.correlation_id);
  ctx.target('node', node.id);
  ctx.note({ task_id: task.id });
  ctx.tx.wake();
  return task;
};

const candidateView = (row: CandidateRow, slot: ApprovedSlot | undefined, context: ApprovalContext) => {
  const diff = slot?.content == null ? {} : diffOf(slot.content, row.content);
  const approval_status = slot === undefined ? 'new' : Object.keys(diff).length > 0 ? 'changed' : 'approved';
  // What a tenant has on the disk of an approved slot stands in nobody's way.
  const blockers =
    approval_status === 'approved'
      ? []
      : approvalProblems([row.content], context).map(({ code, field, message }) => ({
          code,
          field,
          message,
        }));
  return {
    id: row.id,
    slot_index: row.slot_index,
    content_hash: row.content_hash,
    content: row.content,
    blockers,
    slot_id: slot?.id ?? null,
    approval_status: approval_status as 'new' | 'changed' | 'approved',
    diff,
  };
};

const mapView = async (reader: Reader, found: DiscoveryRow) => {
  const candidates = await listCandidates(reader, found.task_id);
  const all = candidates.map(({ content }) => content);
  const slots = pairSlots(await listApprovedSlots(reader, found.node_id), all);
  const slotOf = new Map(
    [...slots].flatMap(([slot, candidate]) => (candidate === undefined ? [] : [[candidate, slot]])),
  );
  const context = {
    has_fabric: found.map.partitions.length > 0,
    all,
    wipe_minimum: await findWipeMinimum(reader, found.node_id),
  };
  return {
    map_hash: found.map_hash,
    created_at: found.created_at,
    candidates: candidates.map((row) => candidateView(row, slotOf.get(row.content), context)),
    partitions: [...found.map.partitions],
    prerequisites: [...found.map.prerequisites],
    reboot_required: found.reboot_required,
  };
};

export const discoveryGet = (ctx: ReadCtx, { params }: Req<'adminNodeDiscoveryGet'>) =>
  ctx.read(async (reader) => {
    const node = await getNode(reader, params.node_id);
    const [task] = await listNodeTasks(reader, {
      node_id: node.id,
      kind: DISCOVER,
      before: null,
      state: null,
      limit: 1,
    });
    if (task === undefined) throw notFound('discovery of this node');
    const found = await findNewestDiscovery(reader, node.id);
    return { task, map: found === undefined ? null : await mapView(reader, found) };
  });

export const factsGet = (ctx: ReadCtx, { params }: Req<'adminNodeDiscoveryFactsGet'>) =>
  ctx.read(async (reader) => {
    const facts = await findNewestFacts(reader, (await getNode(reader, params.node_id)).id);
    if (facts === undefined) throw notFound('discovery of this node');
    return facts;
  });

/** Compares every slot with what was found of it, and says which have drifted. */
const driftsOf = (slots: readonly ApprovedSlot[], candidates: readonly Candidate[]) =>
  [...pairSlots(slots, candidates)].flatMap(([slot, found]) => {
    if (slot.content === null) return [];
    const drift = diffOf(slot.content, found);
    const isChanged = Object.keys(drift).length > 0 || slot.drift !== null;
    return isChanged ? [{ id: slot.id, drift }] : [];
  });

/** What a host answered to a discovery, in the transaction that takes the answer. */
export const recordDiscovery = async (
  tx: Tx,
  task: Readonly<{ id: string; node_id: string }>,
  output: TaskOutput<'slice.topology_discover'>,
): Promise<void> => {
  const { candidates, partitions, prerequisites, reboot_required } = output.map;
  await lockSummary(tx, task.node_id);
  const slots = await lockSlots(tx, task.node_id);
  await insertDiscovery(tx, {
    task_id: task.id,
    node_id: task.node_id,
    // Ours, not the agent's: an approval is by this hash.
    map_hash: mapHash(output.map),
    facts: output.facts,
    map: { partitions, prerequisites },
    reboot_required,
    candidates: candidates.map((content) => ({ content_hash: candidateHash(content), content })),
  });
  const drifts = driftsOf(slots, candidates);
  if (drifts.length > 0) await markDrift(tx, drifts);
  await recordRuntimeCheck(tx, task.node_id, {
    is_passed: prerequisites.every(({ is_met }) => is_met) && !reboot_required,
    reboot_required,
    has_hardware_change: drifts.length > 0,
  });
  await refreshSummary(tx, task.node_id);
};
