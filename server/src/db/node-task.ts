/**
 * Work for hosts. A task is written once per (allocation, kind, attempt); whoever executes it takes it with `skip
 * locked` and may finish it only while it is the one who runs it, so a result that comes late changes nothing.
 */
import type { TaskKind, TaskParams } from '@gpuaas/contract/node';
import { invariant, mintId } from '@gpuaas/kit';
import { REASONS } from '../domain/reasons.ts';
import { taskExpiresS } from '../domain/task-limit.ts';
import type { Reader, Tx } from './client.ts';
import { TASK_HANDED_OUT, TASK_OPEN } from './predicates.ts';
import { statement } from './statement.ts';
import { type NodeTaskState, type TaskView, VIEW, type ViewRow, viewOf } from './task-view.ts';

export type { NodeTaskState } from './task-view.ts';

export type NodeTaskRow = Readonly<{
  id: string;
  node_id: string;
  allocation_id: string | null;
  slot_id: string | null;
  kind: string;
  params: Readonly<Record<string, unknown>>;
  attempt: number;
  slot_generation: number | null;
  state: NodeTaskState;
  state_reason: string | null;
  output: Readonly<Record<string, unknown>> | null;
  correlation_id: string;
  created_at: string;
  finished_at: string | null;
  workflow_run_id: string | null;
}>;

const TASK = `t.id, t.node_id, t.allocation_id, t.slot_id, t.kind, t.params, t.attempt, t.slot_generation, t.state,
  t.state_reason, t.output, t.correlation_id, t.created_at, t.finished_at, t.workflow_run_id`;

export type NewTask<K extends TaskKind> = Readonly<{
  node_id: string;
  kind: K;
  params: TaskParams<K>;
  correlation_id: string;
  /** Work on one allocation is done in order, one task at a time. */
  allocation_id?: string;
  /** The run that waits for it. */
  workflow_run_id?: string;
  /** Counted per allocation and kind, or per run and kind where there is no allocation. */
  attempt?: number;
}>;

const INSERT_TASK = statement(
  {
    id: 'text',
    node_id: 'text',
    allocation_id: 'text | null',
    kind: 'text',
    params: 'jsonb',
    attempt: 'integer',
    correlation_id: 'text',
    expires_in_s: 'float8',
    workflow_run_id: 'text | null',
  },
  `insert into node_tasks as t (id, node_id, allocation_id, kind, params, attempt, correlation_id, expires_at, workflow_run_id)
   values (:id, :node_id, :allocation_id, :kind, :params, :attempt, :correlation_id,
     clock_timestamp() + make_interval(secs => :expires_in_s), :workflow_run_id)
   returning ${VIEW}`,
);

/** The only way to ask a host for work. How long the task may take is declared with its kind. */
export const insertTask = async <K extends TaskKind>(tx: Tx, task: NewTask<K>): Promise<TaskView> => {
  const { rows } = await INSERT_TASK.query<ViewRow>(tx, {
    allocation_id: null,
    attempt: 1,
    workflow_run_id: null,
    ...task,
    id: mintId('tsk'),
    expires_in_s: taskExpiresS(task.kind),
  });
  const [row] = rows;
  invariant(row !== undefined, 'the task was just written');
  return viewOf(row);
};

/** The number of the newest attempt of one kind of work for an allocation, by whatever run; 0 where there is none. */
export const findLastAttempt = async (
  reader: Reader,
  of: Readonly<{ allocation_id: string | null; kind: string }>,
): Promise<number> =>
  (
    await reader.query<{ attempt: number }>(
      'select coalesce(max(attempt), 0) as attempt from node_tasks where allocation_id = $1 and kind = $2',
      [of.allocation_id, of.kind],
    )
  ).rows[0]?.attempt ?? 0;

/** Tasks that a host may be working on, whatever for. */
export const countTasksUnderWay = async (reader: Reader, allocationId: string): Promise<number> => {
  const { rows } = await reader.query<{ count: number }>(
    `select count(*) as count from node_tasks where allocation_id = $1 and state ${TASK_HANDED_OUT}`,
    [allocationId],
  );
  return rows[0]?.count ?? 0;
};

