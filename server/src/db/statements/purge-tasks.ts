/**
 * Host tasks that nothing cites any more. Each old task is looked at once: it is deleted, or marked with the time until
 * which it is kept, so that a turn never reads those again that stay for years.
 */
import type { Tx } from '../client.ts';
import { queryByIndex } from '../plan.ts';
import { claimIsLive } from '../predicates.ts';

/** How long a task is kept before it is looked at again, while its allocation or a run lives. */
const LOOK_AGAIN = "interval '7 days'";

/**
 * A proof or a move of a launch cites its task for as long as it exists itself; a discovery, a run and an allocation that
 * has not ended will go one day. The schema refuses most of what this overlooks.
 */
const KEPT_UNTIL = `case
    when exists (select from wipe_proofs p where p.task_id = o.id)
      or exists (select from allocation_moves m where m.host_task_id = o.id) then 'infinity'
    when exists (select from topology_discoveries d where d.task_id = o.id)
      or exists (select from node_resource_slots s where s.node_id = o.node_id and s.discovery_task_id = o.id)
      or exists (select from workflow_runs r where r.id = o.workflow_run_id)
      or exists (select from workflow_runs r where r.subject_id = o.allocation_id)
      or exists (select from allocations a where a.id = o.allocation_id and a.state not in ('released', 'failed'))
      or exists (select from allocation_resource_claims c where c.allocation_id = o.allocation_id and ${claimIsLive('c')})
      then now() + ${LOOK_AGAIN} end`;

/** Returns how many were looked at. */
const purge = async (tx: Tx, old: string, values: readonly unknown[]): Promise<number> => {
  const { rows } = await queryByIndex<{ count: number }>(
    tx,
    `with old as materialized (
       select t.id, t.node_id, t.allocation_id, t.workflow_run_id from node_tasks t where ${old} limit $1 for update skip locked),
     verdict as materialized (select o.id, ${KEPT_UNTIL} as kept_until from old o),
     kept as (update node_tasks t set kept_until = v.kept_until from verdict v where t.id = v.id and v.kept_until is not null),
     gone as (delete from node_tasks t using verdict v where t.id = v.id and v.kept_until is null)
     select count(*) as count from verdict`,
    values,
  );
  return rows[0]?.count ?? 0;
};

export const deleteOldTasks = (tx: Tx, limit: number, days: number): Promise<number> =>
  purge(
    tx,
    't.finished_at < now() - make_interval(days => $2) and t.finished_at is not null and t.kept_until is null order by t.finished_at',
    [limit, days],
  );

/** Those whose time has come again. */
export const deleteKeptTasks = (tx: Tx, limit: number): Promise<number> =>
  purge(tx, 't.kept_until < now() order by t.kept_until', [limit]);
