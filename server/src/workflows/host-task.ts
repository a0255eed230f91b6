/**
 * A step that has a host do one thing for a run, outside any allocation. It finds its task where it left it when it
 * runs again, and rests until the host has answered: a host that is away is waited for, never taken for done.
 */
import type { TaskKind, TaskParams } from '@gpuaas/contract/node';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { findRunTask, insertTask } from '../db/node-task.ts';
import { isTaskOpen } from '../domain/task.ts';
import { TASK_FINISHED } from './allocation-steps.ts';
import { type Outcome, wait, waitForSignal } from './engine/outcome.ts';
import type { StepContext } from './engine/workflow.ts';

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

export type HostAnswer =
  | Readonly<{ kind: 'completed'; task_id: string; output: Readonly<Record<string, unknown>> }>
  | Readonly<{ kind: 'failed' | 'kept_away'; reason: string }>
  | Readonly<{ kind: 'resting'; outcome: Outcome<never> }>;

const LOOK_AGAIN_MS = 5_000;
const RETRY_MS = 5_000;

const ask = async <K extends TaskKind>(tx: Tx, ctx: StepContext, wanted: HostAsk<K>): Promise<HostAnswer> => {
  const latest = await findRunTask(tx, ctx.run.id, wanted.kind);
  if (latest?.state === 'completed') return { kind: 'completed', task_id: latest.id, output: latest.output ?? {} };
  if (latest !== undefined) {
    if (isTaskOpen(latest.state))
      return { kind: 'resting', outcome: waitForSignal(TASK_FINISHED, LOOK_AGAIN_MS, wanted.doing) };
    if (latest.tries >= wanted.tries_max)
      return { kind: 'failed', reason: latest.state_reason ?? 'The host did not say why.' };
    const ms = RETRY_MS - latest.age_ms;
    if (ms > 0) return { kind: 'resting', outcome: wait(ms, `${wanted.doing} It is tried again shortly.`) };
  }
  const keptAway = await wanted.unless?.(tx);
  if (keptAway !== undefined) return { kind: 'kept_away', reason: keptAway };
  await insertTask(tx, {
    node_id: wanted.node_id,
    kind: wanted.kind,
    params: wanted.params,
    correlation_id: ctx.run.correlation_id,
    workflow_run_id: ctx.run.id,
    attempt: (latest?.attempt ?? 0) + 1,
  });
  return { kind: 'resting', outcome: waitForSignal(TASK_FINISHED, LOOK_AGAIN_MS, wanted.doing) };
};

export type AskHost = <K extends TaskKind>(ctx: StepContext, wanted: HostAsk<K>) => Promise<HostAnswer>;

export const createAskHost =
  (database: Database): AskHost =>
  (ctx, wanted) => {
    // Used up before looking: what it told is in the task by now.
    ctx.signals.take(TASK_FINISHED);
    return database.write(PLATFORM, (tx) => ask(tx, ctx, wanted));
  };
