/** Pools, and the pool of a node. */
import { isNodeOver } from '../../../server/src/domain/node-state.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { assertVersion, type MockCtx, must, type Req } from '../core/context.ts';
import { conflict, invalidField } from '../core/errors.ts';
import { pageOf } from '../core/page.ts';
import type { Pool } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { nodeView } from '../views/node.ts';
import { assertUnused, current, nodesIn, put, retired } from './admin-catalog.ts';

const nodeCount = (world: World, pool: Pool): number => nodesIn(world, 'pool_name', pool.name)[0]?.count ?? 0;

const view = (world: World, pool: Pool) => ({
  ...pool,
  kind: pool.organization_id === null ? ('shared' as const) : ('dedicated' as const),
  organization_name: world.organizations.get(pool.organization_id ?? '')?.name ?? null,
  node_count: nodeCount(world, pool),
});

const assertOrganization = (world: World, id: string | null | undefined): void => {
  if (typeof id === 'string' && !world.organizations.has(id))
    throw invalidField('organization_id', 'names no organization', 'unknown', `There is no organization ${id}.`);
};

export const adminPool = {
  adminPoolList: async (ctx: MockCtx, { query }: Req<'adminPoolList'>) =>
    pageOf(
      ctx,
      query,
      ctx.world.pools
        .filter((one) => query.include_retired === true || one.retired_at === null)
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      (one) => one.name,
      (one) => view(ctx.world, one),
    ),
  adminPoolGet: async (ctx: MockCtx, { params }: Req<'adminPoolGet'>) =>
    view(
      ctx.world,
      must(
        ctx.world.pools.find((one) => one.name === params.pool_name),
        'pool',
      ),
    ),
  adminPoolCreate: async (ctx: MockCtx, { body }: Req<'adminPoolCreate'>) => {
    const { world } = ctx;
    assertOrganization(world, body.organization_id);
    const before = world.pools.find((one) => one.name === body.name);
    const made: Pool = {
      id: before?.id ?? world.mint('pool'),
      name: body.name,
      purpose: body.purpose ?? null,
      organization_id: body.organization_id ?? null,
      retired_at: null,
      version: 1,
      created_at: before?.created_at ?? world.ago(),
    };
    const row = put(world.pools, made, 'pool');
    ctx.target('pool', row.id);
    return view(world, row);
  },
  adminPoolUpdate: async (ctx: MockCtx, { params, body, if_match }: Req<'adminPoolUpdate'>) => {
    const { world } = ctx;
    const row = current(world.pools, params.pool_name, 'pool', if_match);
    assertOrganization(world, body.organization_id);
    const count = nodeCount(world, row);
    if (body.organization_id !== undefined && body.organization_id !== row.organization_id && count > 0)
      throw conflict(REFUSALS.pool_has_nodes(row.name, count));
    Object.assign(row, body);
    row.version += 1;
    return view(world, row);
  },
  adminPoolRetire: async (ctx: MockCtx, { params }: Req<'adminPoolRetire'>) => {
    const row = current(ctx.world.pools, params.pool_name, 'pool');
    assertUnused('pool', row.name, nodesIn(ctx.world, 'pool_name', row.name));
    return view(ctx.world, retired(ctx, row));
  },
  adminNodeUpdate: async (ctx: MockCtx, { params, body, if_match }: Req<'adminNodeUpdate'>) => {
    const { world } = ctx;
    const node = must(world.nodes.get(params.node_id), 'node');
    if (isNodeOver(node.state)) throw conflict(REFUSALS.node_not_movable(node.state));
    const pool = world.pools.find((one) => one.name === body.pool_name && one.retired_at === null);
    if (pool === undefined)
      throw invalidField('pool_name', 'names no pool', 'unknown', `There is no pool named "${body.pool_name}".`);
    const others = world.claims
      .filter((one) => one.node_id === node.id && one.released_at === null)
      .filter((one) => world.allocations.get(one.allocation_id)?.organization_id !== pool.organization_id)
      .map((one) => one.allocation_id);
    if (pool.organization_id !== null && others.length > 0)
      throw conflict(REFUSALS.node_serves_others(pool.name, [...new Set(others)].toSorted().slice(0, 10)));
    assertVersion(node, if_match);
    Object.assign(node, { pool_name: pool.name, pool_organization_id: pool.organization_id });
    node.version += 1;
    return nodeView(ctx)(node);
  },
};
