import { type ConversionTarget, planConversion } from '../../../server/src/domain/conversion.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { type MockCtx, must, type Req } from '../core/context.ts';
import { conflict, Refusal, refuse } from '../core/errors.ts';
import { idOf, pageOf } from '../core/page.ts';
import { digestOf } from '../core/random.ts';
import type { Node } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { nodeFacts, refuseNode } from '../simulation/actions.ts';
import { slotsOf, takesBareMetal } from '../simulation/placement.ts';
import { mapRow, nodeView, slotView } from '../views/node.ts';

export const getNode = (ctx: MockCtx, id: string): Node => must(ctx.world.nodes.get(id), 'node');

export const emitNode = (world: World, node: Node, correlation_id: string): void =>
  world.emit('node.changed', {
    subject: node.id,
    organization_id: null,
    project_id: null,
    correlation_id,
    data: { node_id: node.id, name: node.name, state: node.state, state_reason: node.state_reason },
  });

export const moveNode = (
  world: World,
  node: Node,
  to: Readonly<{ state: Node['state']; reason: string | null; correlation_id: string }>,
): void => {
  node.state = to.state;
  node.state_reason = to.reason;
  node.state_since = world.ago();
  node.version += 1;
  emitNode(world, node, to.correlation_id);
};

const planOf = (world: World, node: Node, to: ConversionTarget) => {
  const facts = nodeFacts(world, node);
  return planConversion({ node: facts, claims: facts.claims, slots: facts.slots }, to, digestOf);
};

const byName = (a: Node, b: Node): number => (a.name < b.name ? -1 : 1);

/** A node without a host. */
export const UNBOUND = {
  state: 'unbound',
  product_serial: null,
  product_uuid: null,
  machine_id: null,
  bound_at: null,
} as const;

export const node = {
  adminNodeList: async (ctx: MockCtx, { query }: Req<'adminNodeList'>) => {
    const rows = [...ctx.world.nodes.values()]
      .filter((one) => query.name === undefined || one.name === query.name)
      .filter((one) => query.region_name === undefined || one.region_name === query.region_name)
      .filter((one) => (query.state === undefined ? one.state !== 'deleted' : one.state === query.state));
    return pageOf(ctx, query, rows, idOf, nodeView(ctx));
  },
  adminSlotMapList: async (ctx: MockCtx, { query }: Req<'adminSlotMapList'>) => {
    const rows = [...ctx.world.nodes.values()]
      .filter((one) => one.state !== 'deleted')
      .filter((one) => query.region_name === undefined || one.region_name === query.region_name);
    return pageOf(ctx, query, rows.sort(byName), idOf, mapRow(ctx.world));
  },
  adminNodeGet: async (ctx: MockCtx, { params }: Req<'adminNodeGet'>) => nodeView(ctx)(getNode(ctx, params.node_id)),
  adminNodeSlotList: async (ctx: MockCtx, { params, query }: Req<'adminNodeSlotList'>) =>
    pageOf(ctx, query, slotsOf(ctx.world, getNode(ctx, params.node_id).id), idOf, slotView(ctx)),
  adminNodeHold: async (ctx: MockCtx, { params, body }: Req<'adminNodeHold'>) => {
    const row = getNode(ctx, params.node_id);
    ctx.note({ is_held_before: row.is_held, is_held_after: body.is_held, reason: body.reason });
    refuse(refuseNode(ctx.world, row, body.is_held ? 'hold' : 'unhold'));
    row.is_held = body.is_held;
    row.held_reason = body.is_held ? body.reason : null;
    row.version += 1;
    return nodeView(ctx)(row);
  },
  adminNodeLaunchFailuresClear: async (ctx: MockCtx, { params, body }: Req<'adminNodeLaunchFailuresClear'>) => {
    const row = getNode(ctx, params.node_id);
    ctx.note({ launch_failures_before: row.launch_failures, reason: body.reason });
    if (refuse(refuseNode(ctx.world, row, 'clear_launch_failures'))) return nodeView(ctx)(row);
    row.launch_failures = 0;
    row.version += 1;
    ctx.emit('node.launch_failures_changed', {
      subject: row.id,
      data: { node_id: row.id, name: row.name, launch_failures: 0, is_placement_stopped: false, reason: body.reason },
    });
    return nodeView(ctx)(row);
  },
  adminHoldCreate: async (ctx: MockCtx, { body }: Req<'adminHoldCreate'>) => {
    const { world } = ctx;
    const rows = [...world.nodes.values()].filter(
      (one) =>
        one.region_name === body.region_name &&
        one.gpu_model === body.gpu_model &&
        !one.is_held &&
        takesBareMetal(world, one),
    );
    if (rows.length < body.node_count)
      throw new Refusal('insufficient_capacity', REFUSALS.too_few_free_nodes(rows.length, body.node_count), {
        reasons: [{ code: 'insufficient_capacity', nodes: rows.length, requested: body.node_count }],
      });
    const held = rows.slice(0, body.node_count);
    for (const one of held) Object.assign(one, { is_held: true, held_reason: body.reason, version: one.version + 1 });
    return { held_node_ids: held.map(idOf), requested: body.node_count };
  },
  adminNodeDrain: async (ctx: MockCtx, { params, body }: Req<'adminNodeDrain'>) => {
    const row = getNode(ctx, params.node_id);
    const to = body.is_draining ? 'draining' : 'active';
    ctx.note({ state_before: row.state, state_after: to, reason: body.reason });
    if (!refuse(refuseNode(ctx.world, row, body.is_draining ? 'drain' : 'resume')))
      moveNode(ctx.world, row, { state: to, reason: body.reason, correlation_id: ctx.correlation_id });
    return nodeView(ctx)(row);
  },
  adminNodeConvertPlan: async (ctx: MockCtx, { params, query }: Req<'adminNodeConvertPlan'>) =>
    planOf(ctx.world, getNode(ctx, params.node_id), query.to),
  adminNodeConvert: async (ctx: MockCtx, { params, body }: Req<'adminNodeConvert'>) => {
    const row = getNode(ctx, params.node_id);
    const plan = planOf(ctx.world, row, body.to);
    if (plan.plan_hash !== body.plan_hash) throw new Refusal('precondition_failed', REFUSALS.plan_changed);
    if (!plan.is_possible) throw conflict(plan.blockers.join(' '));
    row.capacity_mode = body.to;
    row.version += 1;
    return nodeView(ctx)(row);
  },
  adminNodeRetire: async (ctx: MockCtx, { params, body }: Req<'adminNodeRetire'>) => {
    const { world } = ctx;
    const row = getNode(ctx, params.node_id);
    refuse(refuseNode(world, row, 'retire'));
    for (const slot of slotsOf(world, row.id)) slot.approval = 'disabled';
    for (const one of row.certificates) Object.assign(one, { revoked_at: world.ago(), revoked_reason: body.reason });
    Object.assign(row, { is_connected: false, host: { ...UNBOUND } });
    moveNode(world, row, { state: 'retired', reason: body.reason, correlation_id: ctx.correlation_id });
    return nodeView(ctx)(row);
  },
  adminNodeDelete: async (ctx: MockCtx, { params }: Req<'adminNodeDelete'>) => {
    const row = getNode(ctx, params.node_id);
    refuse(refuseNode(ctx.world, row, 'delete'));
    moveNode(ctx.world, row, { state: 'deleted', reason: null, correlation_id: ctx.correlation_id });
    ctx.world.nodes.delete(row.id);
    return undefined;
  },
};
