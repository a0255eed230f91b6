/**
 * The script that a browser must fetch before it can show any first page of the console: the entry and the dependencies
 * of the page's own chunk, compressed. Chunks that a page loads later, on demand, do not count.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureConsole } from '../build-console.ts';
import { type Check, fail, pass } from './check.ts';

const LIMIT_KIB = 300;

type Chunk = Readonly<{
  file: string;
  isEntry?: boolean;
  imports?: readonly string[];
  dynamicImports?: readonly string[];
}>;
type Manifest = Readonly<Record<string, Chunk>>;

/** A chunk and everything it needs before it can run. */
export const closureOf = (manifest: Manifest, key: string, seen = new Set<string>()): ReadonlySet<string> => {
  if (seen.has(key)) return seen;
  seen.add(key);
  for (const needed of manifest[key]?.imports ?? []) closureOf(manifest, needed, seen);
  return seen;
};

export const consoleBudget: Check = {
  name: 'console budget',
  run: async () => {
    const dir = await ensureConsole();
    const manifest = JSON.parse(await readFile(join(dir, 'manifest.json'), 'utf8')) as Manifest;
    const entry = Object.keys(manifest).find((key) => manifest[key]?.isEntry);
    if (entry === undefined) return fail('the build has no entry', '');
    const sizes = new Map<string, number>();
    for (const { file } of Object.values(manifest))
      if (file.endsWith('.js')) sizes.set(file, (await readFile(join(dir, `${file}.gz`))).length);
    const kib = (keys: Iterable<string>): number =>
      [...keys].reduce((sum, key) => sum + (sizes.get(manifest[key]?.file ?? '') ?? 0), 0) / 1024;
    const pages = (manifest[entry]?.dynamicImports ?? []).map((page) => ({
      page,
      size: kib(new Set([...closureOf(manifest, entry), ...closureOf(manifest, page)])),
    }));
    const [largest] = pages.toSorted((a, b) => b.size - a.size);
    if (largest === undefined) return fail('the entry leads to no page', '');
    const line = `${largest.size.toFixed(0)} of ${LIMIT_KIB} KiB for the largest of ${pages.length} pages`;
    const over = pages
      .filter(({ size }) => size > LIMIT_KIB)
      .map(({ page, size }) => `${page}: ${size.toFixed(1)} KiB`);
    return over.length === 0 ? pass(line) : fail(line, over.join('\n'));
  },
};
