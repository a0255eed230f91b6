/**
 * The test files of a run. A file's name states its kind, `*.test.ts` or `*.e2e.ts`, and before that its tier, unless
 * it is the fast one: `.slow.` for long cases, `.node.` for those that need a whole VM as a node.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { type LaneName, laneOf } from './lanes.ts';

/** In the order in which they run. */
export const TIERS = ['fast', 'slow', 'node'] as const;
export type Tier = (typeof TIERS)[number];
export type Selection = Readonly<{
  root: string;
  lane?: LaneName | undefined;
  tier: Tier | 'all';
  paths: readonly string[];
}>;

const SKIPPED_FOLDERS = new Set(['node_modules', 'dist', 'fixtures', 'golden']);

const isTest = (name: string): boolean => name.endsWith('.test.ts') || name.endsWith('.e2e.ts');
export const tierOf = (file: string): Tier =>
  TIERS.find((tier) => new RegExp(`\\.${tier}\\.((db|http)\\.)?(test|e2e)\\.ts$`).test(file)) ?? 'fast';

const walk = (dir: string): string[] =>
  readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory())
      return SKIPPED_FOLDERS.has(entry.name) || entry.name.startsWith('.') ? [] : walk(join(dir, entry.name));
    return entry.isFile() && isTest(entry.name) ? [join(dir, entry.name)] : [];
  });

/** Paths from the root with forward slashes, sorted. A named path is used regardless of lane and tier. */
export const selectFiles = (selection: Selection): readonly string[] => {
  const named = (path: string): string => relative(selection.root, path).split(sep).join('/');
  if (selection.paths.length === 0)
    return walk(selection.root)
      .map(named)
      .filter((file) => selection.lane === undefined || laneOf(file) === selection.lane)
      .filter((file) => selection.tier === 'all' || tierOf(file) === selection.tier)
      .sort();
  const files = selection.paths.flatMap((path) => {
    const full = resolve(selection.root, path);
    if (!existsSync(full)) throw new Error(`There is no ${path}.`);
    const found = statSync(full).isDirectory() ? walk(full) : [full].filter(isTest);
    if (found.length === 0) throw new Error(`${path} holds no tests (*.test.ts, *.e2e.ts).`);
    return found.map(named);
  });
  return [...new Set(files)].sort();
};
