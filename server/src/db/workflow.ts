/**
 * The engine's queries. All times are the database's: leases, timers and deadlines are written and compared here, so
 * a worker whose clock is wrong does no harm. A worker proves with (id, lease_number) that the run is still its own;
 * no row means that it is not.
 */
import type { Move, RunFacts, TimelineEntry, WorkflowState } from '../domain/workflow.ts';
import type { Reader, Tx } from './client.ts';

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

/**
 * Takes up to `limit` due runs of the given workflows, skipping what another worker is taking. The materialised CTE
 * matters: without it the planner may run the locking select once per row and take more than was asked. A crashed
 * attempt is due again after its lease and not before its backoff. A run that is found `running` was left by a worker
 * that stopped reporting: that attempt gets its line in the timeline as an error.
 */
export const claimRuns = async (
  tx: Tx,
  claim: Readonly<{ keys: readonly ClaimKey[]; limit: number; owner: string; lease_ms: number }>,
): Promise<ClaimedRun[]> => {
  const { rows } = await tx.query<ClaimedRun>(
    `with due as materialized (
       select r.id, r.state as from_state, r.lease_owner as from_owner, r.attempt_started_at as from_started_at,
         least(k.cap_ms, k.base_ms * power(2, least(r.attempt, 30))) as backoff_ms
       from unnest($1::text[], $2::integer[], $3::float8[], $4::float8[]) as k (workflow, version, base_ms, cap_ms)
       cross join lateral (
         select * from workflow_runs r
         where r.workflow = k.workflow and r.workflow_version = k.version and r.due_at <= now()
           and r.state in ('pending', 'running', 'waiting')
         order by r.due_at limit $5 for update skip locked) r
       order by r.due_at limit $5),
     taken as (
     update workflow_runs r set state = 'running', state_since = clock_timestamp(), wake_at = null,
       attempt = r.attempt + 1, attempt_started_at = clock_timestamp(), lease_number = r.lease_number + 1,
       step_count = r.step_count + (r.state = 'running')::integer, lease_owner = $6, lease_until = clock_timestamp() + $7 * ${MS},
       due_at = clock_timestamp() + greatest($7, due.backoff_ms) * ${MS}
     from due where r.id = due.id
     returning ${LEASED}, due.from_state, due.from_owner, due.from_started_at),
     left_behind as (
       insert into workflow_steps
         (run_id, sequence, organization_id, step, attempt, outcome, detail, internal_detail, started_at, finished_at)
       select t.id, t.step_count, t.organization_id, t.step, t.attempt - 1, 'error', 'The worker stopped reporting.',
         'worker ' || coalesce(t.from_owner, 'unknown') || ' stopped reporting', coalesce(t.from_started_at, n.at), n.at
       from taken t cross join (select clock_timestamp() as at) n where t.from_state = 'running')
     select * from taken`,
    [
      claim.keys.map((key) => key.workflow),
      claim.keys.map((key) => key.version),
      claim.keys.map((key) => key.base_ms),
      claim.keys.map((key) => key.cap_ms),
      claim.limit,
      claim.owner,
      claim.lease_ms,
    ],
  );
  return rows;
};

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

/** Moves a run that `lockLeasedRun` locked. Staying `running` means that the same worker goes on with the next step. */
export const moveRun = async (tx: Tx, lease: Lease, move: Move, extras: MoveExtras): Promise<LeasedRun | undefined> => {
  const waitsFor = move.wake?.kind === 'signal' ? move.wake.name : null;
  const { rows } = await tx.query<LeasedRun>(
    `update workflow_runs r set
       state = $3, step = $4, attempt = $5, state_reason = $6, state_detail = $7, winding = $8,
       state_since = case when r.state = $3 then r.state_since else t.at end,
       attempt_started_at = case when $3 = 'running' then t.at end,
       deadline_at = t.deadline_at,
       lease_number = r.lease_number + 1,
       lease_owner = case when $3 = 'running' then r.lease_owner end,
       lease_until = case when $3 = 'running' then t.at + $9 * ${MS} end,
       waiting_for = case when $12 then r.waiting_for else $11 end,
       signal_deadline_at = case when $12 or $13 then r.signal_deadline_at when $11::text is not null then t.timer_at end,
       wake_at = case when $3 = 'waiting' then case when $13 then r.signal_deadline_at else t.timer_at end end,
       due_at = case $3 when 'running' then t.at + $9 * ${MS}
         when 'waiting' then case when $14 then t.at
           else least(case when $13 then r.signal_deadline_at else t.timer_at end, t.deadline_at) end
         else t.at end,
       signals_pending = r.signals_pending - $15, step_count = r.step_count + $16,
       finished_at = case when $3 in ('done', 'stuck', 'cancelled') then t.at end
     from (select n.at, n.at + coalesce($10::float8, 0) * ${MS} as timer_at,
         case when $17 then n.at + w.deadline_ms * ${MS} else w.deadline_at end as deadline_at
       from workflow_runs w, (select clock_timestamp() as at) n where w.id = $1) t
     where r.id = $1 and r.lease_number = $2 and r.state = 'running'
     returning ${LEASED}`,
    [
      lease.id,
      lease.lease_number,
      move.state,
      move.step,
      move.attempt,
      move.reason,
      move.detail,
      move.winding,
      extras.lease_ms,
      move.wake?.ms ?? null,
      waitsFor,
      move.wake?.kind === 'retry',
      extras.keep_signal_deadline,
      extras.due_now,
      extras.consumed,
      extras.entries_added,
      move.extend_deadline,
    ],
  );
  return rows[0];
};

type EntryOf = Readonly<{ id: string; organization_id: string | null; sequence: number; started_at: string | null }>;

export const insertStep = async (tx: Tx, run: EntryOf, entry: TimelineEntry): Promise<void> => {
  await tx.query(
    `insert into workflow_steps
       (run_id, sequence, organization_id, step, attempt, outcome, detail, internal_detail, started_at, finished_at)
     select $1, $2, $3, $4, $5, $6, $7, $8, coalesce($9::timestamptz, t.at), t.at from (select clock_timestamp() as at) t`,
    [
      run.id,
      run.sequence,
      run.organization_id,
      entry.step,
      entry.attempt,
      entry.outcome,
      entry.detail,
      entry.internal_detail,
      run.started_at,
    ],
  );
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
       select state, state_since from workflow_runs where state in ('pending', 'running', 'waiting')
       union all select state, state_since from workflow_runs where state = 'stuck') r
     group by state order by state`,
  );
  return rows;
};
