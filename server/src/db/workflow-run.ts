/**
 * Runs as callers start and control them and as workers execute them. All times are the database's: run leases, timers
 * and deadlines are written and compared here, so a worker with a wrong clock does no harm. A worker proves with (id,
 * lease_number) that it still holds the run; no row means that it does not.
 */
import { REASONS } from '../domain/reasons.ts';
import type { Move, RunFacts } from '../domain/workflow.ts';
import type { Reader, Tx } from './client.ts';
import { CLOCK_TRUSTED, RUN_LIVE } from './predicates.ts';
import { statement } from './statement.ts';
import type { WorkflowRuns } from './types.gen.ts';
import type { SignalRow } from './workflow-signal.ts';

/** Given when the run is started. */
type RunOrigin =
  | 'id'
  | 'workflow'
  | 'workflow_version'
  | 'subject_id'
  | 'organization_id'
  | 'project_id'
  | 'correlation_id'
  | 'step';

export type WorkflowRunRow = Readonly<
  Pick<
    WorkflowRuns,
    | RunOrigin
    | 'steps'
    | 'state'
    | 'state_reason'
    | 'state_detail'
    | 'state_since'
    | 'deadline_at'
    | 'attempt'
    | 'workers_lost'
    | 'wake_at'
    | 'lease_owner'
    | 'cancel_requested_at'
    | 'step_count'
    | 'created_at'
    | 'finished_at'
  >
>;

export const RUN = `r.id, r.workflow, r.workflow_version, r.subject_id, r.organization_id, r.project_id, r.correlation_id,
  r.steps, r.step, r.state, r.state_reason, r.state_detail, r.state_since, r.deadline_at, r.attempt, r.workers_lost,
  r.wake_at, r.lease_owner, r.cancel_requested_at, r.step_count, r.created_at, r.finished_at`;

export type NewRun = Readonly<
  Pick<WorkflowRuns, RunOrigin | 'deadline_ms'> & {
    steps: readonly string[];
  }
>;

export const RUN_COLUMNS =
  'id, workflow, workflow_version, subject_id, organization_id, project_id, correlation_id, steps, step, deadline_ms, deadline_at';

/** Of a new run. */
export const RUN_PARAMETERS = {
  run_id: 'text',
  workflow: 'text',
  workflow_version: 'integer',
  subject_id: 'text',
  organization_id: 'text | null',
  project_id: 'text | null',
  correlation_id: 'text',
  steps: 'text[]',
  step: 'text',
  deadline_ms: 'bigint',
} as const;

/** Inserts nothing if the workflow has a live run for the subject. */
export const INSERT_RUN = `insert into workflow_runs as r (${RUN_COLUMNS})
     values (:run_id, :workflow, :workflow_version, :subject_id, :organization_id, :project_id, :correlation_id, :steps, :step,
       :deadline_ms, clock_timestamp() + :deadline_ms * interval '1 millisecond')
     on conflict (workflow, subject_id) where state ${RUN_LIVE} do nothing`;

const INSERT = statement(RUN_PARAMETERS, `${INSERT_RUN} returning ${RUN}`);

/** Inserts unless a live run of the workflow for this subject exists; then undefined. */
export const insertRun = async (tx: Tx, { id, ...run }: NewRun): Promise<WorkflowRunRow | undefined> =>
  (await INSERT.query<WorkflowRunRow>(tx, { ...run, run_id: id })).rows[0];

/**
 * A stuck run waits for a retry by an operator. Once a later run has replaced it, it cannot be retried and waits for
 * nothing.
 */
export const endReplacedRuns = async (tx: Tx, by: WorkflowRunRow): Promise<WorkflowRunRow[]> => {
  const { rows } = await tx.query<WorkflowRunRow>(
    `update workflow_runs r set state = 'cancelled', state_since = clock_timestamp(), step_count = r.step_count + 1,
       state_reason = r.state_reason || ' ' || $4::text
     where r.workflow = $1 and r.subject_id = $2 and r.state = 'stuck' and r.id <> $3 returning ${RUN}`,
    [by.workflow, by.subject_id, by.id, REASONS.run_replaced],
  );
  return rows;
};

