/**
 * Measures the file system of the heads file. A full one stops the heads, and a file system of the network may hang: the
 * scrape therefore reads the last measurement, and none that is too old.
 */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, settlesWithin, systemClock } from '@gpuaas/kit';

export type HeadsDisk = Readonly<{
  run(): Promise<void>;
  /** The free part, from 0 to 1; undefined before the first measurement, and when the last one is too old. */
  freeRatio(): number | undefined;
}>;

const STALE_AFTER_MS = 5 * 60_000;
const WAIT_MS = 5_000;

/** The directory is created with the first head: until then its nearest existing parent is measured. */
const measure = async (directory: string): Promise<number> => {
  try {
    const { bavail, blocks } = await statfs(directory);
    return blocks === 0 ? 1 : bavail / blocks;
  } catch (err) {
    const parent = dirname(directory);
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT' || parent === directory) throw err;
    return measure(parent);
  }
};

export const createHeadsDisk = (deps: Readonly<{ file: string; clock?: Clock }>): HeadsDisk => {
  const { file, clock = systemClock } = deps;
  let last: Readonly<{ ratio: number; at: number }> | undefined;
  let measuring: Promise<void> | undefined;
  const measureNow = async (): Promise<void> => {
    last = { ratio: await measure(dirname(file)), at: clock.now().getTime() };
  };
  return {
    run: async () => {
      measuring ??= measureNow().finally(() => {
        measuring = undefined;
      });
      if (!(await settlesWithin(measuring, WAIT_MS)))
        throw new Error('The file system of the heads file does not respond.');
    },
    freeRatio: () => (last === undefined || clock.now().getTime() - last.at > STALE_AFTER_MS ? undefined : last.ratio),
  };
};
