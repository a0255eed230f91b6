/**
 * Orderly shutdown of a process: components stop in reverse order of start, each within its share of time. A second
 * signal ends the process immediately.
 */
import type { Log } from './log.ts';

type Stopper = Readonly<{ name: string; stop: () => Promise<void> | void }>;

export type Shutdown = Readonly<{
  signal: AbortSignal;
  /** Registers something to stop; later registrations stop earlier. */
  add(name: string, stop: () => Promise<void> | void): void;
  /** Stops everything; safe to call twice. */
  run(reason: string): Promise<void>;
}>;

export const createShutdown = (log: Log, perStopperMs = 10_000): Shutdown => {
  const controller = new AbortController();
  const stoppers: Stopper[] = [];
  let running: Promise<void> | undefined;

  const stopAll = async (reason: string): Promise<void> => {
    log.info({ reason }, 'stopping');
    controller.abort(new Error(reason));
    for (const stopper of stoppers.reverse()) {
      const timeout = Symbol('timeout');
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<typeof timeout>((resolve) => {
        timer = setTimeout(() => resolve(timeout), perStopperMs);
      });
      try {
        if ((await Promise.race([Promise.resolve(stopper.stop()), late])) === timeout)
          log.warn({ stopper: stopper.name }, 'did not stop in time');
      } catch (err) {
        log.error({ err, stopper: stopper.name }, 'failed to stop');
      } finally {
        clearTimeout(timer);
      }
    }
  };

  return {
    signal: controller.signal,
    add: (name, stop) => stoppers.push({ name, stop }),
    run: (reason) => {
      running ??= stopAll(reason);
      return running;
    },
  };
};

/** Wires SIGINT and SIGTERM to the shutdown; the process exits when it is complete. */
export const stopOnSignals = (shutdown: Shutdown): void => {
  let seen = false;
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (seen) process.exit(130);
      seen = true;
      void shutdown.run(name).then(() => process.exit(0));
    });
  }
};
