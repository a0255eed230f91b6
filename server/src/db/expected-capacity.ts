/** When more GPUs are expected, over the whole fleet: the rule of `domain/expected-capacity.ts`, for the reconciler. */
import { EXPECTED_ENTRIES_MAX, EXPECTED_STEP_S, type ExpectedEntry } from '../domain/expected-capacity.ts';
import type { CapacityShape } from '../domain/workflow-declaration.ts';
import type { CapacityKey } from './capacity.ts';
import type { Reader } from './client.ts';
import { claimIsLive, runtimeIsValidated } from './predicates.ts';

const KEY = 'region_name, gpu_model, pool_organization_id';
const OF_NODE = 'n.region_name, n.gpu_model, n.pool_organization_id';

/** Null: no known end. A claim on a node has no slot. */
const EXPECTED = `
with back as materialized (
  select node_id, slot_id, kind, case when at > statement_timestamp() then to_timestamp(ceil(extract(epoch from at) / ${EXPECTED_STEP_S}) * ${EXPECTED_STEP_S}) end as at
  from (
    select c.node_id, c.slot_id, case a.state when 'active' then 'release' else 'cleanup' end as kind,
      case when c.move_id is not null then null
        when a.state = 'active' and not a.is_protected then a.release_at
        when a.state = 'releasing' then a.release_requested_at end
      + make_interval(secs => case a.capacity_shape when 'baremetal' then $2::integer else $1::integer end) as at
    from allocation_resource_claims c join allocations a on a.id = c.allocation_id where ${claimIsLive('c')}) held),
node as (
  select n.id, n.region_name, n.gpu_model, coalesce(p.organization_id, '') as pool_organization_id, n.gpu_count, n.capacity_mode,
    not n.is_held and ${runtimeIsValidated('n')} as takes_slices, coalesce(m.free_count, 0) as free_count
  from nodes n join pools p on p.id = n.pool_id left join node_placement_summary m on m.node_id = n.id
  where n.host_role = 'worker_compute' and n.state = 'active' and n.health = 'ok' and n.id in (select node_id from back where at is not null)),
sliced as (
  select ${OF_NODE}, n.id, b.kind, b.at, count(*) as gpus, n.free_count
  from node n join back b on b.node_id = n.id and b.at is not null
  join node_resource_slots s on s.node_id = n.id and coalesce(b.slot_id, s.id) = s.id
  where n.capacity_mode <> 'baremetal' and n.takes_slices and s.parent_slot_id is null and s.approval = 'approved' and s.health = 'ok'
  group by ${OF_NODE}, n.id, b.kind, b.at, n.free_count),
whole as (
  select ${OF_NODE}, n.id, n.gpu_count, max(b.at) as at, case when bool_or(b.kind = 'release') then 'release' else 'cleanup' end as kind
  from node n join back b on b.node_id = n.id where n.capacity_mode <> 'slice'
  group by ${OF_NODE}, n.id, n.gpu_count having bool_and(b.at is not null)),
entries as (
  select ${KEY}, 'gpu_slice' as shape, at, kind, sum(gpus) as gpus, max(gpus + free_count) as largest from sliced group by ${KEY}, at, kind
  union all
  select ${KEY}, 'baremetal', at, kind, sum(gpu_count), max(gpu_count) from whole group by ${KEY}, at, kind)
select ${KEY}, shape, jsonb_agg(jsonb_build_object('at', at, 'kind', kind, 'gpus', gpus, 'largest', largest) order by at, kind) as entries
from (select *, row_number() over (partition by ${KEY}, shape order by at, kind) as place from entries) e
where place <= ${EXPECTED_ENTRIES_MAX} group by ${KEY}, shape`;

export type ExpectedRow = CapacityKey & Readonly<{ shape: CapacityShape; entries: readonly ExpectedEntry[] }>;

/** It reads every live claim: for the reconciler, never for a request. */
export const listExpected = async (
  reader: Reader,
  cleanupS: Readonly<Record<CapacityShape, number>>,
): Promise<ExpectedRow[]> => {
  const { rows } = await reader.query<ExpectedRow>(EXPECTED, [cleanupS.gpu_slice, cleanupS.baremetal]);
  return rows.map((row) => ({
    ...row,
    entries: row.entries.map((entry) => ({ ...entry, at: new Date(entry.at).toISOString() })),
  }));
};
