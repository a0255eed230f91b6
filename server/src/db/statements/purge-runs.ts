/** Runs that have ended, with their steps and signals. */
import { createKeptPurge, LOOK_AGAIN } from '../keep.ts';
import { ALLOCATION_ENDED, claimIsLive } from '../predicates.ts';

/**
 * Stuck runs stay: an operator decides about them. The runs of an allocation that has not ended, and of one that still has a
 * claim, are kept for a while: its power, its cleanup and its progress are read from them.
 */
export const RUNS = createKeptPurge({
  table: 'workflow_runs',
  only: "t.state in ('done', 'cancelled')",
  parts: [
    { table: 'workflow_steps', column: 'run_id' },
    { table: 'workflow_signals', column: 'run_id' },
  ],
  age: 'finished_at',
  columns: 't.subject_id',
  kept_until: `case
    when exists (select from allocations a where a.id = o.subject_id and a.state not ${ALLOCATION_ENDED})
      or exists (select from allocation_resource_claims c where c.allocation_id = o.subject_id and ${claimIsLive('c')})
      or exists (select from allocation_resource_claims c where c.move_id = o.subject_id and ${claimIsLive('c')})
      then now() + ${LOOK_AGAIN} end`,
});
