/**
 * Capacity as counts, one row per region, GPU model and pool tenant. A reconciler counts the fleet; reads and refusals
 * use the rows, so their cost does not depend on the fleet size. The kinds are the scheduler's: each GPU is counted
 * once per shape, under its unavailable reason, its own state before its node's. A GPU without an approved slot is in
 * no slice. Each GPU is also in exactly one of four groups, which therefore add up to what was delivered: reserved,
 * free, unapproved, blocked.
 */
import { UNAVAILABLE_REASONS } from '@gpuaas/contract';
import type { UnavailableReason } from '@gpuaas/scheduler';
import type { ExpectedEntry } from '../domain/expected-capacity.ts';
import { DELIVERED_NODE_STATES } from '../domain/node-state.ts';
import type { Reader, Tx } from './client.ts';
import {
  runtimeIsValidated,
  skuIsOpen,
  slotUnavailableReason,
  takesLaunches,
  unapprovedDiskCount,
} from './predicates.ts';
import type { CapacityCounters, Regions, SkuCatalog } from './types.gen.ts';

/** Whether the fabric, the image or the quota forbids a free GPU depends on the request. */
const OF_REQUEST = ['fabric', 'boot_kind', 'quota'] as const;
export type CountedKind = Exclude<UnavailableReason, (typeof OF_REQUEST)[number]>;
const isCounted = (kind: UnavailableReason): kind is CountedKind => !OF_REQUEST.some((other) => other === kind);
const COUNTED_KINDS = UNAVAILABLE_REASONS.filter(isCounted);

export type ShapeCounts = Readonly<{
  gpus_total: number;
  /** GPUs that a launch of this shape could get now. */
  free_gpus: number;
  largest_set: number;
  /** Number of nodes that accept a launch of this many GPUs now. */
  nodes_that_fit: Readonly<Record<string, number>>;
  unavailable_gpus: Readonly<Record<CountedKind, number>>;
  /** A claim counts for the shape that made it. Missing in counts of an older version. */
  healthy_gpus?: number;
  reserved_gpus?: number;
  active_gpus?: number;
  /** Neither free, unapproved nor claimed by this shape. Missing in counts of an older version. */
  blocked_gpus?: number;
  /** The next GPUs with a known time. Missing in counts of an older version. */
  expected?: readonly ExpectedEntry[];
}>;

export type CapacityCounts = Readonly<{
  nodes: number;
  /** GPUs of nodes that were onboarded and not retired. */
  delivered_gpus: number;
  healthy_gpus: number;
  /** Claimed by allocations. */
  reserved_gpus: number;
  /** Allocated to active allocations. */
  active_gpus: number;
  /** Free GPUs of any shape. */
  free_gpus: number;
  /** Of no shape, because no slot or data disk is approved. Missing in counts of an older version. */
  unapproved_gpus?: number;
  /** The other GPUs. Missing in counts of an older version. */
  blocked_gpus?: number;
  largest_set: number;
  /** Nodes without claims or holds. */
  empty_nodes: number;
  gpu_slice: ShapeCounts;
  baremetal: ShapeCounts;
}>;

const DELIVERED = `(${DELIVERED_NODE_STATES.map((state) => `'${state}'`).join(', ')})`;

const KEY = 'region_name, gpu_model, pool_organization_id';

/** Whether the claim on a GPU is one of the shape: of the whole node for bare metal, of the slot for a slice. */
const OWN = "(whole is not null) = (shape = 'baremetal')";

/**
 * Slots by node and kind first, then sums over those few rows per node. `offset 0` keeps the kind from being computed
 * again for every count; `whole` is the kind of all GPUs of a node with a node claim. A node has at least the GPUs of
 * its slots; its GPUs without a slot wait for approval.
 */
