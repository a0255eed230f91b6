/**
 * Work for hosts. A task is written once per (allocation, kind, attempt) and handed out by one process only, which takes it
 * with `skip locked`. A result counts for the node, the task and the attempt that were handed out, so a result that comes
 * late changes nothing.
 */
import type { TaskKind, TaskParams } from '@gpuaas/contract/node';
import { invariant, mintId } from '@gpuaas/kit';
import { REASONS } from '../domain/reasons.ts';
import { CHANGING_TASK_KINDS } from '../domain/task.ts';
import { taskExpiresS } from '../domain/task-limit.ts';
import { type JournaledTasks, nodesOf, OUTGOING, type OutgoingTask, pairsOf } from './agent-task.ts';
import type { Reader, Tx } from './client.ts';
import { TASK_HANDED_OUT, TASK_OPEN, TASK_UNSTARTED, taskIsHeld, taskIsLate, taskKindIn } from './predicates.ts';
import { statement } from './statement.ts';
import { type TaskView, VIEW, type ViewRow, viewOf } from './task-view.ts';
import type { NodeTasks } from './types.gen.ts';

export type NodeTaskRow = Readonly<
  Pick<
    NodeTasks,
    | 'id'
    | 'node_id'
    | 'allocation_id'
    | 'slot_id'
    | 'kind'
    | 'attempt'
    | 'slot_generation'
    | 'state'
    | 'state_reason'
    | 'error_code'
    | 'correlation_id'
    | 'created_at'
    | 'finished_at'
    | 'workflow_run_id'
  > & {
    params: Readonly<Record<string, unknown>>;
    output: Readonly<Record<string, unknown>> | null;
  }
>;

export const TASK = `t.id, t.node_id, t.allocation_id, t.slot_id, t.kind, t.params, t.attempt, t.slot_generation, t.state,
  t.state_reason, t.error_code, t.output, t.correlation_id, t.created_at, t.finished_at, t.workflow_run_id`;

export type NewTask<K extends TaskKind> = Readonly<{
  node_id: string;
  kind: K;
  params: TaskParams<K>;
  correlation_id: string;
  /** Work on one allocation is done in order, one task at a time. */
  allocation_id?: string;
  /** The run that waits for it. */
  workflow_run_id?: string;
  /** Opened and put into the params when the task is sent. */
  sealed_user_data?: Buffer | null;
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
    sealed_user_data: 'bytea | null',
  },
  `insert into node_tasks as t (id, node_id, allocation_id, kind, params, attempt, correlation_id, expires_at, workflow_run_id,
     sealed_user_data)
   values (:id, :node_id, :allocation_id, :kind, :params, :attempt, :correlation_id,
     clock_timestamp() + make_interval(secs => :expires_in_s), :workflow_run_id, :sealed_user_data)
   returning ${VIEW}`,
);

/** The only way to ask a host for work. How long the task may take is declared with its kind. */
export const insertTask = async <K extends TaskKind>(tx: Tx, task: NewTask<K>): Promise<TaskView> => {
  const { rows } = await INSERT_TASK.query<ViewRow>(tx, {
    allocation_id: null,
    attempt: 1,
    workflow_run_id: null,
    sealed_user_data: null,
    ...task,
    id: mintId('tsk'),
    expires_in_s: taskExpiresS(task.kind),
  });
  const [row] = rows;
  invariant(row !== undefined, 'the task was just written');
  return viewOf(row);
};

/** Cancels the tasks of an allocation that its host has not started. */
export const cancelQueuedTasks = async (
  tx: Tx,
  { allocation_id, node_id }: Readonly<{ allocation_id: string; node_id: string }>,
  reason: string,
): Promise<void> => {
  await tx.query(
    `update node_tasks set state = 'cancelled', state_reason = $3, finished_at = clock_timestamp()
     where allocation_id = $1 and node_id = $2 and state = 'queued'`,
    [allocation_id, node_id, reason],
  );
};

export type TaskResult = Readonly<{
  id: string;
  attempt: number;
  state: 'completed' | 'failed';
  error_code?: string | null;
  reason: string | null;
  output: Readonly<Record<string, unknown>> | null;
}>;

