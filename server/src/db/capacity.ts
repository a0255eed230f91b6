/**
 * Capacity as counts, one row per region, GPU model and pool tenant. A reconciler counts the fleet; reads and refusals
 * take the rows as they are, so that they cost the same whatever the fleet. The kinds are the scheduler's: each GPU is
 * counted once per shape, under the thing that keeps it from a launch, its own state before its node's.
 */
import type { Reader, Tx } from './client.ts';

const SLOT_KINDS = [
  'claimed',
  'cleaning',
  'cleanup_blocked',
  'quarantined',
  'unapproved',
  'drift',
  'unhealthy',
  'incomplete',
] as const;
export const COUNTED_KINDS = [...SLOT_KINDS, 'not_ready', 'held', 'fragmented'] as const;
export type CountedKind = (typeof COUNTED_KINDS)[number];

export type ShapeCounts = Readonly<{
  gpus_total: number;
  /** GPUs that a launch of this shape could get now. */
  free_gpus: number;
  largest_set: number;
  /** How many nodes take a launch of this many GPUs now. */
  nodes_that_fit: Readonly<Record<string, number>>;
  held_by: Readonly<Record<CountedKind, number>>;
}>;

export type CapacityCounts = Readonly<{
  nodes: number;
  /** GPUs of nodes that were handed over and not taken out again. */
  delivered_gpus: number;
  healthy_gpus: number;
  /** Claimed, or kept for bare metal by an operator. */
  reserved_gpus: number;
  /** Given to allocations that run. */
  active_gpus: number;
  /** Free GPUs whatever the shape that may have them. */
  free_gpus: number;
  largest_set: number;
  /** Nodes that nothing holds any part of. */
  empty_nodes: number;
  gpu_slice: ShapeCounts;
  baremetal: ShapeCounts;
}>;

const IS_COMPLETE = `(s.gpu_pci_address is not null and s.nvme_serial is not null and s.nvme_device is not null and s.mac_address is not null
  and s.private_ip is not null and s.fabric_vf_pci_address is not null and s.fabric_claim_mode = 'per_slot_vf')`;

/** The slot's own hold; null when it is free. */
const SLOT_KIND = `case when s.status in ('reserved', 'in_use') then 'claimed' when s.status <> 'available' then s.status
  when s.approval = 'disabled' then 'unapproved' when s.approval <> 'approved' then 'drift' when s.health <> 'ok' then 'unhealthy'
  when not ${IS_COMPLETE} then 'incomplete' end`;

/** Node states that are capacity at all. */
const DELIVERED = "('active', 'offline', 'quarantined', 'draining')";

const heldSum = (kind: string, isSlotKind: boolean): string =>
  `'${kind}', sum(case when whole = '${kind}' then total when whole is not null then 0
     else ${isSlotKind ? `"${kind}" + ` : ''}case when refused = '${kind}' then free else 0 end end)`;

const held = COUNTED_KINDS.map((kind) => heldSum(kind, (SLOT_KINDS as readonly string[]).includes(kind))).join(', ');

const SHAPE = `jsonb_build_object('gpus_total', sum(total), 'free_gpus', sum(case when whole is null and refused is null then free else 0 end),
  'largest_set', coalesce(max(largest) filter (where whole is null and refused is null), 0),
  'nodes_that_fit', jsonb_build_object('1', count(fit_1), '2', count(fit_2), '4', count(fit_4), '8', count(fit_8)),
  'held_by', jsonb_build_object(${held}))`;

