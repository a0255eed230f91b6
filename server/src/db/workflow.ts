/**
 * The engine's queries. All times are the database's: leases, timers and deadlines are written and compared here, so
 * a worker whose clock is wrong does no harm. A worker proves with (id, lease_number) that the run is still its own;
 * no row means that it is not.
 */
import { REASONS } from '../domain/reasons.ts';
import type { Move, RunFacts, TimelineEntry, WorkflowState } from '../domain/workflow.ts';
import type { Reader, Tx } from './client.ts';
import { RUN_LIVE } from './predicates.ts';
import { statement } from './statement.ts';

/** A run as the worker that holds it sees it. */
export type LeasedRun = RunFacts &
  Readonly<{
    id: string;
    workflow: string;
    workflow_version: number;
    subject_id: string;
    organization_id: string | null;
    project_id: string | null;
    correlation_id: string;
    state: WorkflowState;
    lease_number: number;
    attempt_started_at: string;
    waiting_for: string | null;
    signal_overdue: boolean;
    signals_pending: number;
    deadline_in_ms: number;
    step_count: number;
  }>;

export type Lease = Readonly<{ id: string; lease_number: number }>;

const MS = "interval '1 millisecond'";

const LEASED = `r.id, r.workflow, r.workflow_version, r.subject_id, r.organization_id, r.project_id, r.correlation_id,
  r.state, r.state_detail, r.step, r.attempt, r.attempt_started_at, r.lease_number, r.winding, r.waiting_for,
  r.signals_pending, r.step_count, r.cancel_reason, r.cancel_requested_at is not null as cancel_requested,
  r.deadline_at <= clock_timestamp() as overdue,
  coalesce(r.signal_deadline_at <= clock_timestamp(), false) as signal_overdue,
  (extract(epoch from r.deadline_at - clock_timestamp()) * 1000)::float8 as deadline_in_ms`;

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
 * Takes up to `limit` due runs of the given workflows, skipping what another worker is taking. The materialised CTE
 * matters: without it the planner may run the locking select once per row and take more than was asked. A crashed
 * attempt is due again after its lease and not before its backoff. A run that is found `running` was left by a worker
 * that stopped reporting: that attempt gets its line in the timeline as an error.
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

/** Prolongs leases and names those that are still held. */
export const renewLeases = async (tx: Tx, leases: readonly Lease[], leaseMs: number): Promise<ReadonlySet<string>> => {
  const { rows } = await tx.query<{ id: string }>(
    `update workflow_runs r set lease_until = clock_timestamp() + $3 * ${MS},
       due_at = greatest(r.due_at, clock_timestamp() + $3 * ${MS})
     from unnest($1::text[], $2::bigint[]) as l (id, lease_number)
     where r.id = l.id and r.lease_number = l.lease_number and r.state = 'running'
     returning r.id`,
    [leases.map((lease) => lease.id), leases.map((lease) => lease.lease_number), leaseMs],
  );
  return new Set(rows.map((row) => row.id));
};

/** Hands runs back unfinished: no attempt is counted, another worker may take them at once. */
export const releaseLeases = async (tx: Tx, leases: readonly Lease[]): Promise<number> => {
  const { rowCount } = await tx.query(
    `update workflow_runs r set state = 'pending', state_since = clock_timestamp(), due_at = clock_timestamp(),
       attempt = greatest(r.attempt - 1, 0), lease_number = r.lease_number + 1, lease_owner = null, lease_until = null
     from unnest($1::text[], $2::bigint[]) as l (id, lease_number)
     where r.id = l.id and r.lease_number = l.lease_number and r.state = 'running'`,
    [leases.map((lease) => lease.id), leases.map((lease) => lease.lease_number)],
  );
  return rowCount;
};

export type LastEntry = Readonly<{
  last_step: string | null;
  last_outcome: string | null;
  last_detail: string | null;
}>;

/** Locks the run if the lease is still held. Nobody can claim, cancel or signal it until the transaction ends. */
export const lockLeasedRun = async (tx: Tx, lease: Lease): Promise<(LeasedRun & LastEntry) | undefined> => {
  const { rows } = await tx.query<LeasedRun & LastEntry>(
    `select ${LEASED}, s.step as last_step, s.outcome as last_outcome, s.detail as last_detail
     from workflow_runs r left join workflow_steps s on s.run_id = r.id and s.sequence = r.step_count
     where r.id = $1 and r.lease_number = $2 and r.state = 'running' for update of r`,
    [lease.id, lease.lease_number],
  );
  return rows[0];
};

export type MoveExtras = Readonly<{
  lease_ms: number;
  /** Signals that the step took. */
  consumed: number;
  entries_added: number;
  /** Due at once although it waits: what it waits for is already there. */
  due_now: boolean;
  /** The run was waiting for the same signal and its time is still running. */
  keep_signal_deadline: boolean;
}>;

