/** Takes runs that are due, with a timeline line for the attempt of a lost worker. */
import { REASONS } from '../../domain/reasons.ts';
import type { WorkflowState } from '../../domain/workflow.ts';
import type { Tx } from '../client.ts';
import { RUN_LIVE } from '../predicates.ts';
import { statement } from '../statement.ts';
import { LEASED, type LeasedRun, MS } from '../workflow-run.ts';

export type ClaimKey = Readonly<{ workflow: string; version: number; base_ms: number; cap_ms: number }>;

export type ClaimedRun = LeasedRun & Readonly<{ from_state: WorkflowState }>;

const CLAIM_RUNS = statement(
  {
    workflows: 'text[]',
    versions: 'integer[]',
    bases_ms: 'float8[]',
    caps_ms: 'float8[]',
    limit: 'integer',
    owner: 'text',
    lease_ms: 'float8',
    lost_reason: 'text',
    lost_details: 'text',
  },
  `with due as materialized (
     select r.id, r.state as from_state, r.lease_owner as from_owner, r.attempt_started_at as from_started_at,
       least(k.cap_ms, k.base_ms * power(2, least(r.attempt, 30))) as backoff_ms
     from unnest(:workflows, :versions, :bases_ms, :caps_ms) as k (workflow, version, base_ms, cap_ms)
     cross join lateral (
       select * from workflow_runs r
       where r.workflow = k.workflow and r.workflow_version = k.version and r.due_at <= now() and r.state ${RUN_LIVE}
       order by r.due_at limit :limit for update skip locked) r
     order by r.due_at limit :limit),
   taken as (
   update workflow_runs r set state = 'running', state_since = clock_timestamp(), wake_at = null,
     attempt = r.attempt + 1, attempt_started_at = clock_timestamp(), lease_number = r.lease_number + 1,
     step_count = r.step_count + (r.state = 'running')::integer, lease_owner = :owner, lease_until = clock_timestamp() + :lease_ms * ${MS},
     due_at = clock_timestamp() + greatest(:lease_ms, due.backoff_ms) * ${MS}
   from due where r.id = due.id
   returning ${LEASED}, due.from_state, due.from_owner, due.from_started_at),
   left_behind as (
     insert into workflow_steps
       (run_id, sequence, organization_id, step, attempt, outcome, detail, internal_detail, started_at, finished_at)
     select t.id, t.step_count, t.organization_id, t.step, t.attempt - 1, 'error', :lost_reason,
       format(:lost_details, coalesce(t.from_owner, 'unknown')), coalesce(t.from_started_at, n.at), n.at
     from taken t cross join (select clock_timestamp() as at) n where t.from_state = 'running')
   select * from taken`,
);

/**
 * Takes up to `limit` due runs of the given workflows, skipping those that another worker is taking. The materialized
 * CTE matters: without it the planner may run the locking select once per row and take more than the limit. A crashed
 * attempt is due again after its run lease and not before its backoff. A run found `running` was left by a worker that
 * stopped reporting: that attempt gets its line in the timeline as an error.
 */
export const claimRuns = async (
  tx: Tx,
  claim: Readonly<{ keys: readonly ClaimKey[]; limit: number; owner: string; lease_ms: number }>,
): Promise<ClaimedRun[]> =>
  (
    await CLAIM_RUNS.query<ClaimedRun>(tx, {
      ...claim,
      workflows: claim.keys.map((key) => key.workflow),
      versions: claim.keys.map((key) => key.version),
      bases_ms: claim.keys.map((key) => key.base_ms),
      caps_ms: claim.keys.map((key) => key.cap_ms),
      lost_reason: REASONS.worker_lost,
      lost_details: REASONS.worker_lost_details,
    })
  ).rows;
