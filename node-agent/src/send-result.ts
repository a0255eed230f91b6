/**
 * Sends a result until the control plane responds. "Not accepted" is a response too: the control plane no longer needs a
 * result of the task. A result that the control plane calls malformed is replaced once by a failure that says so.
 */
import type { TaskResult } from '@gpuaas/contract/node';
import { type Log, pause } from '@gpuaas/kit';
import { ControlPlaneError, isPassing, retryMs } from './control-plane/errors.ts';
import type { TaskApi, TaskRef } from './control-plane/task-api.ts';

export type RetrySettings = Readonly<{ baseMs: number; capMs: number }>;
export const DEFAULT_RETRY: RetrySettings = { baseMs: 500, capMs: 20_000 };

/** Repeats a call until a response arrives; undefined when the signal aborts first. Lasting errors are thrown. */
export const untilResponse = async <T>(
  call: () => Promise<T>,
  options: Readonly<{ signal: AbortSignal; retry: RetrySettings; until?: () => boolean }>,
): Promise<T | undefined> => {
  for (let attempt = 1; !options.signal.aborted; attempt++) {
    try {
      return await call();
    } catch (err) {
      if (!isPassing(err)) throw err;
      if (options.until?.()) return undefined;
      await pause(retryMs(err, attempt, options.retry), options.signal);
    }
  }
  return undefined;
};

/** Contains only text of the agent, and nothing that the control plane could not parse. */
const unreadable = (result: TaskResult, err: ControlPlaneError): TaskResult => ({
  attempt: result.attempt,
  state: 'failed',
  error_code: 'host_error',
  reason: `The agent reported ${result.state}, but the control plane could not read the result: ${err.message}`.slice(
    0,
    2000,
  ),
  output: null,
  started_at: null,
  finished_at: new Date().toISOString(),
});

/** True when the control plane has the result or needs none; false when the agent stopped first. */
export const sendResult = async (
  options: Readonly<{
    api: TaskApi;
    task: TaskRef;
    result: TaskResult;
    signal: AbortSignal;
    retry: RetrySettings;
    log: Log;
  }>,
): Promise<boolean> => {
  const send = (result: TaskResult) =>
    untilResponse(() => options.api.result(options.task, result, options.signal), options);
  try {
    const response = await send(options.result);
    if (response === undefined) return false;
    if (!response.is_accepted) options.log.warn({ reason: response.reason }, 'control plane ignored the task result');
    return true;
  } catch (err) {
    if (!(err instanceof ControlPlaneError)) throw err;
    if (err.kind !== 'invalid') {
      options.log.warn({ err }, 'control plane no longer knows the task');
      return true;
    }
    options.log.error({ err }, 'control plane could not read the task result');
    try {
      return (await send(unreadable(options.result, err))) !== undefined;
    } catch (second) {
      options.log.error({ err: second }, 'control plane could not read the replacement result');
      return true;
    }
  }
};
