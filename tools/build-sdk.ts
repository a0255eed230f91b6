/**
 * Builds the published package: a bundled module for each of its exports, so that it depends on no other package, their
 * declarations, and its own package.json, all in sdk/dist. Inside
 * the repository `@gpuaas/sdk` is its source, so sdk/package.json is private and cannot be published by mistake.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..');
const SDK = join(ROOT, 'sdk');
/** Export by export, the source file without its ending. */
const ENTRIES = { '.': 'index', './site-file': 'site-file' } as const;
const SOURCES = Object.values(ENTRIES).map((name) => join(SDK, 'src', `${name}.ts`));

/** Writes the package into `target` (default sdk/dist) and returns its path. */
export const buildSdk = async (target = join(SDK, 'dist')): Promise<string> => {
  await rm(target, { recursive: true, force: true });
  await build({
    entryPoints: SOURCES,
    outdir: target,
    // The builds of a dependency that use no module of Node.
    conditions: ['browser', 'default'],
    mainFields: ['browser', 'module', 'main'],
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    logLevel: 'warning',
  });
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const options = {
    declaration: true,
    emitDeclarationOnly: true,
    noEmit: false,
    outDir: target,
    rootDir: join(SDK, 'src'),
    // Only what Node and browsers share: no Node types.
    lib: ['es2024', 'dom', 'dom.asynciterable'],
    types: [],
  };
  const project = join(target, 'tsconfig.json');
  await writeFile(
    project,
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: options,
      include: [],
      files: SOURCES,
    }),
  );
  await run(process.execPath, [tsc, '-p', project]).catch((err: { stdout?: string }) => {
    throw new Error(`The declarations do not compile:\n${err.stdout}`, { cause: err });
  });
  await rm(project);
  // Declarations keep the source's .ts specifiers, which only this repository can resolve.
  for (const file of (await readdir(target)).filter((name) => name.endsWith('.d.ts'))) {
    const text = await readFile(join(target, file), 'utf8');
    await writeFile(join(target, file), text.replace(/(from '\.\/[\w.-]+)\.ts'/g, "$1.js'"));
  }

  const own: Record<string, unknown> = JSON.parse(await readFile(join(SDK, 'package.json'), 'utf8'));
  const { private: _, exports: __, dependencies: ___, ...shared } = own;
  const published = {
    ...shared,
    engines: { node: '>=20' },
    sideEffects: false,
    exports: Object.fromEntries(
      Object.entries(ENTRIES).map(([path, name]) => [path, { types: `./${name}.d.ts`, default: `./${name}.js` }]),
    ),
  };
  await writeFile(join(target, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
  await copyFile(join(SDK, 'README.md'), join(target, 'README.md'));
  if (existsSync(join(ROOT, 'LICENSE'))) await copyFile(join(ROOT, 'LICENSE'), join(target, 'LICENSE'));
  return target;
};

if (import.meta.main) console.log(`built ${await buildSdk()}`);
