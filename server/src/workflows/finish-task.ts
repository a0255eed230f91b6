/** A host's answer: written if the task is still this attempt's, and told to the run that waits for it. */
import type { Tx } from '../db/client.ts';
import { expireTasks, finishTask as moveTask, type NodeTaskRow, type TaskResult } from '../db/node-task.ts';
import { TASK_FINISHED } from './allocation-steps.ts';
import { signalRun } from './engine/run.ts';
import { endClone } from './install.ts';

type Wake = () => void;

const tell = async (tx: Tx, task: NodeTaskRow, wake?: Wake): Promise<void> => {
  if (task.workflow_run_id !== null) await signalRun(tx, { run_id: task.workflow_run_id, name: TASK_FINISHED }, wake);
};

/** False when the answer came too late to count. */
export const finishTask = async (tx: Tx, result: TaskResult, wake?: Wake): Promise<boolean> => {
  const task = await moveTask(tx, result);
  if (task === undefined) return false;
  await tell(tx, task, wake);
  await endClone(tx, task);
  return true;
};

/** How many tasks nobody finished in time. */
export const expireOverdueTasks = async (tx: Tx, limit: number, wake?: Wake): Promise<number> => {
  const late = await expireTasks(tx, limit);
  for (const task of late) await tell(tx, task, wake);
  return late.length;
};