export const findLiveRun = async (
  reader: Reader,
  workflow: string,
  subjectId: string,
): Promise<WorkflowRunRow | undefined> => {
  const { rows } = await reader.query<WorkflowRunRow>(
    `select ${RUN} from workflow_runs r
     where r.workflow = $1 and r.subject_id = $2 and r.state ${RUN_LIVE}`,
    [workflow, subjectId],
  );
  return rows[0];
};

/** Records the request and makes a run that no worker holds due immediately. Undefined when the run has ended. */
export const requestCancel = async (tx: Tx, id: string, reason: string | null): Promise<WorkflowRunRow | undefined> => {
  const { rows } = await tx.query<WorkflowRunRow>(
    `update workflow_runs r set cancel_requested_at = coalesce(r.cancel_requested_at, clock_timestamp()),
       cancel_reason = case when r.cancel_requested_at is null then $2 else r.cancel_reason end,
       due_at = case when r.state = 'running' then r.due_at else clock_timestamp() end
     where r.id = $1 and r.state ${RUN_LIVE} returning ${RUN}`,
    [id, reason],
  );
  return rows[0];
};

/**
 * Restarts a stuck run with a new deadline. A named step is a fresh start from there: an unfinished cleanup and an old
 * cancellation are discarded. Undefined when it is not stuck or a later run replaced it.
 */
export const restartRun = async (tx: Tx, id: string, step: string | null): Promise<WorkflowRunRow | undefined> => {
  const { rows } = await tx.query<WorkflowRunRow>(
    `update workflow_runs r set state = 'pending', state_since = clock_timestamp(), state_reason = null,
       state_detail = null, step = coalesce($2, r.step), attempt = 0, workers_lost = 0, workers_killed = 0, finished_at = null, wake_at = null,
       due_at = clock_timestamp(), deadline_at = clock_timestamp() + r.deadline_ms * interval '1 millisecond',
       waiting_for = null, signal_deadline_at = null, step_count = r.step_count + 1,
       winding = case when $2::text is null then r.winding end,
       cancel_requested_at = case when $2::text is null then r.cancel_requested_at end,
       cancel_reason = case when $2::text is null then r.cancel_reason end
     where r.id = $1 and r.state = 'stuck' and ($2::text is null or $2 = any (r.steps))
       and not exists (select from workflow_runs n where n.workflow = r.workflow and n.subject_id = r.subject_id
         and n.created_at > r.created_at)
     returning ${RUN}`,
    [id, step],
  );
  return rows[0];
};

/**
 * Ends runs past their deadline whose version no worker can execute: otherwise they would stay hidden. Runs of workflows
 * that this process does not have at all belong to another role.
 */
export const abandonUnknownRuns = async (
  tx: Tx,
  known: readonly Readonly<{ workflow: string; version: number }>[],
  graceMs: number,
): Promise<WorkflowRunRow[]> => {
  const { rows } = await tx.query<WorkflowRunRow>(
    `with overdue as materialized (
       select r.id from workflow_runs r
       where r.state ${RUN_LIVE} and r.deadline_at <= now() - $3 * interval '1 millisecond'
         and r.due_at <= now() - $3 * interval '1 millisecond'
         and r.workflow = any ($1) and ${CLOCK_TRUSTED}
         and not exists (select from unnest($1::text[], $2::integer[]) as k (workflow, version)
           where k.workflow = r.workflow and k.version = r.workflow_version)
       order by r.deadline_at limit 100 for update skip locked)
     update workflow_runs r set state = 'stuck', state_since = clock_timestamp(), finished_at = clock_timestamp(),
       state_reason = format($4, r.workflow_version, r.workflow),
       wake_at = null, lease_number = r.lease_number + 1, lease_owner = null, lease_until = null,
       step_count = r.step_count + 1
     from overdue where r.id = overdue.id returning ${RUN}`,
    [known.map((key) => key.workflow), known.map((key) => key.version), graceMs, REASONS.run_abandoned],
  );
  return rows;
};

/** A run as the worker that holds it sees it. */
export type LeasedRun = RunFacts &
  Readonly<
    Pick<
      WorkflowRuns,
      | 'id'
      | 'workflow'
      | 'workflow_version'
      | 'subject_id'
      | 'organization_id'
      | 'project_id'
      | 'correlation_id'
      | 'state'
      | 'lease_number'
      | 'waiting_for'
      | 'signals_pending'
      | 'step_count'
    > & {
      attempt_started_at: string;
      signal_overdue: boolean;
      deadline_in_ms: number;
      /** The pending signals, of a run that was just claimed. */
      signals?: readonly SignalRow[] | null;
    }
  >;

