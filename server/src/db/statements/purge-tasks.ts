/** Host tasks that nothing cites any more. */
import { createKeptPurge, LOOK_AGAIN } from '../keep.ts';
import { ALLOCATION_ENDED, claimIsLive } from '../predicates.ts';

/**
 * A proof or a move of a launch cites its task for as long as it exists itself; a discovery, a run and an allocation that
 * has not ended will go one day. The schema refuses most of what this overlooks.
 */
export const TASKS = createKeptPurge({
  table: 'node_tasks',
  age: 'finished_at',
  columns: 't.node_id, t.allocation_id, t.workflow_run_id',
  kept_until: `case
    when exists (select from wipe_proofs p where p.task_id = o.id)
      or exists (select from allocation_moves m where m.host_task_id = o.id) then 'infinity'
    when exists (select from topology_discoveries d where d.task_id = o.id)
      or exists (select from node_resource_slots s where s.node_id = o.node_id and s.discovery_task_id = o.id)
      or exists (select from workflow_runs r where r.id = o.workflow_run_id)
      or exists (select from workflow_runs r where r.subject_id = o.allocation_id)
      or exists (select from allocations a where a.id = o.allocation_id and a.state not ${ALLOCATION_ENDED})
      or exists (select from allocation_resource_claims c where c.allocation_id = o.allocation_id and ${claimIsLive('c')})
      then now() + ${LOOK_AGAIN} end`,
});
