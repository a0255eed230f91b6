/** Takes runs that are due, with a timeline line for the attempt of a lost worker. */
import { REASONS } from '../../domain/reasons.ts';
import type { WorkflowState } from '../../domain/workflow.ts';
import type { Tx } from '../client.ts';
import { RUN_LIVE } from '../predicates.ts';
import { statement } from '../statement.ts';
import { LEASED, type LeasedRun, MS } from '../workflow-run.ts';
import { PENDING_SIGNALS } from '../workflow-signal.ts';

export type ClaimKey = Readonly<{ workflow: string; version: number }>;

export type ClaimedRun = LeasedRun & Readonly<{ from_state: WorkflowState }>;

/**
 * The pause after the loss of a worker: 1 minute, doubled for each loss that counts, at most 15 minutes. A crash loop of
 * the workers costs a run little time, but after this many losses the pause grows in any case.
 */
const PAUSE_MS = 60_000;
const PAUSE_MAX_MS = 900_000;
const LOSSES_SHORT = 5;

/** A due run that is `running` has just lost its worker; one that counts a loss has not finished its step since. */
const SUSPECT = `(r.state = 'running' or r.workers_lost > 0)`;

/**
 * The run was executed alone and the worker is gone, while other runs came further: it may be what stopped the worker.
 * Without such a run the workers stop for another reason, such as a release that cannot run.
 */
const OTHERS_WENT_ON = `(due.workers_lost > 0 and (
     exists (select from workflow_runs o where o.state = 'done' and o.finished_at > due.attempt_started_at and o.id <> due.id)
     or exists (select from workflow_runs o where o.state = 'waiting' and o.state_since > due.attempt_started_at and o.id <> due.id)))`;

const CLAIM_RUNS = statement(
  {
    workflows: 'text[]',
    versions: 'integer[]',
    limit: 'integer',
    is_idle: 'boolean',
    owner: 'text',
    lease_ms: 'float8',
    pause_ms: 'float8',
    pause_max_ms: 'float8',
    lost_reason: 'text',
    lost_details: 'text',
  },
  `with known as (select * from unnest(:workflows, :versions) as k (workflow, version)),
   suspect as materialized (
     select r.id, r.due_at, r.state, r.lease_owner, r.attempt_started_at, r.workers_lost, r.workers_killed
     from workflow_runs r
     where r.state ${RUN_LIVE} and ${SUSPECT} and r.due_at <= now()
       and exists (select from known k where k.workflow = r.workflow and k.version = r.workflow_version)
     order by r.due_at limit 1 for update skip locked),
   due as materialized (
     select * from suspect where :is_idle
     union all
     select * from (
       select r.* from known k
       cross join lateral (
         select r.id, r.due_at, r.state, r.lease_owner, r.attempt_started_at, r.workers_lost, r.workers_killed from workflow_runs r
         where r.workflow = k.workflow and r.workflow_version = k.version and r.due_at <= now() and r.state ${RUN_LIVE}
           and not ${SUSPECT} and not exists (select from suspect)
         order by r.due_at limit :limit for update skip locked) r
       order by r.due_at limit :limit) ordinary),
   counted as materialized (
     select due.*, case when due.workers_lost = 0 then 0
       else due.workers_killed + (due.state = 'running' and ${OTHERS_WENT_ON})::integer end as killed from due),
   taken as (
   update workflow_runs r set state = 'running', state_since = clock_timestamp(), wake_at = null,
     attempt = r.attempt + (r.state <> 'running')::integer, workers_lost = r.workers_lost + (r.state = 'running')::integer,
     workers_killed = due.killed,
     attempt_started_at = clock_timestamp(), lease_number = r.lease_number + 1,
     step_count = r.step_count + (r.state = 'running')::integer, lease_owner = :owner, lease_until = clock_timestamp() + :lease_ms * ${MS},
     due_at = clock_timestamp() + greatest(:lease_ms, case when ${SUSPECT}
       then least(:pause_max_ms, :pause_ms * power(2, greatest(due.killed, r.workers_lost - ${LOSSES_SHORT}))) end) * ${MS}
   from counted due where r.id = due.id
   returning ${LEASED}, case when r.signals_pending > 0 then ${PENDING_SIGNALS} end as signals, due.state as from_state, due.lease_owner as from_owner, due.attempt_started_at as from_started_at),
   left_behind as (
     insert into workflow_steps
       (run_id, sequence, organization_id, step, attempt, outcome, detail, internal_detail, started_at, finished_at)
     select t.id, t.step_count, t.organization_id, t.step, t.attempt, 'error', :lost_reason,
       format(:lost_details, coalesce(t.from_owner, 'unknown')), coalesce(t.from_started_at, n.at), n.at
     from taken t cross join (select clock_timestamp() as at) n where t.from_state = 'running')
   select * from taken`,
);

/**
 * Takes up to `limit` due runs of the given workflows, skipping those that another worker is taking. The materialized
 * CTE matters: without it the planner may run the locking select once per row and take more than the limit.
 *
 * A run found `running` was left by a worker that stopped reporting: the loss is counted, not as a failed attempt, and
 * gets its line in the timeline. It counts against the run only if other runs went on meanwhile. Such a run is taken alone, and only by an idle worker. While one is due, a busy worker
 * takes nothing, so that it becomes idle. If the run loses this worker too, it is due again after a growing pause.
 */
export const claimRuns = async (
  tx: Tx,
  claim: Readonly<{ keys: readonly ClaimKey[]; limit: number; is_idle: boolean; owner: string; lease_ms: number }>,
): Promise<ClaimedRun[]> =>
  (
    await CLAIM_RUNS.query<ClaimedRun>(tx, {
      ...claim,
      workflows: claim.keys.map((key) => key.workflow),
      versions: claim.keys.map((key) => key.version),
      pause_ms: PAUSE_MS,
      pause_max_ms: PAUSE_MAX_MS,
      lost_reason: REASONS.worker_lost,
      lost_details: REASONS.worker_lost_details,
    })
  ).rows;