export type Lease = Pick<LeasedRun, 'id' | 'lease_number'>;

export const MS = "interval '1 millisecond'";

export const LEASED = `r.id, r.workflow, r.workflow_version, r.subject_id, r.organization_id, r.project_id, r.correlation_id,
  r.state, r.state_detail, r.step, r.attempt, r.workers_lost, r.workers_killed, r.attempt_started_at, r.lease_number, r.winding, r.waiting_for,
  r.signals_pending, r.step_count, r.cancel_reason, r.cancel_requested_at is not null as cancel_requested,
  r.deadline_at <= clock_timestamp() and ${CLOCK_TRUSTED} as overdue,
  coalesce(r.signal_deadline_at <= clock_timestamp(), false) and ${CLOCK_TRUSTED} as signal_overdue,
  case when r.deadline_at > clock_timestamp() or ${CLOCK_TRUSTED} then (extract(epoch from r.deadline_at - clock_timestamp()) * 1000)::float8
    else r.deadline_ms::float8 end as deadline_in_ms`;

/** Extends run leases and returns those that are still held. */
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

/** Returns runs unfinished: no attempt is counted, another worker may take them immediately. */
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

/**
 * Locks the run if the run lease is still held. No other transaction can claim, cancel or signal it until this one
 * ends.
 */
export const lockLeasedRun = async (tx: Tx, lease: Lease): Promise<(LeasedRun & LastEntry) | undefined> => {
  const { rows } = await tx.query<LeasedRun & LastEntry>(
    `select ${LEASED}, s.step as last_step, s.outcome as last_outcome, s.detail as last_detail
     from workflow_runs r left join workflow_steps s on s.run_id = r.id and s.sequence = r.step_count
     where r.id = $1 and r.lease_number = $2 and r.state = 'running' for update of r`,
    [lease.id, lease.lease_number],
  );
  return rows[0];
};

/**
 * The run after a move of this worker whose commit may have succeeded without a reply; undefined when it did not. Another
 * worker that took the run since has its own name on it.
 */
export const findMovedRun = async (reader: Reader, lease: Lease, owner: string): Promise<LeasedRun | undefined> => {
  const { rows } = await reader.query<LeasedRun>(
    `select ${LEASED} from workflow_runs r
     where r.id = $1 and r.lease_number = $2 + 1 and (r.state <> 'running' or r.lease_owner = $3)`,
    [lease.id, lease.lease_number, owner],
  );
  return rows[0];
};

export type MoveExtras = Readonly<{
  lease_ms: number;
  /** Signals that the step took. */
  consumed: number;
  entries_added: number;
  /** Due immediately although it waits: its signal has already arrived. */
  due_now: boolean;
  /** The run was waiting for the same signal and its time is still running. */
  keep_signal_deadline: boolean;
}>;

/** While the clock is not trusted, a run whose time has passed is looked at again after this long. */
const HELD_RECHECK_S = 30;

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
     workers_lost = case when :state = 'stuck' then r.workers_lost else 0 end,
     workers_killed = case when :state = 'stuck' then r.workers_killed else 0 end,
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
         when t.next_at > t.at or ${CLOCK_TRUSTED} then t.next_at else t.at + interval '${HELD_RECHECK_S} s' end
       else t.at end,
     signals_pending = r.signals_pending - :consumed, step_count = r.step_count + :entries_added,
     finished_at = case when :state in ('done', 'stuck', 'cancelled') then t.at end
   from (select d.*, least(case when :keep_signal_deadline then d.signal_deadline_at else d.timer_at end, d.deadline_at) as next_at
     from (select n.at, n.at + coalesce(:wake_ms, 0) * ${MS} as timer_at, w.signal_deadline_at,
         case when :extend_deadline then n.at + w.deadline_ms * ${MS} else w.deadline_at end as deadline_at
       from workflow_runs w, (select clock_timestamp() as at) n where w.id = :id) d) t
   where r.id = :id and r.lease_number = :lease_number and r.state = 'running'
   returning ${LEASED}`,
);

/**
 * Moves a run that `lockLeasedRun` locked. Staying `running` means that the same worker continues with the next step.
 */
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