/** Undefined when the task is not this attempt, or not under way any more, or too late. */
export const finishTask = async (tx: Tx, result: TaskResult): Promise<NodeTaskRow | undefined> => {
  const { rows } = await tx.query<NodeTaskRow>(
    `update node_tasks t set state = $3, state_reason = $4, output = $5, error_code = $6, finished_at = least(clock_timestamp(), t.expires_at)
     where t.id = $1 and t.attempt = $2 and t.state ${TASK_HANDED_OUT} and not ${taskIsLate('t')} returning ${TASK}`,
    [
      result.id,
      result.attempt,
      result.state,
      result.reason,
      result.output === null ? null : JSON.stringify(result.output),
      result.error_code ?? null,
    ],
  );
  return rows[0];
};

/** A completed task whose evidence does not hold has failed. */
export const rejectTask = async (tx: Tx, id: string, reason: string): Promise<void> => {
  await tx.query("update node_tasks set state = 'failed', state_reason = $2 where id = $1 and state = 'completed'", [
    id,
    reason,
  ]);
};

export type OverdueTask = Readonly<{ id: string; expires_at: string }>;

/** Tasks without a result in time, the longest overdue first. A held task waits for its release, not for a host. */
export const listOverdueTasks = async (
  reader: Reader,
  after: OverdueTask | undefined,
  limit: number,
): Promise<OverdueTask[]> =>
  (
    await reader.query<OverdueTask>(
      `select id, expires_at::text as expires_at from node_tasks t
       where state ${TASK_OPEN} and ${taskIsLate('t')} and not (state = 'queued' and ${taskIsHeld('t')})
         and ($1::timestamptz is null or (expires_at, id) > ($1, $2)) order by expires_at, id limit $3`,
      [after?.expires_at ?? null, after?.id ?? null, limit],
    )
  ).rows;

/**
 * Undefined when it has ended, is not overdue any more, or another transaction has it. An agent acts on a task only after
 * it reported the start, so one that it did not start had no effect.
 */
export const expireTask = async (tx: Tx, id: string): Promise<NodeTaskRow | undefined> => {
  const { rows } = await tx.query<NodeTaskRow>(
    `with late as materialized (
       select id, state, kind from node_tasks o where id = $1 and state ${TASK_OPEN} and ${taskIsLate('o')}
       for update skip locked)
     update node_tasks t set state = case when w.is_unknown then 'unknown' else 'expired' end,
       state_reason = case when w.is_unknown then $3 else $2 end, finished_at = clock_timestamp()
     from late, lateral (select late.state = 'running' and late.kind = any ($4) as is_unknown) w
     where t.id = late.id returning ${TASK}`,
    [id, REASONS.task_expired, REASONS.task_unknown, CHANGING_TASK_KINDS],
  );
  return rows[0];
};

/**
 * Of a task that cannot be sent to any host. Undefined when a host began it, or it has ended: an agent acts on a task only after
 * it reported the start.
 */
export const failUnsentTask = async (tx: Tx, id: string, reason: string): Promise<NodeTaskRow | undefined> => {
  const { rows } = await tx.query<NodeTaskRow>(
    `update node_tasks t set state = 'failed', state_reason = $2, error_code = 'bad_params', finished_at = clock_timestamp()
     where t.id = $1 and t.state ${TASK_UNSTARTED} returning ${TASK}`,
    [id, reason],
  );
  return rows[0];
};

/** Detaches the task from its run, which has used its result, so that the run creates another. */
export const releaseRunTask = async (tx: Tx, id: string): Promise<void> => {
  await tx.query('update node_tasks set workflow_run_id = null where id = $1', [id]);
};

/** Cancels the tasks of a run that no host has started. Returns how many a host is running. */
export const cancelRunTasks = async (tx: Tx, runId: string, reason: string): Promise<number> => {
  await tx.query(
    `update node_tasks set state = 'cancelled', state_reason = $2, finished_at = clock_timestamp()
     where workflow_run_id = $1 and state ${TASK_UNSTARTED}`,
    [runId, reason],
  );
  const { rows } = await tx.query<{ count: number }>(
    "select count(*) as count from node_tasks where workflow_run_id = $1 and state = 'running'",
    [runId],
  );
  return rows[0]?.count ?? 0;
};

/** Returns how many tasks were cancelled. Taken before the node's row of the index, as results of tasks are. */
export const cancelNodeTasks = async (tx: Tx, nodeId: string, reason: string): Promise<number> =>
  (
    await tx.query(
      `update node_tasks set state = 'cancelled', state_reason = $2, finished_at = clock_timestamp()
       where node_id = $1 and state ${TASK_OPEN}`,
      [nodeId, reason],
    )
  ).rowCount;

