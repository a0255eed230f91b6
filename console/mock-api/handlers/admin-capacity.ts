/** Capacity for operators: what was delivered and what it does, now and over time. */
import { fragmentation, fragmentationLine } from '@gpuaas/scheduler';
import { DELIVERED_NODE_STATES } from '../../../server/src/domain/node-state.ts';
import type { MockCtx, Req } from '../core/context.ts';
import { pageOf } from '../core/page.ts';
import { digestOf } from '../core/random.ts';
import type { Node, Sku, Slot } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { launchable, slotsOf, snapshotOf } from '../simulation/placement.ts';

const DAY_MS = 86_400_000;
const SAMPLES_MAX = 288;
const DELIVERED: readonly Node['state'][] = DELIVERED_NODE_STATES;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

type Shape = Sku['capacity_shape'];

const countsOf = (world: World, nodes: readonly Node[], shape?: Shape) => {
  const isWhole = (node: Node) => world.exclusive.has(node.id);
  const slots = (node: Node, is: (slot: Slot) => boolean) => slotsOf(world, node.id).filter(is).length;
  const isHealthy = (node: Node) => (node.state === 'active' || node.state === 'draining') && node.health === 'ok';
  /** Nodes whose claims are ones of the shape. */
  const own = nodes.filter((node) => shape === undefined || isWhole(node) === (shape === 'baremetal'));
  return {
    delivered_gpus: sum(nodes.map((node) => node.gpu_count)),
    healthy_gpus: sum(
      nodes.filter(isHealthy).map((node) => node.gpu_count - slots(node, (one) => one.health !== 'ok')),
    ),
    reserved_gpus: sum(
      own.map((node) =>
        isWhole(node) ? node.gpu_count : slots(node, ({ status }) => status === 'reserved' || status === 'in_use'),
      ),
    ),
    active_gpus: sum(own.map((node) => slots(node, (one) => one.status === 'in_use'))),
    unapproved_gpus: sum(
      nodes
        .filter((node) => !isWhole(node))
        .map(
          (node) =>
            Math.max(0, node.gpu_count - slotsOf(world, node.id).length) +
            slots(node, ({ status, approval }) => status === 'available' && approval === 'disabled'),
        ),
    ),
  };
};

type Counts = ReturnType<typeof countsOf>;

const withFree = (counts: Counts, free_gpus: number) => ({
  ...counts,
  free_gpus,
  blocked_gpus: Math.max(0, counts.delivered_gpus - counts.reserved_gpus - free_gpus - counts.unapproved_gpus),
});

const fleetView = (world: World, region_name: string, gpu_model: string) => {
  const nodes = [...world.nodes.values()].filter(
    (node) =>
      node.region_name === region_name &&
      node.gpu_model === gpu_model &&
      node.host_role === 'worker_compute' &&
      DELIVERED.includes(node.state),
  );
  const snapshot = snapshotOf(world, (node) => nodes.includes(node));
  const line = fragmentation(snapshot.nodes);
  const skus = world.skus
    .filter((sku) => sku.gpu_model === gpu_model && sku.retired_at === null)
    .map((sku) => {
      const other = sku.capacity_shape === 'gpu_slice' ? 'baremetal' : 'slice';
      const own = nodes.filter((node) => node.capacity_mode !== other);
      const { name: sku_name, capacity_shape } = sku;
      const { free_gpus, largest_set } = launchable(snapshot, sku, region_name);
      return { sku_name, capacity_shape, ...withFree(countsOf(world, own, capacity_shape), free_gpus), largest_set };
    });
  return {
    region_name,
    gpu_model,
    nodes: nodes.length,
    ...withFree(countsOf(world, nodes), line.free_gpus),
    largest_set: line.largest_set,
    empty_nodes: line.whole_nodes,
    skus,
    fragmentation: fragmentationLine(line),
    counted_at: world.ago(),
  };
};

const fleetsOf = (world: World): readonly string[] => [
  ...new Set([...world.nodes.values()].map((node) => `${node.region_name}\n${node.gpu_model}`)),
];

/** A history that ends at the current values: it grows in steps and follows the working day. */
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
  adminSchedulerSnapshot: async ({ world }: MockCtx, { query }: Req<'adminSchedulerSnapshot'>) => {
    const limit = query.limit ?? 1_000;
    const seen = snapshotOf(world, (node) => query.region_name === undefined || node.region_name === query.region_name);
    const is_whole_fleet = seen.nodes.length <= limit;
    return { ...seen, nodes: seen.nodes.slice(0, limit), taken_at: world.ago(), is_whole_fleet };
  },
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
