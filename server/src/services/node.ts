/**
 * Operator actions on nodes: read, hold for bare metal, drain, convert. A change of placement input locks the node's
 * row of the placement index from before the first read until commit, and rewrites that row, so a launch sees the node
 * either before or after the change, and never takes a node that is being removed.
 */
import { createHash } from 'node:crypto';
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { SLOTS_MAX } from '@gpuaas/scheduler';
import { forgetLaunchFailures } from '../agents/launch-failures.ts';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Reader, Tx } from '../db/client.ts';
import * as db from '../db/node.ts';
import { listLiveClaims } from '../db/node-facts.ts';
import { lockSummary } from '../db/placement.ts';
import { listForeignClaims } from '../db/pool.ts';
import { listSlotFacts, listSlots } from '../db/slot.ts';
import { type ConversionTarget, planConversion } from '../domain/conversion.ts';
import { isNodeOver } from '../domain/node-state.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict } from '../errors.ts';
import { onlyText, resourceChanged } from '../pipeline/caller.ts';
import { decodeCursor, malformedCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';
import { refreshSummary } from '../placement/summary.ts';
import { getNode, nodeView, nodeViews, refuseNode } from '../views/node.ts';
import { slotViews } from '../views/slot.ts';
import { poolFor } from './node-agent.ts';

/** In a refusal. */
const ALLOCATIONS_SHOWN = 10;

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

/** The node, locked against placements and changes. */
const lockNode = async (tx: Tx, id: string): Promise<db.NodeRow> => {
  await lockSummary(tx, id);
  return getNode(tx, id);
};

export const list = async (ctx: ReadCtx, { query }: Req<'adminNodeList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const after = onlyText(decodeCursor(ctx, query.cursor)?.[0]);
  return ctx.read(async (reader) => {
    const rows = await db.listNodes(reader, {
      after,
      limit: limit + 1,
      name: query.name ?? null,
      region_name: query.region_name ?? null,
      state: query.state ?? null,
    });
    const views = await nodeViews(ctx, reader, rows);
    return pageOf(
      ctx,
      limit,
      views,
      (row) => [row.id],
      (row) => row,
    );
  });
};

export const get = (ctx: ReadCtx, { params }: Req<'adminNodeGet'>) =>
  ctx.read((reader) => nodeView(ctx, reader, params.node_id));

const isSlotIndex = (key: string | number): key is number => typeof key === 'number' && key >= 0 && key < SLOTS_MAX;

export const slotList = (ctx: ReadCtx, { params, query }: Req<'adminNodeSlotList'>) =>
  ctx.read(async (reader) => {
    const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
    const after = decodeCursor(ctx, query.cursor)?.[0] ?? null;
    if (after !== null && !isSlotIndex(after)) throw malformedCursor();
    const node = await getNode(reader, params.node_id);
    const rows = await slotViews(ctx, reader, node, await listSlots(reader, node.id, { after, limit: limit + 1 }));
    return pageOf(
      ctx,
      limit,
      rows,
      (row) => [row.slot_index],
      (row) => row,
    );
  });

/** Its claims stay: an allocation of the pool's own organization keeps running, whichever pool the node is in. */
export const update = async (ctx: WriteCtx, { params, body, if_match }: Req<'adminNodeUpdate'>) => {
  const before = await lockNode(ctx.tx, params.node_id);
  if (isNodeOver(before.state)) throw conflict(REFUSALS.node_not_movable(before.state));
  const pool = await poolFor(ctx.tx, body.pool_name);
  if (pool.organization_id !== null) {
    const others = await listForeignClaims(ctx.tx, before.id, pool.organization_id);
    if (others.length > 0)
      throw conflict(
        REFUSALS.node_serves_others(
          pool.name,
          others.slice(0, ALLOCATIONS_SHOWN).map(({ allocation_id }) => allocation_id),
        ),
      );
  }
  if (!(await db.moveNodeToPool(ctx.tx, before.id, if_match, pool.id))) throw resourceChanged(before.version);
  await refreshSummary(ctx.tx, before.id);
  ctx.note({ pool_name_before: before.pool_name, pool_name_after: pool.name, reason: body.reason });
  return nodeView(ctx, ctx.tx, before.id);
};

export const hold = async (ctx: WriteCtx, { params, body }: Req<'adminNodeHold'>) => {
  const before = await lockNode(ctx.tx, params.node_id);
  // Holding again replaces the reason.
  await refuseNode(ctx.tx, before, body.is_held ? 'hold' : 'unhold');
  await db.holdNode(ctx.tx, before.id, body.is_held ? body.reason : null);
  await refreshSummary(ctx.tx, before.id);
  ctx.note({ is_held_before: before.is_held, is_held_after: body.is_held, reason: body.reason });
  return nodeView(ctx, ctx.tx, before.id);
};

/** The host was checked: placement on it resumes, and its failures are counted again from zero. */
export const clearLaunchFailures = async (ctx: WriteCtx, { params, body }: Req<'adminNodeLaunchFailuresClear'>) => {
  const before = await lockNode(ctx.tx, params.node_id);
  if (!(await refuseNode(ctx.tx, before, 'clear_launch_failures')))
    await forgetLaunchFailures(ctx.tx, before.id, { reason: body.reason, correlation_id: ctx.correlation_id });
  ctx.note({ launch_failures_before: before.launch_failures, reason: body.reason });
  return nodeView(ctx, ctx.tx, before.id);
};

/** All or none: a hold of fewer nodes than requested would look complete. */
export const holdCreate = async (ctx: WriteCtx, { body }: Req<'adminHoldCreate'>) => {
  const ids = await db.lockHoldable(ctx.tx, body);
  if (ids.length < body.node_count)
    throw new AppError('insufficient_capacity', REFUSALS.too_few_free_nodes(ids.length, body.node_count), {
      reasons: [{ code: 'insufficient_capacity', nodes: ids.length, requested: body.node_count }],
    });
  for (const id of ids) {
    await db.holdNode(ctx.tx, id, body.reason);
    await refreshSummary(ctx.tx, id);
  }
  ctx.note({ held_node_ids: ids, reason: body.reason });
  return { held_node_ids: ids, requested: body.node_count };
};

/**
 * Draining stops placements and evicts nothing. Only an active node can drain, so that resuming restores the right
 * state.
 */
export const drain = async (ctx: WriteCtx, { params, body }: Req<'adminNodeDrain'>) => {
  const before = await lockNode(ctx.tx, params.node_id);
  const move = body.is_draining
    ? ({ from: ['active'], to: 'draining' } as const)
    : ({ from: ['draining'], to: 'active' } as const);
  const { to } = move;
  ctx.note({ state_before: before.state, state_after: to, reason: body.reason });
  if (!(await refuseNode(ctx.tx, before, body.is_draining ? 'drain' : 'resume'))) {
    await db.moveNode(ctx.tx, { id: before.id, ...move, reason: body.reason });
    await refreshSummary(ctx.tx, before.id);
    ctx.emit('node.changed', {
      subject: before.id,
      data: { node_id: before.id, name: before.name, state: to, state_reason: body.reason },
    });
  }
  return nodeView(ctx, ctx.tx, before.id);
};

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const planFor = async (reader: Reader, node: db.NodeRow, to: ConversionTarget) => {
  const [claims, slots] = await Promise.all([listLiveClaims(reader, node.id), listSlotFacts(reader, node.id)]);
  return planConversion({ node, claims, slots }, to, sha256);
};

export const convertPlan = (ctx: ReadCtx, { params, query }: Req<'adminNodeConvertPlan'>) =>
  ctx.read(async (reader) => planFor(reader, await getNode(reader, params.node_id), query.to));

export const convert = async (ctx: WriteCtx, { params, body }: Req<'adminNodeConvert'>) => {
  const node = await lockNode(ctx.tx, params.node_id);
  const plan = await planFor(ctx.tx, node, body.to);
  if (plan.plan_hash !== body.plan_hash) throw new AppError('precondition_failed', REFUSALS.plan_changed);
  if (!plan.is_possible) throw conflict(plan.blockers.join(' '));
  if (!(await db.convertNode(ctx.tx, { id: node.id, from: plan.from, to: plan.to })))
    throw conflict('The node was allocated since the plan was made. Review the plan again.');
  await refreshSummary(ctx.tx, node.id);
  ctx.note({ plan_hash: plan.plan_hash, from: plan.from, to: plan.to });
  return nodeView(ctx, ctx.tx, node.id);
};