/** What no host has begun is not begun any more. */
export const cancelQueuedTasks = async (tx: Tx, allocationId: string, reason: string): Promise<void> => {
  await tx.query(
    `update node_tasks set state = 'cancelled', state_reason = $2, finished_at = clock_timestamp()
     where allocation_id = $1 and state = 'queued'`,
    [allocationId, reason],
  );
};

export type TaskResult = Readonly<{
  id: string;
  attempt: number;
  state: 'completed' | 'failed';
  reason: string | null;
  output: Readonly<Record<string, unknown>> | null;
}>;

/** Undefined when the task is not this attempt, or not under way any more, or too late. */
export const finishTask = async (tx: Tx, result: TaskResult): Promise<NodeTaskRow | undefined> => {
  const { rows } = await tx.query<NodeTaskRow>(
    `update node_tasks t set state = $3, state_reason = $4, output = $5, finished_at = clock_timestamp()
     where t.id = $1 and t.attempt = $2 and t.state ${TASK_HANDED_OUT} and t.expires_at > clock_timestamp() returning ${TASK}`,
    [
      result.id,
      result.attempt,
      result.state,
      result.reason,
      result.output === null ? null : JSON.stringify(result.output),
    ],
  );
  return rows[0];
};

/** The newest task of the allocation that did not come to what was asked. */
export const findLastFailure = async (
  reader: Reader,
  allocationId: string,
): Promise<Readonly<{ kind: string; state_reason: string | null }> | undefined> =>
  (
    await reader.query<{ kind: string; state_reason: string | null }>(
      `select kind, state_reason from node_tasks where allocation_id = $1 and state in ('failed', 'expired')
       order by finished_at desc nulls last, id desc limit 1`,
      [allocationId],
    )
  ).rows[0];

/** A completed task whose evidence does not hold has failed. */
export const rejectTask = async (tx: Tx, id: string, reason: string): Promise<void> => {
  await tx.query("update node_tasks set state = 'failed', state_reason = $2 where id = $1 and state = 'completed'", [
    id,
    reason,
  ]);
};

/** Ends what nobody finished in time. */
export const expireTasks = async (tx: Tx, limit: number): Promise<NodeTaskRow[]> => {
  const { rows } = await tx.query<NodeTaskRow>(
    `with late as materialized (
       select id from node_tasks where state ${TASK_OPEN} and expires_at <= clock_timestamp()
       order by expires_at limit $1 for update skip locked)
     update node_tasks t set state = 'expired', state_reason = $2, finished_at = clock_timestamp()
     from late where t.id = late.id returning ${TASK}`,
    [limit, REASONS.task_expired],
  );
  return rows;
};

/** The newest task of this kind that the run asked for since an operator last took it up again. */
export const findRunTask = async (
  reader: Reader,
  runId: string,
  kind: string,
): Promise<(NodeTaskRow & Readonly<{ age_ms: number; tries: number }>) | undefined> => {
  const { rows } = await reader.query<NodeTaskRow & { age_ms: number; tries: number }>(
    `select ${TASK},
       greatest(0, extract(epoch from clock_timestamp() - coalesce(t.finished_at, t.created_at)) * 1000)::float8 as age_ms,
       (count(*) over ())::integer as tries
     from node_tasks t where t.workflow_run_id = $1 and t.kind = $2
       and t.created_at > coalesce((select max(s.finished_at) from workflow_steps s where s.run_id = $1 and s.outcome = 'retried'), '-infinity')
     order by t.attempt desc, t.id desc limit 1`,
    [runId, kind],
  );
  return rows[0];
};

/** The run asks anew: what this task answered has been used. */
export const releaseRunTask = async (tx: Tx, id: string): Promise<void> => {
  await tx.query('update node_tasks set workflow_run_id = null where id = $1', [id]);
};

/** What the run asked for and no host has begun is not begun any more. How many are being done all the same. */
export const cancelRunTasks = async (tx: Tx, runId: string, reason: string): Promise<number> => {
  await tx.query(
    `update node_tasks set state = 'cancelled', state_reason = $2, finished_at = clock_timestamp()
     where workflow_run_id = $1 and state in ('queued', 'dispatched')`,
    [runId, reason],
  );
  const { rows } = await tx.query<{ count: number }>(
    "select count(*) as count from node_tasks where workflow_run_id = $1 and state = 'running'",
    [runId],
  );
  return rows[0]?.count ?? 0;
};
