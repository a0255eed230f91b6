/**
 * A result is told until the platform has it. "Not accepted" is an answer too: the platform is past the task and wants
 * no result. Only an answer it calls malformed is replaced once by the plain statement that there was one.
 */
import type { TaskResult } from '@gpuaas/contract/node';
import { type Log, pause } from '@gpuaas/kit';
import { ControlPlaneError, isPassing, retryMs } from './control-plane/errors.ts';
import type { TaskApi, TaskRef } from './control-plane/task-api.ts';

export type Patience = Readonly<{ baseMs: number; capMs: number }>;
export const PATIENCE: Patience = { baseMs: 500, capMs: 20_000 };

/** Repeats a call until it is answered; undefined when the signal ended the wait. Lasting errors are thrown. */
export const untilAnswered = async <T>(
  call: () => Promise<T>,
  options: Readonly<{ signal: AbortSignal; patience: Patience; until?: () => boolean }>,
): Promise<T | undefined> => {
  for (let attempt = 1; !options.signal.aborted; attempt++) {
    try {
      return await call();
    } catch (err) {
      if (!isPassing(err)) throw err;
      if (options.until?.()) return undefined;
      await pause(retryMs(err, attempt, options.patience), options.signal);
    }
  }
  return undefined;
};

/** Only words of our own: whatever the platform could not read is not in it. */
const instead = (result: TaskResult, err: ControlPlaneError): TaskResult => ({
  attempt: result.attempt,
  state: 'failed',
  error_code: 'host_error',
  reason: `The host finished as ${result.state}, but the platform could not read its answer: ${err.message}`.slice(
    0,
    2000,
  ),
  output: null,
  started_at: null,
  finished_at: new Date().toISOString(),
});

/** True when the platform has it or wants none; false when the agent stopped first. */
export const reportResult = async (
  options: Readonly<{
    api: TaskApi;
    task: TaskRef;
    result: TaskResult;
    signal: AbortSignal;
    patience: Patience;
    log: Log;
  }>,
): Promise<boolean> => {
  const tell = (result: TaskResult) =>
    untilAnswered(() => options.api.result(options.task, result, options.signal), options);
  try {
    const answer = await tell(options.result);
    if (answer === undefined) return false;
    if (!answer.is_accepted) options.log.warn({ reason: answer.reason }, 'the platform wants no result of this task');
    return true;
  } catch (err) {
    if (!(err instanceof ControlPlaneError)) throw err;
    if (err.kind !== 'invalid') {
      options.log.warn({ err }, 'the platform does not know this task any more');
      return true;
    }
    options.log.error({ err }, 'the platform cannot read the result');
    try {
      return (await tell(instead(options.result, err))) !== undefined;
    } catch (second) {
      options.log.error({ err: second }, 'the platform cannot read the result in short either');
      return true;
    }
  }
};
