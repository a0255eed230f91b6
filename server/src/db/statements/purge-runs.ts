/** Runs that have ended, with their steps and signals. */
import type { Tx } from '../client.ts';
import { queryByIndex } from '../plan.ts';
import { ALLOCATION_ENDED, claimIsLive } from '../predicates.ts';

/**
 * Stuck runs stay: an operator decides about them. So do the runs of an allocation that has not ended, and of one that
 * still has a claim: its power, its cleanup and its progress are read from them. Returns how many runs are gone.
 */
export const deleteOldRuns = async (tx: Tx, limit: number, days: number): Promise<number> =>
  (
    await queryByIndex(
      tx,
      `with old as materialized (
         select r.id from workflow_runs r
         where r.state in ('done', 'cancelled') and r.finished_at < now() - make_interval(days => $2)
           and not exists (select from allocations a where a.id = r.subject_id and a.state not ${ALLOCATION_ENDED})
           and not exists (select from allocation_resource_claims c where c.allocation_id = r.subject_id and ${claimIsLive('c')})
           and not exists (select from allocation_resource_claims c where c.move_id = r.subject_id and ${claimIsLive('c')})
         order by r.finished_at limit $1 for update skip locked),
       step as (delete from workflow_steps s using old where s.run_id = old.id),
       signal as (delete from workflow_signals s using old where s.run_id = old.id)
       delete from workflow_runs r using old where r.id = old.id`,
      [limit, days],
    )
  ).rowCount;