const COUNT = `
with slot as (
  select s.node_id, count(*) as total, count(*) filter (where s.status = 'in_use') as in_use,
    count(*) filter (where s.health = 'ok') as ok, count(*) filter (where k.kind is null) as free,
    ${SLOT_KINDS.map((kind) => `count(*) filter (where k.kind = '${kind}') as "${kind}"`).join(', ')}
  from node_resource_slots s cross join lateral (select ${SLOT_KIND} as kind) k
  where s.parent_slot_id is null group by s.node_id),
node as (
  select n.region_name, n.gpu_model, coalesce(p.organization_id, '') as pool_organization_id, n.gpu_count, n.state, n.health, n.is_held,
    n.occupancy, n.capacity_mode, m.key_1, m.key_2, m.key_4, m.key_8, m.key_node, coalesce(m.largest_set, 0) as largest_set,
    n.is_runtime_passed and n.runtime_checked_at is not null and (n.booted_at is null or n.runtime_checked_at > n.booted_at) as is_validated,
    case n.occupancy when 'exclusive' then 'claimed' when 'cleaning' then 'cleaning' when 'cleanup_blocked' then 'cleanup_blocked' end as whole,
    coalesce(s.total, n.gpu_count) as total, coalesce(s.free, n.gpu_count) as free, coalesce(s.ok, n.gpu_count) as ok, s.in_use,
    ${SLOT_KINDS.map((kind) => `coalesce(s."${kind}", 0) as "${kind}"`).join(', ')}
  from nodes n join pools p on p.id = n.pool_id left join slot s on s.node_id = n.id left join node_placement_summary m on m.node_id = n.id
  where n.host_role = 'worker_compute' and n.state in ${DELIVERED}),
shaped as (
  select node.*, shape.name as shape,
    case when node.state = 'quarantined' then 'quarantined' when node.state <> 'active' then 'not_ready'
      when shape.name = 'gpu_slice' and node.is_held then 'held' when node.health <> 'ok' then 'unhealthy'
      when shape.name = 'gpu_slice' and not node.is_validated then 'not_ready'
      when shape.name = 'baremetal' and (node.occupancy = 'sliced' or node.key_node is null) then 'fragmented' end as refused,
    case shape.name when 'baremetal' then node.free else node.largest_set end as largest,
    case when shape.name = 'gpu_slice' then key_1 end as fit_1, case when shape.name = 'gpu_slice' then key_2 end as fit_2,
    case when shape.name = 'gpu_slice' then key_4 end as fit_4,
    case when shape.name = 'gpu_slice' then key_8 when node.gpu_count = 8 then key_node end as fit_8
  from node cross join (values ('gpu_slice', 'baremetal'), ('baremetal', 'slice')) shape (name, not_mode)
  where node.capacity_mode <> shape.not_mode),
by_shape as (
  select region_name, gpu_model, pool_organization_id, shape, ${SHAPE} as counts from shaped group by 1, 2, 3, 4),
by_node as (
  select region_name, gpu_model, pool_organization_id, jsonb_build_object('nodes', count(*), 'delivered_gpus', sum(gpu_count),
    'healthy_gpus', sum(case when state in ('active', 'draining') and health = 'ok' then least(ok, gpu_count) else 0 end),
    'reserved_gpus', sum(case when whole is not null or is_held then gpu_count else "claimed" end),
    'active_gpus', sum(coalesce(in_use, case when occupancy = 'exclusive' then gpu_count else 0 end)),
    'free_gpus', sum(case when state = 'active' and health = 'ok' and whole is null then free else 0 end),
    'largest_set', coalesce(max(largest_set) filter (where state = 'active' and health = 'ok' and whole is null), 0),
    'empty_nodes', count(*) filter (where state = 'active' and health = 'ok' and occupancy = 'free' and free = total)) as counts
  from node group by 1, 2, 3)
select n.region_name, n.gpu_model, n.pool_organization_id,
  n.counts || jsonb_object_agg(shape.name, s.counts) as counts
from by_node n cross join (values ('gpu_slice'), ('baremetal')) shape (name)
left join by_shape s on s.region_name = n.region_name and s.gpu_model = n.gpu_model and s.pool_organization_id = n.pool_organization_id
  and s.shape = shape.name
group by n.region_name, n.gpu_model, n.pool_organization_id, n.counts`;

