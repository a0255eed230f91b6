/** Node-bound allocations from before claims, and the rows that they lack. */
import type { Reader, Tx } from '../client.ts';
import { ALLOCATION_OCCUPYING, claimIsLive, currentPrice } from '../predicates.ts';
import { statement } from '../statement.ts';
import type { Allocations, Nodes } from '../types.gen.ts';

export type UnclaimedRow = Readonly<
  Pick<Allocations, 'organization_id' | 'project_id' | 'capacity_shape' | 'state' | 'gpu_count'> &
    Pick<Nodes, 'host_role' | 'occupancy'> & {
      allocation_id: Allocations['id'];
      node_id: Nodes['id'];
      /** Live claims on any part of the node. */
      holder_allocation_id: string | null;
      /** An earlier one of these rows that is bound to the same node. */
      earlier_allocation_id: string | null;
    }
>;

const UNCLAIMED = `a.state ${ALLOCATION_OCCUPYING} and a.node_id is not null
  and not exists (select from allocation_resource_claims c where c.allocation_id = a.id)`;

const LIST_UNCLAIMED = statement(
  { after_id: 'text', limit: 'integer' },
  `select u.*, n.host_role, n.occupancy,
     (select c.allocation_id from allocation_resource_claims c where c.node_id = u.node_id and ${claimIsLive('c')} order by c.id limit 1)
       as holder_allocation_id,
     (select a.id from allocations a where a.node_id = u.node_id and a.id < u.allocation_id and ${UNCLAIMED} order by a.id desc limit 1)
       as earlier_allocation_id
   from (
     select a.id as allocation_id, a.organization_id, a.project_id, a.capacity_shape, a.state, a.gpu_count, a.node_id
     from allocations a where a.id > :after_id and ${UNCLAIMED} order by a.id limit :limit) u
   join nodes n on n.id = u.node_id order by u.allocation_id`,
);

/** Active and releasing allocations that name a node and have no claim at all, oldest first. */
export const listUnclaimed = async (
  reader: Reader,
  page: Readonly<{ after_id: string; limit: number }>,
): Promise<UnclaimedRow[]> => (await LIST_UNCLAIMED.query<UnclaimedRow>(reader, page)).rows;

const INSERT_BACKFILLED_CLAIM = statement(
  { allocation_id: 'text', node_id: 'text', claim_id: 'text' },
  `with asked as materialized (select a.* from allocations a where a.id = :allocation_id and a.node_id = :node_id and ${UNCLAIMED}),
   node as (
     update nodes n set version = n.version + 1,
       occupancy = case asked.state when 'active' then 'exclusive' when 'releasing' then 'cleaning' else 'cleanup_blocked' end
     from asked where n.id = :node_id and n.occupancy = 'free' returning n.id),
   allocation as (select asked.* from asked join node on true),
   slot as (
     update node_resource_slots s set status_reason = null,
       status = case allocation.state when 'active' then 'in_use' when 'releasing' then 'cleaning' else 'cleanup_blocked' end,
       status_since = clock_timestamp(), generation = s.generation + 1, last_claimed_at = clock_timestamp(), version = s.version + 1
     from allocation where s.node_id = :node_id and s.status = 'available' returning s.id),
   quota as (
     insert into quotas (organization_id, project_id, gpu_used)
     select allocation.organization_id, level.project_id, allocation.gpu_count
     from allocation cross join lateral (values (1, ''), (2, allocation.project_id)) level (rank, project_id) order by level.rank
     on conflict (organization_id, project_id) do update set gpu_used = quotas.gpu_used + excluded.gpu_used),
   placement as (
     insert into allocation_placements (allocation_id, organization_id, project_id, node_id, slot_ids, gpu_count, gpu_hourly_price_minor,
       currency, scores)
     select a.id, a.organization_id, a.project_id, :node_id, array(select id from slot), a.gpu_count, k.gpu_hourly_price_minor, k.currency, '{}'
     from allocation a cross join lateral (${currentPrice('a.sku_name')}) k on conflict (allocation_id) do nothing)
   insert into allocation_resource_claims (id, allocation_id, organization_id, project_id, claim_kind, node_id, gpu_count)
   select :claim_id, a.id, a.organization_id, a.project_id, 'node_exclusive', :node_id, a.gpu_count from allocation a`,
);

/**
 * The claim, with the other rows of a launch: the node's mode, its slots, quota use at both levels, and the placement
 * as launched, at today's price where none was recorded. Node and slots follow the allocation's state. False when the
 * node is no longer free, or the allocation got a claim or ended meanwhile.
 */
export const insertBackfilledClaim = async (
  tx: Tx,
  row: Pick<UnclaimedRow, 'allocation_id' | 'node_id'> & Readonly<{ claim_id: string }>,
): Promise<boolean> => (await INSERT_BACKFILLED_CLAIM.query(tx, row)).rowCount === 1;
