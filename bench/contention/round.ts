/** The slots of one round: which are schedulable before it, and their state in the database after it. */
import type { Client } from 'pg';
import { type Database, PLATFORM } from '../../server/src/db/client.ts';
import { refreshSummary } from '../../server/src/placement/summary.ts';
import { nodeId } from '../placement/fleet.ts';

/**
 * Deletes the previous round and leaves only these slots schedulable. This needs the superuser, because the triggers
 * that protect history must be disabled.
 */
export const resetArena = async (
  owner: Client,
  database: Database,
  nodes: number,
  offered: readonly string[],
): Promise<void> => {
  await owner.query('begin; set local session_replication_role = replica');
  for (const table of ['allocation_resource_claims', 'allocation_placements', 'workflow_runs', 'allocations', 'quotas'])
    await owner.query(`delete from ${table}`);
  await owner.query(
    `update node_resource_slots set status = 'available', last_claimed_at = null, generation = 0,
       health = case when id = any ($1) then 'ok' else 'unhealthy' end`,
    [offered],
  );
  await owner.query("update nodes set occupancy = 'free'");
  await owner.query('commit');
  await database.write(PLATFORM, async (tx) => {
    for (let n = 1; n <= nodes; n++) await refreshSummary(tx, nodeId(n));
  });
};

export type Verdict = Readonly<{
  /** Slots with two live claims, in two placements, or claimed while available. */
  double_claims: number;
  /**
   * Allocations without exactly the requested GPUs on one node in one legal fabric set, and claims without an
   * allocation.
   */
  partial_sets: number;
  /** Allocations that exist now. */
  allocation_ids: string[];
}>;

const VERDICT = `
with live as (select * from allocation_resource_claims where released_at is null),
sold as (select p.allocation_id, s.slot_id from allocation_placements p cross join unnest(p.slot_ids) s (slot_id)),
twice as (
  select slot_id from live group by slot_id having count(*) > 1 union select slot_id from sold group by slot_id having count(*) > 1
  union select l.slot_id from live l join node_resource_slots s on s.id = l.slot_id where s.health <> 'ok' or s.status <> 'reserved'),
held as (
  select a.id, a.gpu_count, count(l.id) as claims, count(distinct l.node_id) as nodes, min(l.node_id) as node_id,
    array_agg(s.module_id order by s.module_id) as modules, array_agg(l.slot_id order by l.slot_id) as slots
  from allocations a left join live l on l.allocation_id = a.id left join node_resource_slots s on s.id = l.slot_id group by a.id),
partial as (
  select id from held h where claims <> gpu_count or nodes <> 1
    or not exists (select from node_fabric_partitions f where f.node_id = h.node_id and f.module_ids = h.modules)
    or slots is distinct from (select array_agg(slot_id order by slot_id) from sold where allocation_id = h.id)
  union all select id from live l where not exists (select from allocations a where a.id = l.allocation_id)
  union all select id from node_resource_slots s where status <> 'available' and not exists (select from live l where l.slot_id = s.id))
select (select count(*) from twice)::integer as double_claims, (select count(*) from partial)::integer as partial_sets,
  array(select id from allocations) as allocation_ids`;

export const judgeArena = async (owner: Client): Promise<Verdict> => {
  const { rows } = await owner.query<Verdict>(VERDICT);
  if (rows[0] === undefined) throw new Error('no verdict');
  return rows[0];
};