const COUNT = `
with found as (
  select node_id, kind, count(*) as gpus, count(*) filter (where status = 'in_use') as in_use, count(*) filter (where health = 'ok') as ok
  from (select s.node_id, s.status, s.health, ${slotUnavailableReason('s')} as kind from node_resource_slots s where s.parent_slot_id is null offset 0) s
  group by node_id, kind),
slot as (
  select node_id, kind, sum(gpus) as gpus, sum(in_use) as in_use, sum(ok) as ok
  from (select node_id, kind, gpus, in_use, ok from found
    union all
    select n.id, 'unapproved', n.gpu_count - f.gpus, 0, n.gpu_count - f.gpus
    from nodes n join (select node_id, sum(gpus) as gpus from found group by 1) f on f.node_id = n.id where n.gpu_count > f.gpus) every
  group by 1, 2),
node as (
  select n.id, n.region_name, n.gpu_model, coalesce(p.organization_id, '') as pool_organization_id, n.gpu_count, n.is_held, n.capacity_mode,
    n.occupancy, ${takesLaunches('n')} and n.health = 'ok' as is_ready, n.state in ('active', 'draining') and n.health = 'ok' as is_healthy,
    case when not ${takesLaunches('n')} then 'not_ready' end as by_state,
    case when n.health <> 'ok' then 'unhealthy' end as by_health,
    case when not ${runtimeIsValidated('n')} then 'not_ready' end as by_runtime,
    case n.occupancy when 'exclusive' then 'claimed' when 'cleaning' then 'cleaning' when 'cleanup_blocked' then 'cleanup_blocked' end as whole,
    m.key_1, m.key_2, m.key_4, m.key_8, m.key_node, coalesce(m.free_count, 0) as free_count, coalesce(m.largest_set, 0) as largest_set,
    n.data_disks = '[]' as is_diskless,
    n.occupancy = 'free' and m.key_node is null and ${unapprovedDiskCount('n')} > 0 as has_unapproved_disks
  from nodes n join pools p on p.id = n.pool_id left join node_placement_summary m on m.node_id = n.id
  where n.host_role = 'worker_compute' and n.state in ${DELIVERED}),
shaped as (
  select node.*, shape.name as shape,
    coalesce(by_state, case when shape.name = 'gpu_slice' and is_held then 'held' end, by_health,
      case when shape.name = 'gpu_slice' then by_runtime when occupancy = 'sliced' or key_node is null then 'fragmented' end) as refused
  from node cross join (values ('gpu_slice', 'baremetal'), ('baremetal', 'slice')) shape (name, not_mode) where capacity_mode <> shape.not_mode),
cells as (
  select ${KEY}, shaped.id, shape, whole, slot.kind as slot_kind,
    coalesce(whole, slot.kind, case when slot.node_id is null and (shape = 'gpu_slice' or is_diskless and refused = 'fragmented')
        or shape = 'baremetal' and has_unapproved_disks and refused = 'fragmented' then 'unapproved' end, refused, 'free') as kind,
    coalesce(slot.gpus, gpu_count) as gpus, case when is_healthy then coalesce(slot.ok, gpu_count) else 0 end as healthy,
    coalesce(slot.in_use, case when occupancy = 'exclusive' then gpu_count else 0 end) as active
  from shaped left join slot on slot.node_id = shaped.id),
kinds as (
  select ${KEY}, shape, kind, sum(gpus) as gpus, sum(healthy) as healthy,
    sum(case when kind = 'claimed' and ${OWN} then gpus else 0 end) as reserved,
    sum(case when kind not in ('free', 'unapproved') and not (kind = 'claimed' and ${OWN}) then gpus else 0 end) as blocked,
    sum(case when ${OWN} then active else 0 end) as active
  from cells group by 1, 2, 3, 4, 5),
held as (
  select ${KEY}, shape, jsonb_object_agg(kind, gpus) as kinds,
    jsonb_build_object('healthy_gpus', sum(healthy), 'reserved_gpus', sum(reserved), 'active_gpus', sum(active), 'blocked_gpus', sum(blocked)) as sums
  from kinds group by 1, 2, 3, 4),
fits as (
  select ${KEY}, shape,
    coalesce(max(case shape when 'baremetal' then gpu_count else largest_set end) filter (where whole is null and refused is null), 0) as largest_set,
    case shape when 'gpu_slice' then jsonb_build_object('1', count(key_1), '2', count(key_2), '4', count(key_4), '8', count(key_8))
      else jsonb_build_object('1', 0, '2', 0, '4', 0, '8', count(key_node) filter (where gpu_count = 8)) end as nodes_that_fit
  from shaped group by 1, 2, 3, 4),
shapes as (
  select ${KEY}, jsonb_object_agg(shape, jsonb_build_object('kinds', kinds, 'sums', sums, 'largest_set', largest_set, 'nodes_that_fit', nodes_that_fit)) as shapes
  from held join fits using (${KEY}, shape) group by 1, 2, 3),
gpus as (
  select ${KEY}, sum(gpus) as delivered_gpus, sum(healthy) as healthy_gpus, sum(active) as active_gpus,
    coalesce(sum(gpus) filter (where use = 'reserved'), 0) as reserved_gpus, coalesce(sum(gpus) filter (where use = 'free'), 0) as free_gpus,
    coalesce(sum(gpus) filter (where use = 'unapproved'), 0) as unapproved_gpus, coalesce(sum(gpus) filter (where use = 'blocked'), 0) as blocked_gpus
  from (select ${KEY}, max(gpus) as gpus, max(healthy) as healthy, max(active) as active,
      case when bool_or(kind = 'claimed') then 'reserved' when bool_or(kind = 'free') then 'free'
        when bool_and(kind = 'unapproved') then 'unapproved' else 'blocked' end as use
    from cells group by 1, 2, 3, id, slot_kind) used group by 1, 2, 3),
nodes_of as (
  select ${KEY}, count(*) as nodes, coalesce(max(largest_set) filter (where is_ready and whole is null), 0) as largest_set,
    count(*) filter (where is_ready and occupancy = 'free' and (free_count = gpu_count or key_node is not null)) as empty_nodes
  from node group by 1, 2, 3)
select ${KEY}, nodes::integer, delivered_gpus::integer, healthy_gpus::integer, reserved_gpus::integer, active_gpus::integer, free_gpus::integer,
  unapproved_gpus::integer, blocked_gpus::integer, largest_set, empty_nodes::integer, shapes
from nodes_of join gpus using (${KEY}) join shapes using (${KEY})`;

