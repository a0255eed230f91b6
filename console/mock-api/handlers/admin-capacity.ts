/** Capacity as operators see it: what was delivered, what of it is healthy, reserved, active and free, now and over time. */
import type { MockCtx, Req } from '../core/context.ts';
import { pageOf } from '../core/page.ts';
import { digestOf } from '../core/random.ts';
import type { Node, Sku } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { freeSlots, isOpen, largestSet, liveNodeClaim, PARTITIONS, slotHold, slotsOf } from '../life/placement.ts';
import { occupancyOf } from '../life/slots.ts';
import { freeOf } from '../views/node.ts';

const DAY_MS = 86_400_000;
const SAMPLES_MAX = 288;
const NOT_DELIVERED: readonly Node['state'][] = ['bootstrap_issued', 'enrolling', 'retired', 'removing', 'deleted'];

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const countsOf = (world: World, nodes: readonly Node[], freeOfNode: (node: Node) => number) => {
  const delivered = nodes.filter((node) => !NOT_DELIVERED.includes(node.state));
  const healthy = delivered.filter((node) => node.health === 'ok');
  const isHeld = (node: Node) => node.is_held || liveNodeClaim(world, node.id);
  const reserved = (node: Node) =>
    isHeld(node) ? node.gpu_count : slotsOf(world, node.id).filter((slot) => slot.allocation_id !== null).length;
  const active = (node: Node) => slotsOf(world, node.id).filter((slot) => slot.status === 'in_use').length;
  return {
    delivered_gpus: sum(delivered.map((node) => node.gpu_count)),
    healthy_gpus: sum(
      healthy.map((node) => node.gpu_count - slotsOf(world, node.id).filter((slot) => slot.health !== 'ok').length),
    ),
    reserved_gpus: sum(delivered.map(reserved)),
    active_gpus: sum(delivered.map(active)),
    free_gpus: sum(delivered.map(freeOfNode)),
  };
};

const skuCounts = (world: World, nodes: readonly Node[], sku: Sku) => {
  const other = sku.capacity_shape === 'gpu_slice' ? 'baremetal' : 'slice';
  const own = nodes.filter((node) => node.capacity_mode !== other);
  const free = (node: Node) => freeSlots(world, node, sku.capacity_shape);
  return {
    sku_name: sku.name,
    capacity_shape: sku.capacity_shape,
    ...countsOf(world, own, (node) => free(node).length),
    largest_set: Math.max(0, ...own.map((node) => largestSet(free(node)))),
  };
};

/** Which node would be whole again with the fewest GPUs moved. */
const fragmentationOf = (world: World, nodes: readonly Node[], free: number, largest: number): string => {
  const drain = nodes
    .filter((node) => isOpen(node) && node.capacity_mode !== 'baremetal' && occupancyOf(world, node) === 'sliced')
    .map((node) => ({ node, holds: slotsOf(world, node.id).map(slotHold) }))
    .filter(({ holds }) => holds.every((hold) => hold === null || hold === 'claimed' || hold === 'cleaning'))
    .map(({ node, holds }) => ({ node, moves: holds.filter((hold) => hold === 'claimed').length }))
    .filter(({ moves }) => moves > 0)
    .sort((a, b) => a.moves - b.moves)[0];
  const line = `free ${free}, largest set ${largest}`;
  return drain === undefined
    ? line
    : `${line}; draining ${drain.node.id} would free a whole node (${drain.moves} to move)`;
};

const fleetView = (world: World, regionName: string, gpuModel: string) => {
  const nodes = [...world.nodes.values()].filter(
    (node) => node.region_name === regionName && node.gpu_model === gpuModel && node.state !== 'deleted',
  );
  const counts = countsOf(world, nodes, (node) => freeOf(world, node).length);
  const largest_set = Math.max(0, ...nodes.map((node) => largestSet(freeOf(world, node))));
  return {
    region_name: regionName,
    gpu_model: gpuModel,
    nodes: nodes.length,
    ...counts,
    largest_set,
    empty_nodes: nodes.filter((node) => freeOf(world, node).length === node.gpu_count).length,
    skus: world.skus.map((sku) => skuCounts(world, nodes, sku)),
    fragmentation: fragmentationOf(world, nodes, counts.free_gpus, largest_set),
    counted_at: world.ago(),
  };
};

const fleetsOf = (world: World): readonly string[] => [
  ...new Set([...world.nodes.values()].map((node) => `${node.region_name}\n${node.gpu_model}`)),
];

