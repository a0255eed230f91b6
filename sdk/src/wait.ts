/** Waiting for a condition: the resource is read until the condition holds. */
import { GpuaasError } from './error.ts';
import { backoffMs, pause } from './transport.ts';

export type WaitOptions<T> = Readonly<{
  until: (value: T) => boolean;
  /** The maximum wait. The work itself continues afterwards. */
  timeoutMs?: number;
  /** First pause between two reads; grows to `intervalMaxMs`. */
  intervalMs?: number;
  intervalMaxMs?: number;
  signal?: AbortSignal | undefined;
  /** Called with every value read, for progress. */
  onValue?: (value: T) => void;
}>;

/** Reads until the condition holds and returns that value; throws `timeout` when time runs out first. */
export const wait = async <T>(read: () => Promise<T>, options: WaitOptions<T>): Promise<T> => {
  const { timeoutMs = 600_000, intervalMs = 500, intervalMaxMs = 5_000 } = options;
  const deadline = Date.now() + timeoutMs;
  for (let reads = 0; ; reads++) {
    const value = await read();
    options.onValue?.(value);
    if (options.until(value)) return value;
    const left = deadline - Date.now();
    if (left <= 0)
      throw new GpuaasError('timeout', `Timed out after ${timeoutMs / 1000} s; still running.`, {
        retryable: true,
      });
    await pause(Math.min(left, backoffMs(reads, intervalMs, intervalMaxMs)), options.signal);
  }
};
