/**
 * Capacity for tenants and operators: from counters of a reconciler, so the cost does not depend on the fleet size and
 * the result is a few seconds old. It guarantees nothing; only a launch does.
 */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { fragmentation, fragmentationLine } from '@gpuaas/scheduler';
import type { ReadCtx } from '../context.ts';
import * as db from '../db/capacity.ts';
import type { Reader } from '../db/client.ts';
import { loadSchedulerNode } from '../db/placement.ts';
import { nextExpected } from '../domain/expected-capacity.ts';
import { organizationOf } from '../pipeline/caller.ts';
import { decodeCursor, type Key, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const pairOf = (key: Key | undefined): readonly [string, string] | null =>
  key === undefined ? null : [String(key[0]), String(key[1])];

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

type OfferShape = Pick<db.OfferRow, 'allowed_gpu_counts' | 'capacity_shape' | 'is_enabled'>;

/** The largest count of the SKU that some node accepts. Counts beyond the index use the largest free set. */
const largestLaunch = (row: OfferShape, shapes: readonly db.ShapeCounts[]): number => {
  const largest = Math.max(0, ...shapes.map((shape) => shape.largest_set));
  const fits = (count: number): boolean =>
    shapes.some((shape) => (shape.nodes_that_fit[count] ?? (count <= largest ? 1 : 0)) > 0);
  return Math.max(0, ...row.allowed_gpu_counts.filter(fits));
};

/** Free GPUs that form no set of the SKU cannot be launched. */
const launchable = (sku: OfferShape, pools: readonly db.CapacityCounts[]) => {
  const shapes = sku.is_enabled ? pools.map((pool) => pool[sku.capacity_shape]) : [];
  const largest_set = largestLaunch(sku, shapes);
  return { free_gpus: largest_set === 0 ? 0 : sum(shapes.map((shape) => shape.free_gpus)), largest_set };
};

/** Counts that the SKU does not allow are no use to a launch. */
const expectedOf = ({ is_enabled, pools, capacity_shape, allowed_gpu_counts, read_at }: db.OfferRow) =>
  is_enabled
    ? nextExpected(
        pools.map((pool) => pool[capacity_shape].expected ?? []),
        Math.min(...allowed_gpu_counts),
        read_at,
      )
    : null;

const offerView = (row: db.OfferRow) => {
  const { free_gpus, largest_set } = launchable(row, row.pools);
  return {
    region_name: row.region_name,
    sku_name: row.sku_name,
    capacity_shape: row.capacity_shape,
    available_gpus: free_gpus,
    largest_set,
    expected: expectedOf(row),
    counted_at: row.counted_at,
  };
};

export const list = async (ctx: ReadCtx, { query }: Req<'capacityList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const after = pairOf(decodeCursor(ctx, query.cursor, 2));
  const rows = await ctx.read((reader) =>
    db.listOffers(reader, { organization_id: organizationOf(ctx), after, limit: limit + 1 }),
  );
  return pageOf(ctx, limit, rows, (row) => [row.region_name, row.sku_name], offerView);
};

/** Examined for the node that a drain would free soonest. */
const DRAIN_CANDIDATES = 8;

const skuView = (pools: readonly db.CapacityCounts[]) => (sku: db.FleetSku) => {
  const total = (of: (shape: db.ShapeCounts) => number | undefined): number =>
    sum(pools.map((pool) => of(pool[sku.capacity_shape]) ?? 0));
  const open = launchable(sku, pools);
  /** Free on its node, but no launch of the SKU gets it: the SKU is disabled, or no set fits. */
  const withheld = total((shape) => shape.free_gpus) - open.free_gpus;
  return {
    sku_name: sku.sku_name,
    capacity_shape: sku.capacity_shape,
    delivered_gpus: total((shape) => shape.gpus_total),
    healthy_gpus: total((shape) => shape.healthy_gpus),
    reserved_gpus: total((shape) => shape.reserved_gpus),
    active_gpus: total((shape) => shape.active_gpus),
    unapproved_gpus: total((shape) => shape.unavailable_gpus.unapproved),
    blocked_gpus: total((shape) => shape.blocked_gpus) + withheld,
    ...open,
  };
};

const fleetView = async (reader: Reader, row: db.FleetRow) => {
  const total = (of: (counts: db.CapacityCounts) => number): number => sum(row.pools.map(of));
  const free_gpus = total((counts) => counts.free_gpus);
  const largest_set = Math.max(0, ...row.pools.map((counts) => counts.largest_set));
  const ids = await db.listDrainCandidates(reader, { ...row, limit: DRAIN_CANDIDATES });
  const nodes = await Promise.all(ids.map((id) => loadSchedulerNode(reader, id)));
  const sliced = fragmentation(nodes.flatMap((found) => (found === undefined ? [] : [found.node])));
  return {
    region_name: row.region_name,
    gpu_model: row.gpu_model,
    nodes: total((counts) => counts.nodes),
    delivered_gpus: total((counts) => counts.delivered_gpus),
    healthy_gpus: total((counts) => counts.healthy_gpus),
    reserved_gpus: total((counts) => counts.reserved_gpus),
    active_gpus: total((counts) => counts.active_gpus),
    free_gpus,
    unapproved_gpus: total((counts) => counts.unapproved_gpus ?? 0),
    blocked_gpus: total((counts) => counts.blocked_gpus ?? 0),
    largest_set,
    empty_nodes: total((counts) => counts.empty_nodes),
    skus: row.skus.map(skuView(row.pools)),
    fragmentation: fragmentationLine({ ...sliced, free_gpus, largest_set }),
    counted_at: row.counted_at,
  };
};

export const fleetList = (ctx: ReadCtx, { query }: Req<'adminCapacityList'>) =>
  ctx.read(async (reader) => {
    const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
    const after = pairOf(decodeCursor(ctx, query.cursor, 2));
    const rows = await db.listFleet(reader, { after, limit: limit + 1 });
    const page = pageOf(
      ctx,
      limit,
      rows,
      (row) => [row.region_name, row.gpu_model],
      (row) => row,
    );
    return { ...page, items: await Promise.all(page.items.map((row) => fleetView(reader, row))) };
  });
