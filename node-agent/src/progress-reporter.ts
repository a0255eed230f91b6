/** Tells how far a task is, at most every so often: the newest word replaces those that were not sent yet. */
import type { TaskProgress } from '@gpuaas/contract/node';
import { askedMs } from './control-plane/errors.ts';
import type { TaskApi, TaskRef } from './control-plane/task-api.ts';
import type { TaskUpdate } from './tasks/task.ts';

export const createTeller = (
  options: Readonly<{
    api: TaskApi;
    task: TaskRef;
    every_ms: number;
    signal: AbortSignal;
    onUnwanted: () => void;
  }>,
) => {
  let latest: TaskProgress | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isSending = false;
  let isStopped = false;
  let lastSentMs = -Infinity;

  const send = async (): Promise<void> => {
    timer = undefined;
    const progress = latest;
    if (progress === undefined || isSending || isStopped) return;
    latest = undefined;
    isSending = true;
    lastSentMs = performance.now();
    try {
      const answer = await options.api.progress(options.task, progress, options.signal);
      if (!answer.is_wanted && !isStopped) options.onUnwanted();
    } catch (err) {
      // Progress is a courtesy: the result tells whether it went well.
      lastSentMs += askedMs(err);
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
    tell: (told: TaskUpdate): void => {
      latest = {
        attempt: options.task.attempt,
        percent: Math.min(100, Math.max(0, Math.floor(told.percent) || 0)),
        bytes_per_s: told.bytes_per_s == null ? null : Math.max(0, Math.round(told.bytes_per_s)),
        note: told.note?.slice(0, 200) ?? null,
      };
      schedule();
    },
    stop: (): void => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
};
