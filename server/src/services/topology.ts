/** Discovery for operators: request one from a host, and read its result. `agents/discovery.ts` stores the result. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Reader } from '../db/client.ts';
import { findWipeMinimum } from '../db/node-region.ts';
import { type ApprovedSlot, listApprovedSlots } from '../db/slot-approval.ts';
import { findOpenTask, listNodeTasks, type TaskView } from '../db/task-view.ts';
import {
  type CandidateRow,
  DISCOVER,
  type DiscoveryRow,
  findNewestDiscovery,
  findNewestFacts,
  insertDiscoveryTask,
  listCandidates,
} from '../db/topology.ts';
import { type ApprovalContext, approvalProblems } from '../domain/approval.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { diffOf, pairSlots } from '../domain/topology.ts';
import { AppError } from '../errors.ts';
import { getNode, refuseNode } from '../views/node.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

/** One at a time: a second request joins the discovery in progress. */
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
  // A tenant's data on the disk of an approved slot is not a blocker.
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

const notDiscovered = (node: string): AppError => new AppError('not_found', REFUSALS.node_not_discovered(node));

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
    if (task === undefined) throw notDiscovered(node.name);
    const found = await findNewestDiscovery(reader, node.id);
    return { task, map: found === undefined ? null : await mapView(reader, found) };
  });

export const factsGet = (ctx: ReadCtx, { params }: Req<'adminNodeDiscoveryFactsGet'>) =>
  ctx.read(async (reader) => {
    const node = await getNode(reader, params.node_id);
    const facts = await findNewestFacts(reader, node.id);
    if (facts === undefined) throw notDiscovered(node.name);
    return facts;
  });
