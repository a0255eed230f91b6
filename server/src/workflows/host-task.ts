/**
 * How a run has a host do one thing. There is one way: in one transaction, the task of this run and kind is found or
 * created. A step that runs twice creates one task. An offline host is waited for and never counts as done. No task of
 * an allocation is created while its host may still run another one of it. `createRunHostTask` is for steps outside an
 * allocation, `runAllocationTask` of `allocation-steps.ts` for the steps of its life. `install-keys.ts` calls `ensureTask`
 * itself: it collects the keys under the allocation's lock, in the transaction that creates the task.
 */
import type { TaskKind, TaskOutput, TaskParams } from '@gpuaas/contract/node';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { insertTask } from '../db/node-task.ts';
import { countRunningTasks, findLastAttempt, findRunTask } from '../db/run-task.ts';
import { isTaskOpen } from '../domain/task.ts';
import { type Outcome, wait, waitForSignal } from './engine/outcome.ts';
import type { StepContext } from './engine/workflow.ts';

/**
 * The signal to a run when a task of it, or of its allocation, ended. A trigger sends it in the transaction that ends the
 * task, whatever the reason.
 */
export const TASK_FINISHED = 'task_finished';
/** A safety net: no path needs it. */
const RECHECK_MS = 60_000;

/** Delay after the n-th failed task. */
export type RetryDelay = (tries: number) => number;

export type TaskRequest<K extends TaskKind> = Readonly<{
  run_id: string;
  correlation_id: string;
  node_id: string;
  /** If set, the caller holds its lock. */
  allocation_id?: string;
  kind: K;
  tries_max: number;
  retryDelayMs: RetryDelay;
  /** Called in the transaction that is about to create the task. `skip` is the reason not to create it. */
  prepare(): Promise<Readonly<{ params: TaskParams<K>; sealed_user_data?: Buffer | null } | { skip: string }>>;
}>;

export type TaskProgress<K extends TaskKind> =
  | Readonly<{ kind: 'completed'; task_id: string; created_at: string; output: TaskOutput<K> }>
  | Readonly<{ kind: 'failed'; reason: string }>
  | Readonly<{ kind: 'skipped'; reason: string }>
  /** Wait for this task, or for another one of the allocation that its host may be running. */
  | Readonly<{ kind: 'open' }>
  /** Wait for the next try. */
  | Readonly<{ kind: 'later'; ms: number }>;

/** The progress of this run's task, which is created if it does not exist. */
export const ensureTask = async <K extends TaskKind>(tx: Tx, request: TaskRequest<K>): Promise<TaskProgress<K>> => {
  const { allocation_id, node_id, kind, run_id } = request;
  const ofAllocation = { allocation_id: allocation_id ?? null, kind };
  const [task, running, lastAttempt] = await Promise.all([
    findRunTask(tx, { run_id, node_id, kind }),
    allocation_id === undefined ? 0 : countRunningTasks(tx, { allocation_id, node_id }),
    findLastAttempt(tx, ofAllocation),
  ]);
  if (task !== undefined) {
    // A completed task has an output of its kind's shape; otherwise it has failed.
    if (task.state === 'completed')
      return {
        kind: 'completed',
        task_id: task.id,
        created_at: task.created_at,
        output: (task.output ?? {}) as TaskOutput<K>,
      };
    if (isTaskOpen(task.state)) return { kind: 'open' };
    if (task.tries >= request.tries_max)
      return { kind: 'failed', reason: task.state_reason ?? 'The agent gave no reason.' };
    const ms = request.retryDelayMs(task.tries) - task.age_ms;
    if (ms > 0) return { kind: 'later', ms };
  }
  if (running > 0) return { kind: 'open' };
  const prepared = await request.prepare();
  if ('skip' in prepared) return { kind: 'skipped', reason: prepared.skip };
  tx.defer(
    insertTask(tx, {
      node_id: request.node_id,
      ...(allocation_id === undefined ? {} : { allocation_id }),
      kind,
      params: prepared.params,
      sealed_user_data: prepared.sealed_user_data ?? null,
      attempt: (allocation_id === undefined ? (task?.attempt ?? 0) : lastAttempt) + 1,
      correlation_id: request.correlation_id,
      workflow_run_id: run_id,
    }),
  );
  return { kind: 'open' };
};

/** The outcome of a step that has to wait for its task. */
export const waitForTask = (progress: Readonly<{ kind: 'open' } | { kind: 'later'; ms: number }>, doing: string) =>
  progress.kind === 'open'
    ? waitForSignal(TASK_FINISHED, RECHECK_MS, doing)
    : wait(progress.ms, `${doing} It is retried shortly.`);

/** Called before a step reads its task, which already holds what the signal announced. */
export const consumeTaskSignal = (ctx: StepContext): void => {
  let signal = ctx.signals.take(TASK_FINISHED);
  while (signal !== undefined) signal = ctx.signals.take(TASK_FINISHED);
};

export type HostTaskRequest<K extends TaskKind> = Readonly<{
  node_id: string;
  kind: K;
  params: TaskParams<K>;
  tries_max: number;
  /** Shown to users meanwhile. */
  doing: string;
  /** Evaluated in the transaction that creates the task; a returned sentence is the reason not to create it. */
  unless?: (tx: Tx) => Promise<string | undefined>;
}>;

export type HostTaskResult<K extends TaskKind> =
  | Exclude<TaskProgress<K>, Readonly<{ kind: 'open' } | { kind: 'later' }>>
  | Readonly<{ kind: 'waiting'; outcome: Outcome<never> }>;

export type RunHostTask = <K extends TaskKind>(
  ctx: StepContext,
  request: HostTaskRequest<K>,
) => Promise<HostTaskResult<K>>;

const RETRY_MS = 5_000;
const RETRY_MAX_MS = 300_000;
/** A task that fails for days is retried every five minutes, so a host that returns does not wait long. */
const exponential: RetryDelay = (tries) => Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** Math.min(20, tries - 1));

/** Runs one host task for a step, outside any allocation. */
export const createRunHostTask =
  (database: Database, retryDelayMs: RetryDelay = exponential): RunHostTask =>
  async (ctx, { doing, unless, params, ...request }) => {
    consumeTaskSignal(ctx);
    const progress = await database.write(PLATFORM, (tx) =>
      ensureTask(tx, {
        ...request,
        run_id: ctx.run.id,
        correlation_id: ctx.run.correlation_id,
        retryDelayMs,
        prepare: async () => {
          const skip = await unless?.(tx);
          return skip === undefined ? { params } : { skip };
        },
      }),
    );
    return progress.kind === 'open' || progress.kind === 'later'
      ? { kind: 'waiting', outcome: waitForTask(progress, doing) }
      : progress;
  };
