/**
 * How a run has a host do one thing. There is one way: the task of this run and kind is found where it was left, or asked
 * for, in one transaction. A step that runs twice asks once; a host that is away is waited for, never taken for done; and a
 * task of an allocation is not asked for while a host may still be working on another one of it.
 */
import type { TaskKind, TaskOutput, TaskParams } from '@gpuaas/contract/node';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { countTasksUnderWay, findLastAttempt, findRunTask, insertTask } from '../db/node-task.ts';
import { isTaskOpen } from '../domain/task.ts';
import { type Outcome, wait, waitForSignal } from './engine/outcome.ts';
import type { StepContext } from './engine/workflow.ts';

/** Sent to the run when a host has finished a task of it. */
export const TASK_FINISHED = 'task_finished';
/** A lost signal costs this long. */
const LOOK_AGAIN_MS = 5_000;
const UNDER_WAY_MS = 1_000;

/** How long the n-th failed task rests before the next. */
export type RetryDelay = (tries: number) => number;

export type TaskAsk<K extends TaskKind> = Readonly<{
  run_id: string;
  correlation_id: string;
  node_id: string;
  /** Where there is one, the caller holds its lock. */
  allocation_id?: string;
  kind: K;
  tries_max: number;
  retryDelayMs: RetryDelay;
  /** Called when the task is about to be asked for, in that transaction. A sentence keeps it from being asked for. */
  prepare(): Promise<Readonly<{ params: TaskParams<K> } | { withheld: string }>>;
}>;

export type TaskAnswer<K extends TaskKind> =
  | Readonly<{ kind: 'completed'; task_id: string; output: TaskOutput<K> }>
  | Readonly<{ kind: 'failed'; reason: string }>
  | Readonly<{ kind: 'withheld'; reason: string }>
  | Readonly<{ kind: 'open' }>
  /** The next try, or another task of the allocation, must be waited for. */
  | Readonly<{ kind: 'later'; ms: number }>;

/** How far the host is with the task of this run; asked for where it is not there. */
export const ensureTask = async <K extends TaskKind>(tx: Tx, ask: TaskAsk<K>): Promise<TaskAnswer<K>> => {
  const { allocation_id, kind, run_id } = ask;
  const ofAllocation = { allocation_id: allocation_id ?? null, kind };
  const [own, underWay, lastAttempt] = await Promise.all([
    findRunTask(tx, run_id, kind),
    allocation_id === undefined ? 0 : countTasksUnderWay(tx, allocation_id),
    findLastAttempt(tx, ofAllocation),
  ]);
  if (own !== undefined) {
    // A completed task has an output of its kind's shape: another one has failed.
    if (own.state === 'completed')
      return { kind: 'completed', task_id: own.id, output: (own.output ?? {}) as TaskOutput<K> };
    if (isTaskOpen(own.state)) return { kind: 'open' };
    if (own.tries >= ask.tries_max) return { kind: 'failed', reason: own.state_reason ?? 'The agent gave no reason.' };
    const ms = ask.retryDelayMs(own.tries) - own.age_ms;
    if (ms > 0) return { kind: 'later', ms };
  }
  if (underWay > 0) return { kind: 'later', ms: UNDER_WAY_MS };
  const prepared = await ask.prepare();
  if ('withheld' in prepared) return { kind: 'withheld', reason: prepared.withheld };
  await insertTask(tx, {
    node_id: ask.node_id,
    ...(allocation_id === undefined ? {} : { allocation_id }),
    kind,
    params: prepared.params,
    attempt: (allocation_id === undefined ? (own?.attempt ?? 0) : lastAttempt) + 1,
    correlation_id: ask.correlation_id,
    workflow_run_id: run_id,
  });
  return { kind: 'open' };
};

/** What a step does that has to wait for its host. */
export const restUntil = (answer: Readonly<{ kind: 'open' } | { kind: 'later'; ms: number }>, doing: string) =>
  answer.kind === 'open'
    ? waitForSignal(TASK_FINISHED, LOOK_AGAIN_MS, doing)
    : wait(answer.ms, `${doing} It is retried shortly.`);

/** Called before a step looks at its task: what the signal announced is in the task by now. */
export const takeSignal = (ctx: StepContext): void => void ctx.signals.take(TASK_FINISHED);

export type HostAsk<K extends TaskKind> = Readonly<{
  node_id: string;
  kind: K;
  params: TaskParams<K>;
  tries_max: number;
  /** What a person reads meanwhile. */
  doing: string;
  /** Asked in the transaction that asks the host: a sentence keeps the task from being asked for. */
  unless?: (tx: Tx) => Promise<string | undefined>;
}>;

export type HostAnswer<K extends TaskKind> =
  | Exclude<TaskAnswer<K>, Readonly<{ kind: 'open' } | { kind: 'later' }>>
  | Readonly<{ kind: 'resting'; outcome: Outcome<never> }>;

export type AskHost = <K extends TaskKind>(ctx: StepContext, wanted: HostAsk<K>) => Promise<HostAnswer<K>>;

const RETRY_MS = 5_000;
const RETRY_MAX_MS = 300_000;
/** A task that fails for days is asked for every five minutes, so a host that returns does not wait long. */
const growing: RetryDelay = (tries) => Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** Math.min(20, tries - 1));

/** A step that has a host do one thing for a run, outside any allocation. */
export const createAskHost =
  (database: Database, retryDelayMs: RetryDelay = growing): AskHost =>
  async (ctx, { doing, unless, params, ...wanted }) => {
    takeSignal(ctx);
    const answer = await database.write(PLATFORM, (tx) =>
      ensureTask(tx, {
        ...wanted,
        run_id: ctx.run.id,
        correlation_id: ctx.run.correlation_id,
        retryDelayMs,
        prepare: async () => {
          const withheld = await unless?.(tx);
          return withheld === undefined ? { params } : { withheld };
        },
      }),
    );
    return answer.kind === 'open' || answer.kind === 'later'
      ? { kind: 'resting', outcome: restUntil(answer, doing) }
      : answer;
  };
