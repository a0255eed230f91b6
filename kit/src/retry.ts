/** Exponential backoff with full jitter: attempt 1 waits up to `baseMs`, each next up to twice as long, never above `capMs`. */
export const backoffMs = (
  attempt: number,
  options: Readonly<{ baseMs: number; capMs: number; random?: () => number }>,
): number => {
  const ceiling = Math.min(options.capMs, options.baseMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(ceiling * (0.5 + (options.random ?? Math.random)() / 2));
};

/** Whether the work settles in time; it is not stopped when it does not. A failure of the work is thrown. */
export const settlesWithin = async (work: Promise<unknown>, ms: number): Promise<boolean> => {
  const late = new AbortController();
  const inTime = work.then(() => true);
  return Promise.race([inTime, pause(ms, late.signal).then(() => false)]).finally(() => late.abort());
};

/** Waits, and returns immediately when the signal is aborted: resolves either way. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
