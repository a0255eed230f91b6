/**
 * Reports the progress of a task at a limited rate: the newest report replaces those that are not sent yet. A task that
 * ends within a quarter of the interval reports its result alone.
 */
import type { TaskProgress } from '@gpuaas/contract/node';
import { retryAfterMs } from './control-plane/errors.ts';
import type { TaskApi, TaskRef } from './control-plane/task-api.ts';
import type { TaskUpdate } from './tasks/task.ts';

export const createProgressReporter = (
  options: Readonly<{
    api: TaskApi;
    task: TaskRef;
    every_ms: number;
    signal: AbortSignal;
    onTaskClosed: () => void;
  }>,
) => {
  let latest: TaskProgress | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isSending = false;
  let isStopped = false;
  let lastSentMs = performance.now() - options.every_ms * 0.75;

  const send = async (): Promise<void> => {
    timer = undefined;
    const progress = latest;
    if (progress === undefined || isSending || isStopped) return;
    latest = undefined;
    isSending = true;
    lastSentMs = performance.now();
    try {
      const response = await options.api.progress(options.task, progress, options.signal);
      if (!response.is_open && !isStopped) options.onTaskClosed();
    } catch (err) {
      // Progress is optional: only the result decides.
      lastSentMs += retryAfterMs(err);
    } finally {
      isSending = false;
      schedule();
    }
  };
  const schedule = (): void => {
    if (latest === undefined || timer !== undefined || isSending || isStopped) return;
    timer = setTimeout(() => void send(), Math.max(0, lastSentMs + options.every_ms - performance.now()));
  };

  return {
    report: (update: TaskUpdate): void => {
      latest = {
        attempt: options.task.attempt,
        percent: Math.min(100, Math.max(0, Math.floor(update.percent) || 0)),
        bytes_per_s: update.bytes_per_s == null ? null : Math.max(0, Math.round(update.bytes_per_s)),
        note: update.note?.slice(0, 200) ?? null,
      };
      schedule();
    },
    stop: (): void => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
};
