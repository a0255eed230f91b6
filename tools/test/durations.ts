/**
 * The duration of each file in the last run with `--remember`. The longest start first, so that no worker is left alone
 * with a long file at the end of the run, and short ones share a process (sharing.ts).
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Seconds by file, from the repository root. */
export type Durations = Readonly<Record<string, number>>;

const FILE = 'tools/test/durations.json';
/** Shorter files are not listed: their order makes no difference. */
const LISTED_FROM_S = 3;

export const readDurations = (root: string): Durations => {
  const file = join(root, FILE);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Durations) : {};
};

/** Measured durations replace the stored ones of the same files; deleted files are removed. */
export const rememberDurations = (
  root: string,
  measured: readonly Readonly<{ file: string; durationMs: number }>[],
): void => {
  const seconds = new Map(Object.entries(readDurations(root)).filter(([file]) => existsSync(join(root, file))));
  for (const { file, durationMs } of measured) {
    const whole = Math.round(durationMs / 1000);
    if (whole >= LISTED_FROM_S) seconds.set(file, whole);
    else seconds.delete(file);
  }
  const sorted = [...seconds].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  writeFileSync(join(root, FILE), `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
};
