/**
 * Work on files outside the database, whose file system may hang. The work goes on across turns and is not started a second
 * time; a turn waits for it only while its calls of the file system return in time, and fails otherwise. So a hung mount
 * stalls neither the loop nor the process, and the work continues when the mount does.
 */
import { settlesWithin } from '@gpuaas/kit';

/** Runs one call of the file system. */
export type FileCall = <T>(call: () => Promise<T>) => Promise<T>;

type Work = { readonly done: Promise<unknown>; calledAt: number | undefined };

/** By the files that it writes: one work for each at a time in this process. */
const working = new WeakMap<object, Work>();

export const isAtWork = (files: object): boolean => working.has(files);

const begin = (files: object, start: (call: FileCall) => Promise<unknown>): Work => {
  const call: FileCall = async (fn) => {
    own.calledAt = performance.now();
    try {
      return await fn();
    } finally {
      own.calledAt = undefined;
    }
  };
  const started = Promise.withResolvers<void>();
  const done = started.promise.then(() => start(call)).finally(() => working.delete(files));
  const own: Work = { done, calledAt: undefined };
  // When no turn waits any more, the next one starts again and reports the failure.
  done.catch(() => {});
  working.set(files, own);
  started.resolve();
  return own;
};

/** Starts the work, or joins that of an earlier turn. Fails when a call does not return within the limit. */
export const workOnFiles = async (
  files: object,
  limit: Readonly<{ wait_ms: number; hung: (seconds: number) => string }>,
  start: (call: FileCall) => Promise<unknown>,
): Promise<void> => {
  const work = working.get(files) ?? begin(files, start);
  for (;;) {
    const since = work.calledAt;
    const waited = since === undefined ? 0 : performance.now() - since;
    if (await settlesWithin(work.done, Math.max(0, limit.wait_ms - waited))) return;
    if (since !== undefined && work.calledAt === since)
      throw new Error(limit.hung(Math.round((performance.now() - since) / 1_000)));
  }
};