const MOVE_RUN = statement(
  {
    id: 'text',
    lease_number: 'bigint',
    state: 'text',
    step: 'text',
    attempt: 'integer',
    reason: 'text | null',
    detail: 'text | null',
    winding: 'text | null',
    lease_ms: 'float8',
    wake_ms: 'float8 | null',
    waits_for: 'text | null',
    is_retry: 'boolean',
    keep_signal_deadline: 'boolean',
    due_now: 'boolean',
    consumed: 'integer',
    entries_added: 'integer',
    extend_deadline: 'boolean',
  },
  `update workflow_runs r set
     state = :state, step = :step, attempt = :attempt, state_reason = :reason, state_detail = :detail, winding = :winding,
     state_since = case when r.state = :state then r.state_since else t.at end,
     attempt_started_at = case when :state = 'running' then t.at end,
     deadline_at = t.deadline_at,
     lease_number = r.lease_number + 1,
     lease_owner = case when :state = 'running' then r.lease_owner end,
     lease_until = case when :state = 'running' then t.at + :lease_ms * ${MS} end,
     waiting_for = case when :is_retry then r.waiting_for else :waits_for end,
     signal_deadline_at = case when :is_retry or :keep_signal_deadline then r.signal_deadline_at when :waits_for is not null then t.timer_at end,
     wake_at = case when :state = 'waiting' then case when :keep_signal_deadline then r.signal_deadline_at else t.timer_at end end,
     due_at = case :state when 'running' then t.at + :lease_ms * ${MS}
       when 'waiting' then case when :due_now then t.at
         else least(case when :keep_signal_deadline then r.signal_deadline_at else t.timer_at end, t.deadline_at) end
       else t.at end,
     signals_pending = r.signals_pending - :consumed, step_count = r.step_count + :entries_added,
     finished_at = case when :state in ('done', 'stuck', 'cancelled') then t.at end
   from (select n.at, n.at + coalesce(:wake_ms, 0) * ${MS} as timer_at,
       case when :extend_deadline then n.at + w.deadline_ms * ${MS} else w.deadline_at end as deadline_at
     from workflow_runs w, (select clock_timestamp() as at) n where w.id = :id) t
   where r.id = :id and r.lease_number = :lease_number and r.state = 'running'
   returning ${LEASED}`,
);

/** Moves a run that `lockLeasedRun` locked. Staying `running` means that the same worker goes on with the next step. */
export const moveRun = async (tx: Tx, lease: Lease, move: Move, extras: MoveExtras): Promise<LeasedRun | undefined> => {
  const { rows } = await MOVE_RUN.query<LeasedRun>(tx, {
    ...move,
    ...extras,
    id: lease.id,
    lease_number: lease.lease_number,
    wake_ms: move.wake?.ms ?? null,
    waits_for: move.wake?.kind === 'signal' ? move.wake.name : null,
    is_retry: move.wake?.kind === 'retry',
  });
  return rows[0];
};

type EntryOf = Readonly<{ id: string; organization_id: string | null; sequence: number; started_at: string | null }>;

const INSERT_STEP = statement(
  {
    id: 'text',
    sequence: 'integer',
    organization_id: 'text | null',
    step: 'text',
    attempt: 'integer',
    outcome: 'text',
    detail: 'text | null',
    internal_detail: 'text | null',
    started_at: 'timestamptz | null',
  },
  `insert into workflow_steps
     (run_id, sequence, organization_id, step, attempt, outcome, detail, internal_detail, started_at, finished_at)
   select :id, :sequence, :organization_id, :step, :attempt, :outcome, :detail, :internal_detail, coalesce(:started_at, t.at), t.at
   from (select clock_timestamp() as at) t`,
);

export const insertStep = async (tx: Tx, run: EntryOf, entry: TimelineEntry): Promise<void> => {
  const { id, sequence, organization_id, started_at } = run;
  await INSERT_STEP.query(tx, { ...entry, id, sequence, organization_id, started_at });
};

/** A wait that repeats prolongs its row: polling for an hour is one line of the timeline, not thousands. */
export const prolongStep = async (tx: Tx, runId: string, sequence: number): Promise<void> => {
  await tx.query('update workflow_steps set finished_at = clock_timestamp() where run_id = $1 and sequence = $2', [
    runId,
    sequence,
  ]);
};

export type SignalRow = Readonly<{ id: number; name: string; payload: Readonly<Record<string, unknown>> }>;

export const listPendingSignals = async (reader: Reader, runId: string): Promise<SignalRow[]> => {
  const { rows } = await reader.query<SignalRow>(
    'select id, name, payload from workflow_signals where run_id = $1 and consumed_at is null order by id limit 1000',
    [runId],
  );
  return rows;
};

export const consumeSignals = async (tx: Tx, runId: string, ids: readonly number[]): Promise<number> => {
  const { rowCount } = await tx.query(
    `update workflow_signals set consumed_at = clock_timestamp()
     where run_id = $1 and id = any ($2::bigint[]) and consumed_at is null`,
    [runId, ids],
  );
  return rowCount;
};

export type RunCount = Readonly<{ state: WorkflowState; count: number; oldest_age_s: number }>;

/** Runs that are live or stuck, for the metrics. Ended runs are history: counting them would read the whole table. */
export const countRunsByState = async (reader: Reader): Promise<RunCount[]> => {
  const { rows } = await reader.query<RunCount>(
    `select state, count(*)::integer as count,
       greatest(extract(epoch from clock_timestamp() - min(state_since)), 0)::float8 as oldest_age_s
     from (
       select state, state_since from workflow_runs where state ${RUN_LIVE}
       union all select state, state_since from workflow_runs where state = 'stuck') r
     group by state order by state`,
  );
  return rows;
};
