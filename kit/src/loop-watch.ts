/**
 * Watches the loops of a process: work that must come around again and again. A loop shows a sign of life when a turn
 * starts, makes progress or ends; a turn that fails is a sign too. A loop without one for too long is stalled: the
 * process still responds but no longer does this work, so it must report that and, later, be restarted.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

export type Loop = Readonly<{
  /** Runs one turn. What it awaits may call `reportProgress`, so a long turn with many batches is not a stalled one. */
  turn<T>(fn: () => Promise<T>): Promise<T>;
  /** The loop has ended as intended. */
  end(): void;
}>;

export type LoopAge = Readonly<{ loop: string; silent_ms: number }>;

export type LoopWatch = Readonly<{
  /** `every_ms` is the longest regular pause between turns. */
  add(name: string, every_ms: number): Loop;
  /** How long each loop has shown no sign of life. */
  ages(): readonly LoopAge[];
  /** Loops that are silent for longer than their pause and `limit_ms`. */
  stalled(limit_ms: number): readonly LoopAge[];
}>;

type Watched = { readonly loop: string; readonly every_ms: number; turns: number; sign_at: number };

const current = new AsyncLocalStorage<() => void>();

/** A sign of life of the loop in whose turn this runs; outside a turn it does nothing. */
export const reportProgress = (): void => current.getStore()?.();

export const createLoopWatch = (now: () => number = () => performance.now()): LoopWatch => {
  const watched = new Set<Watched>();
  const ageOf = ({ loop, sign_at }: Watched): LoopAge => ({ loop, silent_ms: now() - sign_at });
  return {
    add: (loop, every_ms) => {
      const own: Watched = { loop, every_ms, turns: 0, sign_at: now() };
      const sign = () => {
        own.sign_at = now();
      };
      watched.add(own);
      return {
        turn: async (fn) => {
          own.turns += 1;
          sign();
          try {
            return await current.run(sign, fn);
          } finally {
            own.turns -= 1;
            sign();
          }
        },
        end: () => void watched.delete(own),
      };
    },
    ages: () => [...watched].map(ageOf),
    stalled: (limit_ms) =>
      [...watched].filter((one) => now() - one.sign_at > limit_ms + (one.turns > 0 ? 0 : one.every_ms)).map(ageOf),
  };
};
