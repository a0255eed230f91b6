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

export type LoopAge = Readonly<{ loop: string /** Without a sign of life, beyond its pause. */; overdue_ms: number }>;

export type LoopWatch = Readonly<{
  /** `every_ms` is the longest regular pause between turns. */
  add(name: string, every_ms: number): Loop;
  /** How long each loop is overdue: 0 while it works or pauses as it should. */
  ages(): readonly LoopAge[];
  /** Loops that are overdue for longer than `limit_ms`. */
  stalled(limit_ms: number): readonly LoopAge[];
}>;

type Watched = { readonly loop: string; readonly every_ms: number; turns: number; sign_at: number };

const current = new AsyncLocalStorage<() => void>();

/** A sign of life of the loop in whose turn this runs; outside a turn it does nothing. */
export const reportProgress = (): void => current.getStore()?.();

export const createLoopWatch = (now: () => number = () => performance.now()): LoopWatch => {
  const watched = new Set<Watched>();
  const ageOf = ({ loop, every_ms, turns, sign_at }: Watched): LoopAge => ({
    loop,
    overdue_ms: Math.max(0, now() - sign_at - (turns > 0 ? 0 : every_ms)),
  });
  const ages = () => [...watched].map(ageOf);
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
    ages,
    stalled: (limit_ms) => ages().filter(({ overdue_ms }) => overdue_ms > limit_ms),
  };
};
