/**
 * Which test files share a process. Loading the server's modules takes about a second of processor time, more than most
 * short files need for their tests, so short files of one package run one after the other in one process. A file whose
 * text shows that it changes the state of its process runs alone.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJudge, judgeOf } from './coverage.ts';
import type { Durations } from './durations.ts';
import { tierOf } from './select.ts';
import { needsCommitOrder } from './services.ts';

/** Files that one process runs, in this order. */
export type Unit = readonly string[];

/** A longer file gains little, and would delay its neighbours. */
const SHORT_S = 15;
/** What a file takes that is too short to be listed; one with a database makes it first. */
const unlistedS = (file: string): number => (file.includes('.db.') ? 2 : 1);
/** Of one unit: a longer one could be left over at the end of the run. */
const UNIT_S = 30;
const UNIT_FILES_MAX = 16;

/** How a file changes the process that runs it. */
const CHANGES: Readonly<Record<string, RegExp>> = {
  environment: /process\.env(\.\w+|\[[^\]]+\])\s*(\?\?)?=(?!=)|delete process\.env|Object\.assign\(process\.env/,
  'working directory or mode': /process\.(chdir|umask)\(/,
  'handlers of the process': /process\.(on|once|addListener|prependListener|removeAllListeners)\(/,
  'end of the process': /process\.(exit\(|exitCode|abort\(|kill\(process\.pid)/,
  'hooks of all tests': /^(before|after|beforeEach|afterEach)\(/m,
  'global objects': /^import \{[^}]*\bmock\b[^}]*\} from 'node:test';$|globalThis(\.\w+|\[[^\]]+\])\s*=(?!=)/m,
  'settings of fast-check': /\bconfigureGlobal\(/,
};
const IN_BROWSER = /from '.*\b(browser|page)\.ts';$/m;

/** Whole stories start hosts and platforms; files of a browser wait for it. */
export const mayShare = (root: string, file: string, durations: Durations): boolean => {
  if (tierOf(file) !== 'fast' || file.startsWith('e2e/') || isJudge(file)) return false;
  if ((durations[file] ?? 0) > SHORT_S) return false;
  const text = readFileSync(join(root, file), 'utf8');
  return !IN_BROWSER.test(text) && !Object.values(CHANGES).some((changes) => changes.test(text));
};

const LARGE_PACKAGES = ['server', 'node-agent', 'console'];

/**
 * Files of one package load the same modules; those that need commit order use another database, and those whose
 * coverage counts collect it.
 */
const groupOf = (root: string, file: string): string => {
  const name = LARGE_PACKAGES.find((large) => file.startsWith(`${large}/`)) ?? 'others';
  return `${name} ${file.includes('.db.')} ${needsCommitOrder(root, file)} ${judgeOf(file)}`;
};

const secondsOf = (unit: Unit, durations: Durations): number =>
  unit.reduce((total, file) => total + (durations[file] ?? unlistedS(file)), 0);

/** Neighbours are files of one directory where possible; the longest unit comes first. */
export const unitsOf = (root: string, files: readonly string[], durations: Durations): readonly Unit[] => {
  const alone: Unit[] = [];
  const groups = new Map<string, string[][]>();
  for (const file of [...files].sort()) {
    if (!mayShare(root, file, durations)) {
      alone.push([file]);
      continue;
    }
    const group = groupOf(root, file);
    const units = groups.get(group) ?? [];
    groups.set(group, units);
    const last = units.at(-1);
    if (last && last.length < UNIT_FILES_MAX && secondsOf([...last, file], durations) <= UNIT_S) last.push(file);
    else units.push([file]);
  }
  return [...alone, ...[...groups.values()].flat()].sort(
    (a, b) => secondsOf(b, durations) - secondsOf(a, durations) || ((a[0] ?? '') < (b[0] ?? '') ? -1 : 1),
  );
};
