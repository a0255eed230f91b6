/**
 * Builds the agent: one file, without node_modules, and its digest. The digest is the release's name: updates name it,
 * and hosts refuse other bytes.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');
const NAME = 'gpuaas-node-agent.mjs';

/** CommonJS packages use `require` and `__dirname`, which a module does not have. */
const BANNER = [
  '#!/usr/bin/env node',
  "import { createRequire as __createRequire } from 'node:module';",
  'const require = __createRequire(import.meta.url);',
  'const __dirname = import.meta.dirname;',
].join('\n');

/** Writes bundle and digest into `target` (default dist) and returns both. */
export const bundleAgent = async (target = join(ROOT, 'dist')): Promise<{ path: string; sha256: string }> => {
  await mkdir(target, { recursive: true });
  const path = join(target, NAME);
  await build({
    entryPoints: [join(ROOT, 'node-agent/src/main.ts')],
    outfile: path,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    banner: { js: BANNER },
    // Native helpers of the SSH client, which are optional: they cannot be part of one file.
    external: ['cpu-features', '*.node'],
    legalComments: 'none',
    logLevel: 'warning',
  });
  const sha256 = createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
  await writeFile(`${path}.sha256`, `${sha256}  ${NAME}\n`);
  return { path, sha256 };
};

if (import.meta.main) {
  const { path, sha256 } = await bundleAgent();
  console.log(`built ${path}\nsha256:${sha256}`);
}
