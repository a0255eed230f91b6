/** Runs as callers start, steer and read them. What workers do to them is in workflow.ts. */
import { REASONS } from '../domain/reasons.ts';
import type { StepOutcome, WorkflowState } from '../domain/workflow.ts';
import type { Reader, Tx } from './client.ts';
import { RUN_LIVE } from './predicates.ts';
import { statement } from './statement.ts';

export type WorkflowRunRow = Readonly<{
  id: string;
  workflow: string;
  workflow_version: number;
  subject_id: string;
  organization_id: string | null;
  project_id: string | null;
  correlation_id: string;
  steps: readonly string[];
  step: string;
  state: WorkflowState;
  state_reason: string | null;
  state_detail: string | null;
  state_since: string;
  deadline_at: string;
  attempt: number;
  wake_at: string | null;
  lease_owner: string | null;
  cancel_requested_at: string | null;
  step_count: number;
  created_at: string;
  finished_at: string | null;
}>;

const RUN = `r.id, r.workflow, r.workflow_version, r.subject_id, r.organization_id, r.project_id, r.correlation_id,
  r.steps, r.step, r.state, r.state_reason, r.state_detail, r.state_since, r.deadline_at, r.attempt, r.wake_at,
  r.lease_owner, r.cancel_requested_at, r.step_count, r.created_at, r.finished_at`;

export type NewRun = Readonly<{
  id: string;
  workflow: string;
  workflow_version: number;
  subject_id: string;
  organization_id: string | null;
  project_id: string | null;
  correlation_id: string;
  steps: readonly string[];
  step: string;
  deadline_ms: number;
}>;

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

/** A stuck run waits for somebody to retry it. Once a later run has taken its place, nobody can, and it waits for nothing. */
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

/** With a project, a run of any other project is as good as missing. */
export const findRun = async (reader: Reader, id: string, projectId?: string): Promise<WorkflowRunRow | undefined> => {
  const { rows } = await reader.query<WorkflowRunRow>(
    `select ${RUN} from workflow_runs r where r.id = $1 and ($2::text is null or r.project_id = $2)`,
    [id, projectId ?? null],
  );
  return rows[0];
};

export type RunFilter = Readonly<{
  project_id?: string | undefined;
  organization_id?: string | undefined;
  subject_id?: string | undefined;
  workflow?: string | undefined;
  state?: WorkflowState | undefined;
  correlation_id?: string | undefined;
  before_id?: string | undefined;
  limit: number;
}>;

/** Newest first. Only the filters that are given stand in the text, so that the planner sees which index serves. */
export const listRuns = async (reader: Reader, filter: RunFilter): Promise<WorkflowRunRow[]> => {
  const values: unknown[] = [filter.limit];
  const conditions: string[] = [];
  const where = (condition: string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(`${condition} $${values.length}`);
  };
  where('r.project_id =', filter.project_id);
  where('r.organization_id =', filter.organization_id);
  where('r.subject_id =', filter.subject_id);
  where('r.workflow =', filter.workflow);
  where('r.state =', filter.state);
  where('r.correlation_id =', filter.correlation_id);
  where('r.id <', filter.before_id);
  const { rows } = await reader.query<WorkflowRunRow>(
    `select ${RUN} from workflow_runs r ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
     order by r.id desc limit $1`,
    values,
  );
  return rows;
};

export type WorkflowStepRow = Readonly<{
  sequence: number;
  step: string;
  attempt: number;
  outcome: StepOutcome;
  detail: string | null;
  internal_detail: string | null;
  started_at: string;
  finished_at: string;
}>;

export const listSteps = async (
  reader: Reader,
  runId: string,
  page: Readonly<{ after?: number | undefined; limit: number }>,
): Promise<WorkflowStepRow[]> => {
  const { rows } = await reader.query<WorkflowStepRow>(
    `select sequence, step, attempt, outcome, detail, internal_detail, started_at, finished_at
     from workflow_steps where run_id = $1 and sequence > $2 order by sequence limit $3`,
    [runId, page.after ?? 0, page.limit],
  );
  return rows;
};

/** Stores a signal for a live run and wakes it if it waits for this name. False when the run has ended. */
export const insertSignal = async (
  tx: Tx,
  signal: Readonly<{ run_id: string; name: string; payload: object }>,
): Promise<boolean> => {
  const { rowCount } = await tx.query(
    `with run as (
       update workflow_runs r set signals_pending = r.signals_pending + 1,
         due_at = case when r.state = 'waiting' and r.waiting_for = $2 then clock_timestamp() else r.due_at end
       where r.id = $1 and r.state ${RUN_LIVE} returning r.id, r.organization_id)
     insert into workflow_signals (run_id, organization_id, name, payload) select id, organization_id, $2, $3 from run`,
    [signal.run_id, signal.name, JSON.stringify(signal.payload)],
  );
  return rowCount === 1;
};

/** Records the wish and makes a run that no worker holds due at once. Undefined when the run has ended. */
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
 * Sets a stuck run going again with a new deadline. A named step is a fresh start from there: a clean-up that was
 * under way and an old wish to cancel are forgotten. Undefined when it is not stuck or a later run took its place.
 */
export const restartRun = async (tx: Tx, id: string, step: string | null): Promise<WorkflowRunRow | undefined> => {
  const { rows } = await tx.query<WorkflowRunRow>(
    `update workflow_runs r set state = 'pending', state_since = clock_timestamp(), state_reason = null,
       state_detail = null, step = coalesce($2, r.step), attempt = 0, finished_at = null, wake_at = null,
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

/** Ends runs that are past their deadline and that no worker knows how to run: silence would hide them for ever. */
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