type ShapeRow = Readonly<{
  kinds: Readonly<Partial<Record<CountedKind | 'free', number>>>;
  sums: Readonly<Record<'healthy_gpus' | 'reserved_gpus' | 'active_gpus' | 'blocked_gpus', number>>;
  largest_set: number;
  nodes_that_fit: ShapeCounts['nodes_that_fit'];
}>;
const NO_SHAPE: ShapeRow = {
  kinds: {},
  sums: { healthy_gpus: 0, reserved_gpus: 0, active_gpus: 0, blocked_gpus: 0 },
  largest_set: 0,
  nodes_that_fit: { '1': 0, '2': 0, '4': 0, '8': 0 },
};

const shapeOf = ({ kinds, sums, largest_set, nodes_that_fit }: ShapeRow): ShapeCounts => ({
  ...sums,
  gpus_total: Object.values(kinds).reduce((sum, gpus) => sum + gpus, 0),
  free_gpus: kinds.free ?? 0,
  largest_set,
  nodes_that_fit,
  unavailable_gpus: Object.fromEntries(
    COUNTED_KINDS.map((kind) => [kind, kinds[kind] ?? 0]),
  ) as ShapeCounts['unavailable_gpus'],
});

export type CapacityKey = Readonly<{ region_name: string; gpu_model: string; pool_organization_id: string }>;

type CountRow = CapacityKey &
  Omit<CapacityCounts, 'gpu_slice' | 'baremetal'> &
  Readonly<{ shapes: Partial<Record<'gpu_slice' | 'baremetal', ShapeRow>> }>;

/** Counts the fleet now. It reads every slot: for the reconciler, never for a request. */
export const countFleet = async (reader: Reader): Promise<(CapacityKey & Readonly<{ counts: CapacityCounts }>)[]> => {
  const { rows } = await reader.query<CountRow>(COUNT);
  return rows.map(({ region_name, gpu_model, pool_organization_id, shapes, ...counts }) => ({
    region_name,
    gpu_model,
    pool_organization_id,
    counts: {
      ...counts,
      gpu_slice: shapeOf(shapes.gpu_slice ?? NO_SHAPE),
      baremetal: shapeOf(shapes.baremetal ?? NO_SHAPE),
    },
  }));
};

/** Changes when an input of the counts has changed: cheap compared with counting. */
export const readFleetMark = async (reader: Reader): Promise<string> => {
  const { rows } = await reader.query<{ mark: string }>(
    `select concat_ws('/', count(*), max(updated_at), sum(free_mask), sum(free_count), sum(hashtext(occupancy)), count(key_node), count(key_1)) as mark
     from node_placement_summary`,
  );
  return rows[0]?.mark ?? '';
};

/** Replaces all rows; those of deleted pools, regions or models are removed. */
export const replaceCounters = async (
  tx: Tx,
  rows: readonly (CapacityKey & Readonly<{ counts: CapacityCounts }>)[],
): Promise<void> => {
  await tx.query(
    `with given as (select * from jsonb_to_recordset($1) as g (region_name text, gpu_model text, pool_organization_id text, counts jsonb)),
     gone as (delete from capacity_counters c where not exists (select from given g where (g.region_name, g.gpu_model, g.pool_organization_id)
       = (c.region_name, c.gpu_model, c.pool_organization_id)))
     insert into capacity_counters (region_name, gpu_model, pool_organization_id, counts, counted_at)
     select region_name, gpu_model, pool_organization_id, counts, clock_timestamp() from given
     on conflict (region_name, gpu_model, pool_organization_id) do update set counts = excluded.counts, counted_at = excluded.counted_at`,
    [JSON.stringify(rows)],
  );
};

