/**
 * Writes dist/reference/redoc.js, the one file of Redoc that /docs serves. Redoc and its hundred packages are installed to
 * build it, never to run the server. The one image it would fetch from elsewhere becomes an empty one.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const DIR = join(ROOT, 'dist', 'reference');
const FOREIGN_IMAGE = /https:\/\/cdn\.redoc\.ly\/[\w/.-]+/g;

/** The directory of the built file, up to date. */
export const ensureReference = async (): Promise<string> => {
  const redoc = await readFile(createRequire(import.meta.url).resolve('redoc/bundles/redoc.standalone.js'), 'utf8');
  const text = redoc.replaceAll(FOREIGN_IMAGE, 'data:image/svg+xml,<svg/>');
  const file = join(DIR, 'redoc.js');
  if ((await readFile(file, 'utf8').catch(() => '')) === text) return DIR;
  await mkdir(DIR, { recursive: true });
  await writeFile(file, text);
  return DIR;
};

if (import.meta.main) console.log(`built ${relative(ROOT, await ensureReference())}`);
