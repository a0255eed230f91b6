/**
 * Results on their way to the platform: each is told until it was taken, by one teller at a time, and only then
 * acknowledged in the journal.
 */
import type { TaskResult } from '@gpuaas/contract/node';
import type { Log } from '@gpuaas/kit';
import type { TaskApi, TaskRef } from './control-plane/task-api.ts';
import type { Journal, TaskRecord } from './journal.ts';
import { type Patience, reportResult } from './report.ts';

export type Telling = Readonly<{
  tell(task: TaskRef, result: TaskResult, log: Log): void;
  /** The result of a finished task, as the journal has it. */
  retell(record: TaskRecord): void;
  idle(): Promise<void>;
}>;

export type TellingOptions = Readonly<{
  api: TaskApi;
  journal: Journal;
  log: Log;
  signal: AbortSignal;
  patience: Patience;
  at: (boundary: 'reported' | 'acknowledged', taskId: string) => void;
}>;

export const createTelling = ({ api, journal, log, signal, patience, at }: TellingOptions): Telling => {
  const telling = new Map<string, Promise<void>>();

  const story = async (task: TaskRef, result: TaskResult, taskLog: Log): Promise<void> => {
    if (!(await reportResult({ api, task, result, signal, patience, log: taskLog }))) return;
    at('reported', task.task_id);
    await journal.acknowledge(task.task_id);
    at('acknowledged', task.task_id);
  };
  const tell: Telling['tell'] = (task, result, taskLog) => {
    if (telling.has(task.task_id)) return;
    telling.set(
      task.task_id,
      story(task, result, taskLog)
        .catch((err: unknown) => taskLog.error({ err }, 'the result could not be told'))
        .finally(() => telling.delete(task.task_id)),
    );
  };
  const retell = async ({ task_id, payload }: TaskRecord): Promise<void> => {
    const result = await journal.resultOf(task_id);
    if (result === null) return;
    const correlation_id = payload?.correlation_id ?? task_id;
    tell({ task_id, attempt: result.attempt, correlation_id }, result, log.child({ task_id, correlation_id }));
  };

  return {
    tell,
    retell: (record) => {
      retell(record).catch((err: unknown) => log.error({ err, task_id: record.task_id }, 'a result could not be read'));
    },
    idle: async () => {
      await Promise.all(telling.values());
    },
  };
};