const NO_SHAPE: ShapeCounts = {
  gpus_total: 0,
  free_gpus: 0,
  largest_set: 0,
  nodes_that_fit: { '1': 0, '2': 0, '4': 0, '8': 0 },
  held_by: Object.fromEntries(COUNTED_KINDS.map((kind) => [kind, 0])) as Record<CountedKind, number>,
};

export type CapacityKey = Readonly<{ region_name: string; gpu_model: string; pool_organization_id: string }>;

/** The fleet, counted now. Reads every slot: for the reconciler, never for a request. */
export const countFleet = async (reader: Reader): Promise<(CapacityKey & Readonly<{ counts: CapacityCounts }>)[]> => {
  const { rows } = await reader.query<
    CapacityKey & {
      counts: Omit<CapacityCounts, 'gpu_slice' | 'baremetal'> & Record<'gpu_slice' | 'baremetal', ShapeCounts | null>;
    }
  >(COUNT);
  return rows.map(({ counts, ...key }) => ({
    ...key,
    counts: { ...counts, gpu_slice: counts.gpu_slice ?? NO_SHAPE, baremetal: counts.baremetal ?? NO_SHAPE },
  }));
};

/** Changes when something that the counts depend on has changed: cheap beside counting. */
export const readFleetMark = async (reader: Reader): Promise<string> => {
  const { rows } = await reader.query<{ mark: string }>(
    `select concat_ws('/', count(*), max(updated_at), sum(free_mask), sum(free_count), sum(hashtext(occupancy)), count(key_node), count(key_1)) as mark
     from node_placement_summary`,
  );
  return rows[0]?.mark ?? '';
};

/** All rows anew; those of pools, regions or models that are gone go. */
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

export type OfferRow = Readonly<{
  region_name: string;
  sku_name: string;
  capacity_shape: 'baremetal' | 'gpu_slice';
  allowed_gpu_counts: number[];
  is_enabled: boolean;
  /** Of the shared pools and the tenant's own. */
  pools: CapacityCounts[];
  counted_at: string;
}>;

type PageKey = readonly [string, string];

/** Every region and SKU with the counters that the tenant may see. */
export const listOffers = async (
  reader: Reader,
  page: Readonly<{ organization_id: string; after: PageKey | null; limit: number }>,
): Promise<OfferRow[]> =>
  (
    await reader.query<OfferRow>(
      `select r.name as region_name, k.name as sku_name, k.capacity_shape, k.allowed_gpu_counts, r.enabled and k.enabled as is_enabled,
         coalesce(c.pools, '[]') as pools,
         coalesce(c.counted_at, (select max(counted_at) from capacity_counters), clock_timestamp()) as counted_at
       from regions r cross join sku_catalog k left join lateral (
         select jsonb_agg(x.counts) as pools, min(x.counted_at) as counted_at from capacity_counters x
         where x.region_name = r.name and x.gpu_model = k.gpu_model and x.pool_organization_id in ('', $1)) c on true
       where $2::text is null or (r.name, k.name) > ($2, $3) order by r.name, k.name limit $4`,
      [page.organization_id, page.after?.[0] ?? null, page.after?.[1] ?? null, page.limit],
    )
  ).rows;

export type FleetRow = Readonly<{
  region_name: string;
  gpu_model: string;
  pools: CapacityCounts[];
  counted_at: string;
}>;

/** Every region and GPU model with the counters of all its pools. */
export const listFleet = async (
  reader: Reader,
  page: Readonly<{ after: PageKey | null; limit: number }>,
): Promise<FleetRow[]> =>
  (
    await reader.query<FleetRow>(
      `select region_name, gpu_model, jsonb_agg(counts) as pools, min(counted_at) as counted_at from capacity_counters
       where $1::text is null or (region_name, gpu_model) > ($1, $2) group by 1, 2 order by 1, 2 limit $3`,
      [page.after?.[0] ?? null, page.after?.[1] ?? null, page.limit],
    )
  ).rows;

/** Sliced nodes that lack the least to be whole: those that a drain could free soonest. */
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