/** Of tasks that this transaction has locked while they were queued. */
export const markDispatched = async (tx: Tx, ids: readonly string[]): Promise<void> => {
  await tx.query("update node_tasks set state = 'dispatched', dispatched_at = clock_timestamp() where id = any ($1)", [
    ids,
  ]);
};

/** Handed out before to these agents, and not in their hands. Those of the last moment may be on their way. */
export const redispatchTasks = async (
  tx: Tx,
  agents: readonly JournaledTasks[],
  onTheirWayS: number,
): Promise<OutgoingTask[]> =>
  (
    await tx.query<OutgoingTask>(
      `with lost as materialized (
         select o.id from node_tasks o where o.node_id = any ($1) and o.state ${TASK_HANDED_OUT}
           and o.expires_at > clock_timestamp() and o.node_id || ' ' || o.id <> all ($2) and not ${taskIsHeld('o')}
           and o.dispatched_at <= clock_timestamp() - make_interval(secs => $3)
         order by o.id for update of o skip locked)
       update node_tasks t set dispatched_at = clock_timestamp() from lost where t.id = lost.id returning ${OUTGOING}`,
      [nodesOf(agents), pairsOf(agents), onTheirWayS],
    )
  ).rows;

export type TaskOnNode = Readonly<{ id: string; node_id: string; attempt: number }>;

/**
 * True while the task may be begun; begun twice is begun once. One that is queued was sent by a process that could not
 * write it down any more: who asks for it by its id has it. What was begun for the first time may take as long as is given
 * for its kind, in seconds.
 */
export const startTask = async (
  tx: Tx,
  task: TaskOnNode,
  begunExpiresS: Readonly<Record<string, number>>,
): Promise<boolean> =>
  (
    await tx.query(
      `update node_tasks t set state = 'running', started_at = coalesce(started_at, clock_timestamp()),
         dispatched_at = coalesce(dispatched_at, clock_timestamp()),
         expires_at = case when started_at is null
           then greatest(expires_at, clock_timestamp() + make_interval(secs => ($4::jsonb ->> kind)::float8)) else expires_at end
       where id = $1 and node_id = $2 and attempt = $3 and state ${TASK_OPEN}
         and expires_at > clock_timestamp() and not ${taskIsHeld('t')}`,
      [task.id, task.node_id, task.attempt, JSON.stringify(begunExpiresS)],
    )
  ).rowCount === 1;

const NOTE_PROGRESS = statement(
  {
    id: 'text',
    node_id: 'text',
    attempt: 'integer',
    percent: 'integer | null',
    bytes_per_s: 'bigint | null',
    note: 'text | null',
  },
  `update node_tasks set percent = :percent, bytes_per_s = :bytes_per_s, progress_note = :note, progressed_at = clock_timestamp()
   where id = :id and node_id = :node_id and attempt = :attempt and state ${TASK_HANDED_OUT} and expires_at > clock_timestamp()`,
);

/** True while anyone wants to know. */
export const noteProgress = async (
  tx: Tx,
  task: TaskOnNode,
  progress: Readonly<{ percent: number; bytes_per_s: number | null; note: string | null }>,
): Promise<boolean> => (await NOTE_PROGRESS.query(tx, { ...progress, ...task })).rowCount === 1;

/** When the host says that it began, of a task whose start was not reported. */
export const noteStart = async (tx: Tx, id: string, startedAt: string | null): Promise<void> => {
  await tx.query('update node_tasks set started_at = $2::timestamptz where id = $1 and started_at is null', [
    id,
    startedAt,
  ]);
};

/** Cancels the task of a session that no host has started. */
export const cancelStreamTask = async (tx: Tx, sessionId: string): Promise<void> => {
  await tx.query(
    `update node_tasks t set state = 'cancelled', state_reason = $2, finished_at = clock_timestamp()
     from terminal_sessions s where s.id = $1 and t.id = s.task_id and t.state = 'queued'`,
    [sessionId, REASONS.session_over],
  );
};

/** The audit log and the session record their outcome. They are kept for a day, for diagnosis. */
export const deleteOldStreamTasks = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `with old as materialized (
         select id from node_tasks where kind ${taskKindIn('stream.open')} and finished_at < now() - interval '1 day'
         order by finished_at limit $1 for update skip locked)
       delete from node_tasks t using old where t.id = old.id`,
      [limit],
    )
  ).rowCount;
