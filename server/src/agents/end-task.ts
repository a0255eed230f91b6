/**
 * How a task ends, in one transaction: its row, the signal to the run that waits for it, and what is declared for its kind
 * in `result-processors.ts`. There is no other way for a result to take effect.
 */
import { isTaskKind, type TaskKind } from '@gpuaas/contract/node';
import type { Tx } from '../db/client.ts';
import { expireTasks, finishTask as moveTask, type NodeTaskRow, rejectTask, type TaskResult } from '../db/node-task.ts';
import { TASK_FINISHED } from '../workflows/ask-host.ts';
import { signalRun } from '../workflows/engine/run.ts';
import { RESULT_PROCESSORS, type ResultProcessor, type ResultProcessors } from './result-processors.ts';

export type EndContext = Readonly<{ now: Date; wake?: () => void; processors?: ResultProcessors }>;
export type Ended = Readonly<{
  /** False when the result came too late to count. */
  is_accepted: boolean;
  /** Why a completed task has failed after all. */
  objection: string | null;
}>;

const processorOf = (kind: string, processors: ResultProcessors): ResultProcessor<TaskKind> | undefined =>
  isTaskKind(kind) ? (processors[kind] as ResultProcessor<TaskKind>) : undefined;

const end = async (tx: Tx, task: NodeTaskRow, ctx: EndContext): Promise<string | null> => {
  const processor = processorOf(task.kind, ctx.processors ?? RESULT_PROCESSORS);
  if (task.workflow_run_id !== null)
    await signalRun(tx, { run_id: task.workflow_run_id, name: TASK_FINISHED }, ctx.wake);
  const objection =
    task.state === 'completed'
      ? ((await processor?.completed?.(tx, task, (task.output ?? {}) as never, ctx.now)) ?? null)
      : null;
  if (objection !== null) await rejectTask(tx, task.id, objection);
  await processor?.ended?.(tx, objection === null ? task : { ...task, state: 'failed', state_reason: objection });
  return objection;
};

export const finishTask = async (tx: Tx, result: TaskResult, ctx: EndContext): Promise<Ended> => {
  const task = await moveTask(tx, result);
  return task === undefined
    ? { is_accepted: false, objection: null }
    : { is_accepted: true, objection: await end(tx, task, ctx) };
};

/** How many tasks nobody finished in time. */
export const expireOverdueTasks = async (tx: Tx, limit: number, ctx: EndContext): Promise<number> => {
  const late = await expireTasks(tx, limit);
  for (const task of late) await end(tx, task, ctx);
  return late.length;
};
