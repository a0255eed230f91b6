/**
 * Wakes listeners for new events in this process. It carries no event: a listener reads the outbox, so a lost or
 * duplicate wake-up costs only latency.
 */
export type EventHub = Readonly<{
  /** Called after a commit that wrote to the outbox, and on a notification from another process. */
  wake(): void;
  /** Resolves at the next wake-up, when `ms` have passed, or when the signal is aborted. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}>;

export const createEventHub = (): EventHub => {
  let waiters = new Set<() => void>();
  return {
    wake: () => {
      const woken = waiters;
      waiters = new Set();
      for (const resume of woken) resume();
    },
    wait: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const resume = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', resume);
          waiters.delete(resume);
          resolve();
        };
        const timer = setTimeout(resume, ms);
        waiters.add(resume);
        signal?.addEventListener('abort', resume, { once: true });
      }),
  };
};
