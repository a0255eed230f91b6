/**
 * One task at a time acts on a slot or disk. An action that hangs keeps its lock even after its task timed out: the
 * next task reports that it waits for it, and no second wipe is sent to a hanging disk. The locks are in memory,
 * because a dead process has no running action.
 */
import type { TaskSlot } from '@gpuaas/contract/node';
import { type Host, HostError } from '../host/host.ts';
import type { TaskContext } from './task.ts';

type Holds = Map<string, Promise<unknown>>;
const holdsOf = new WeakMap<Host, Holds>();

/** Waits for the action, or for the timeout of the task. */
export type Act = <T>(what: string, doing: Promise<T>) => Promise<T>;

export const withinTime = async <T>(signal: AbortSignal, what: string, doing: Promise<T>): Promise<T> => {
  let stop = (): void => undefined;
  const over = new Promise<never>((_resolve, reject) => {
    stop = () => reject(new HostError('timeout', `${what} did not end in time`));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([doing, over]);
  } finally {
    signal.removeEventListener('abort', stop);
    // A failure after the end of the task shows in its lock, not as an unhandled rejection.
    doing.catch(() => undefined);
  }
};

export const slotKeys = (slots: readonly TaskSlot[]): readonly string[] =>
  slots.flatMap((slot) => [`slot ${slot.slot_id}`, `disk ${slot.nvme_serial}`]);

export const withLocks = async <T>(
  ctx: TaskContext,
  keys: readonly string[],
  fn: (act: Act) => Promise<T>,
): Promise<T> => {
  const holds = holdsOf.get(ctx.host) ?? new Map<string, Promise<unknown>>();
  holdsOf.set(ctx.host, holds);
  // All keys are taken in one go, so two tasks can never wait for each other.
  const wanted = [...new Set(keys)];
  const earlier = wanted.flatMap((key) => holds.get(key) ?? []);
  const acts: Promise<unknown>[] = [];
  let finish = (): void => undefined;
  const mine = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const held = Promise.all(earlier).then(() => mine);
  for (const key of wanted) holds.set(key, held);
  const act: Act = (what, doing) => {
    acts.push(doing);
    return withinTime(ctx.signal, what, doing);
  };
  try {
    await withinTime(ctx.signal, `an earlier task on ${wanted.join(', ')}`, Promise.all(earlier));
    return await fn(act);
  } finally {
    void Promise.allSettled(acts).then(finish);
    void held.then(() => {
      for (const key of wanted) if (holds.get(key) === held) holds.delete(key);
    });
  }
};
