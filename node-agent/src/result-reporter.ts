/**
 * Retries each result until the control plane accepts it, one request at a time, and then acknowledges it in the journal.
 */
import type { TaskResult } from '@gpuaas/contract/node';
import type { Log } from '@gpuaas/kit';
import type { TaskApi, TaskRef } from './control-plane/task-api.ts';
import type { Journal, TaskRecord } from './journal.ts';
import { type RetrySettings, sendResult } from './send-result.ts';

export type ResultReporter = Readonly<{
  report(task: TaskRef, result: TaskResult, log: Log): void;
  /** Reports the result of a finished task from the journal. */
  repeat(record: TaskRecord): void;
  idle(): Promise<void>;
}>;

export type ResultReporterOptions = Readonly<{
  api: TaskApi;
  journal: Journal;
  log: Log;
  signal: AbortSignal;
  patience: RetrySettings;
  at: (boundary: 'reported' | 'acknowledged', taskId: string) => void;
}>;

export const createResultReporter = ({
  api,
  journal,
  log,
  signal,
  patience,
  at,
}: ResultReporterOptions): ResultReporter => {
  const reporting = new Map<string, Promise<void>>();

  const deliver = async (task: TaskRef, result: TaskResult, taskLog: Log): Promise<void> => {
    if (!(await sendResult({ api, task, result, signal, retry: patience, log: taskLog }))) return;
    at('reported', task.task_id);
    await journal.acknowledge(task.task_id);
    at('acknowledged', task.task_id);
  };
  const report: ResultReporter['report'] = (task, result, taskLog) => {
    if (reporting.has(task.task_id)) return;
    reporting.set(
      task.task_id,
      deliver(task, result, taskLog)
        .catch((err: unknown) => taskLog.error({ err }, 'failed to report result'))
        .finally(() => reporting.delete(task.task_id)),
    );
  };
  const repeat = async ({ task_id, payload }: TaskRecord): Promise<void> => {
    const result = await journal.resultOf(task_id);
    if (result === null) return;
    const correlation_id = payload?.correlation_id ?? task_id;
    report({ task_id, attempt: result.attempt, correlation_id }, result, log.child({ task_id, correlation_id }));
  };

  return {
    report,
    repeat: (record) => {
      repeat(record).catch((err: unknown) =>
        log.error({ err, task_id: record.task_id }, 'failed to read result from journal'),
      );
    },
    idle: async () => {
      await Promise.all(reporting.values());
    },
  };
};
