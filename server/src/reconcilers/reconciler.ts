/**
 * Runs one function repeatedly: never twice at once, at its interval or when woken, slower while it fails. A failure is
 * logged when it starts, changes and ends, not every time.
 */
import { backoffMs, type Log, type LoopWatch, pause } from '@gpuaas/kit';

export type Reconciler = Readonly<{
  /** Ends the loop; resolves when the current turn has ended. */
  stop(): Promise<void>;
}>;

export type ReconcilerOptions = Readonly<{
  name: string;
  /** Does the pending work and returns; checks the signal between batches. */
  run(signal: AbortSignal): Promise<void>;
  intervalMs: number;
  /** A source that may start the next turn early. */
  hub?: Readonly<{ wait(ms: number, signal?: AbortSignal): Promise<void> }>;
  /** The least time between two turns, so that the work of many wake-ups is done together (default none). */
  spacingMs?: number;
  log: Log;
  signal: AbortSignal;
  /** Reports a turn that does not end. */
  loops?: LoopWatch;
}>;

const BACKOFF = { baseMs: 200, capMs: 5_000 };

export const startReconciler = (options: ReconcilerOptions): Reconciler => {
  const { name, intervalMs, log } = options;
  const own = new AbortController();
  const signal = AbortSignal.any([options.signal, own.signal]);
  const wait = options.hub?.wait ?? pause;
  const watch = options.loops?.add(name, Math.max(intervalMs, BACKOFF.capMs));
  const turn = () => options.run(signal);

  const loop = async (): Promise<void> => {
    let failures = 0;
    let lastMessage = '';
    while (!signal.aborted) {
      // Requested before the turn, so that a wake-up during the turn is not lost.
      const woken = wait(intervalMs, signal);
      try {
        await (watch === undefined ? turn() : watch.turn(turn));
        if (failures > 0) log.info({ reconciler: name, failures }, 'reconciler recovered');
        failures = 0;
        lastMessage = '';
        await Promise.all([woken, options.spacingMs === undefined ? undefined : pause(options.spacingMs, signal)]);
      } catch (err) {
        failures += 1;
        const message = err instanceof Error ? err.message : String(err);
        if (message !== lastMessage) log.error({ err, reconciler: name }, 'reconciler failed; retrying');
        lastMessage = message;
        await pause(backoffMs(failures, BACKOFF), signal);
      }
    }
    watch?.end();
  };
  const running = loop();
  return {
    stop: () => {
      own.abort();
      return running;
    },
  };
};