export type OfferRow = Readonly<
  Pick<SkuCatalog, 'capacity_shape' | 'allowed_gpu_counts'> & {
    region_name: Regions['name'];
    sku_name: SkuCatalog['name'];
    is_enabled: boolean;
    /** Of the shared pools and the tenant's own. */
    pools: CapacityCounts[];
    counted_at: CapacityCounters['counted_at'];
    /** By the database's clock. */
    read_at: string;
  }
>;

type PageKey = readonly [string, string];

/** Every region and SKU with the counters that the tenant may see. */
export const listOffers = async (
  reader: Reader,
  page: Readonly<{ organization_id: string; after: PageKey | null; limit: number }>,
): Promise<OfferRow[]> =>
  (
    await reader.query<OfferRow>(
      `select r.name as region_name, k.name as sku_name, k.capacity_shape, k.allowed_gpu_counts, r.enabled and ${skuIsOpen('k')} as is_enabled,
         coalesce(c.pools, '[]') as pools,
         coalesce(c.counted_at, (select max(counted_at) from capacity_counters), clock_timestamp()) as counted_at, statement_timestamp() as read_at
       from regions r cross join sku_catalog k left join lateral (
         select jsonb_agg(x.counts) as pools, min(x.counted_at) as counted_at from capacity_counters x
         where x.region_name = r.name and x.gpu_model = k.gpu_model and x.pool_organization_id in ('', $1)) c on true
       where r.retired_at is null and k.retired_at is null and ($2::text is null or (r.name, k.name) > ($2, $3)) order by r.name, k.name limit $4`,
      [page.organization_id, page.after?.[0] ?? null, page.after?.[1] ?? null, page.limit],
    )
  ).rows;

/** The counters of the pools that serve the tenant in one region; `read_at` by the database's clock. */
export const listPoolCounts = async (
  reader: Reader,
  query: Readonly<{ region_name: string; gpu_model: string; organization_id: string }>,
): Promise<Readonly<{ pools: CapacityCounts[]; read_at: string | null }>> => {
  const { rows } = await reader.query<{ counts: CapacityCounts; read_at: string }>(
    `select counts, statement_timestamp() as read_at from capacity_counters
     where region_name = $1 and gpu_model = $2 and pool_organization_id in ('', $3)`,
    [query.region_name, query.gpu_model, query.organization_id],
  );
  return { pools: rows.map(({ counts }) => counts), read_at: rows[0]?.read_at ?? null };
};

export type FleetSku = Readonly<{
  sku_name: string;
  capacity_shape: 'baremetal' | 'gpu_slice';
  allowed_gpu_counts: number[];
  is_enabled: boolean;
}>;

export type FleetRow = Readonly<{
  region_name: string;
  gpu_model: string;
  pools: CapacityCounts[];
  skus: FleetSku[];
  counted_at: string;
}>;

/** Every region and GPU model with the counters of all its pools and its SKUs. */
export const listFleet = async (
  reader: Reader,
  page: Readonly<{ after: PageKey | null; limit: number }>,
): Promise<FleetRow[]> =>
  (
    await reader.query<FleetRow>(
      `select c.region_name, c.gpu_model, jsonb_agg(c.counts) as pools, min(c.counted_at) as counted_at,
         (select coalesce(jsonb_agg(jsonb_build_object('sku_name', k.name, 'capacity_shape', k.capacity_shape, 'allowed_gpu_counts', k.allowed_gpu_counts,
           'is_enabled', r.enabled and ${skuIsOpen('k')}) order by k.name), '[]')
          from sku_catalog k join regions r on r.name = c.region_name where k.gpu_model = c.gpu_model and k.retired_at is null) as skus
       from capacity_counters c where $1::text is null or (c.region_name, c.gpu_model) > ($1, $2) group by 1, 2 order by 1, 2 limit $3`,
      [page.after?.[0] ?? null, page.after?.[1] ?? null, page.limit],
    )
  ).rows;

/** Sliced nodes closest to being empty: those that a drain could free soonest. */
export const listDrainCandidates = async (
  reader: Reader,
  of: Readonly<{ region_name: string; gpu_model: string; limit: number }>,
): Promise<string[]> =>
  (
    await reader.query<{ node_id: string }>(
      `select node_id from node_placement_summary where region_name = $1 and gpu_model = $2 and occupancy = 'sliced'
       order by free_count desc, node_id limit $3`,
      [of.region_name, of.gpu_model, of.limit],
    )
  ).rows.map((row) => row.node_id);