/** A past that ends in the present: it grows in steps, and follows the working day. */
const sampleAt = (now: ReturnType<typeof fleetView>, atMs: number, nowMs: number) => {
  const age = (nowMs - atMs) / DAY_MS;
  const share = Math.max(0.4, 1 - Math.floor(age / 6) * 0.1);
  const noise = Number.parseInt(digestOf(String(Math.floor(atMs / 3_600_000)), 2), 16) / 255;
  const isNow = age < 0.01;
  const busy = 0.75 + 0.2 * Math.sin((atMs / DAY_MS) * 2 * Math.PI) * 0.5 + 0.1 * noise;
  const scaled = (value: number, by: number) => (isNow ? value : Math.round(value * by));
  const delivered_gpus = scaled(now.delivered_gpus, share);
  const healthy_gpus = Math.min(delivered_gpus, scaled(now.healthy_gpus, share));
  const active_gpus = Math.min(healthy_gpus, scaled(now.active_gpus, share * busy));
  const reserved_gpus = Math.min(delivered_gpus, Math.max(active_gpus, scaled(now.reserved_gpus, share * busy)));
  return {
    sampled_at: new Date(atMs).toISOString(),
    region_name: now.region_name,
    gpu_model: now.gpu_model,
    delivered_gpus,
    healthy_gpus,
    reserved_gpus,
    active_gpus,
    free_gpus: isNow ? now.free_gpus : Math.max(0, healthy_gpus - reserved_gpus),
  };
};

export const adminCapacity = {
  adminCapacityList: async (ctx: MockCtx, { query }: Req<'adminCapacityList'>) =>
    pageOf(
      ctx,
      query,
      fleetsOf(ctx.world),
      (key) => key,
      (key) => {
        const [region = '', model = ''] = key.split('\n');
        return fleetView(ctx.world, region, model);
      },
    ),
  adminCapacityHistoryList: async ({ world }: MockCtx, { query }: Req<'adminCapacityHistoryList'>) => {
    const nowMs = world.now();
    const since = query.since === undefined ? nowMs - DAY_MS : Math.max(Date.parse(query.since), nowMs - 30 * DAY_MS);
    const step = Math.max(300_000, Math.ceil((nowMs - since) / SAMPLES_MAX / 300_000) * 300_000);
    const fleets = fleetsOf(world)
      .map((key) => key.split('\n'))
      .filter(([region]) => query.region_name === undefined || region === query.region_name)
      .filter(([, model]) => query.gpu_model === undefined || model === query.gpu_model)
      .map(([region = '', model = '']) => fleetView(world, region, model));
    const times: number[] = [];
    for (let at = nowMs; at >= since; at -= step) times.unshift(at);
    return { items: times.flatMap((at) => fleets.map((fleet) => sampleAt(fleet, at, nowMs))) };
  },
  adminSchedulerSnapshot: async ({ world }: MockCtx, { query }: Req<'adminSchedulerSnapshot'>) => ({
    snapshot_version: 1,
    regions: world.regions.map(({ name, enabled }) => ({ name, enabled })),
    skus: world.skus.map((sku) => ({
      name: sku.name,
      shape: sku.capacity_shape,
      enabled: sku.enabled,
      allowed_gpu_counts: sku.allowed_gpu_counts,
      gpus_per_node: sku.gpus_per_node,
    })),
    nodes: [...world.nodes.values()]
      .filter((node) => query.region_name === undefined || node.region_name === query.region_name)
      .slice(0, query.limit ?? 1000)
      .map((node) => ({
        id: node.id,
        region: node.region_name,
        state: node.state,
        capacity_mode: node.capacity_mode,
        occupancy: occupancyOf(world, node),
        health: node.health,
        slots: slotsOf(world, node.id).map(({ id, slot_index, approval, status, health, module_id, numa_node }) => ({
          ...{ id, slot_index, approval, status, health, module_id, numa_node },
        })),
        partitions: PARTITIONS.map(({ partition_id, module_ids }) => ({ id: String(partition_id), module_ids })),
      })),
  }),
  adminInvariantCheck: async ({ world }: MockCtx) => {
    const live = world.claims.filter((claim) => claim.released_at === null && claim.slot_id !== null);
    const bySlot = Map.groupBy(live, (claim) => claim.slot_id ?? '');
    const violations = [...bySlot]
      .filter(([, claims]) => claims.length > 1)
      .map(([slot, claims]) => ({
        invariant: 'one_live_claim_per_slot',
        subject_id: slot,
        detail: `${claims.length} live claims`,
      }));
    return { is_clean: violations.length === 0, checked_at: world.ago(), violations, checks: 1 };
  },
};
