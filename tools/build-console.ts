/**
 * Builds the console into dist/console, or its demo into dist/console-demo, when any of its inputs has changed. Text is
 * compressed here once, so that the server never does it. Every user of a build requests it: `make up`, `make check`
 * and the tests; simultaneous requests wait for one build.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const ROOT = join(import.meta.dirname, '..');
export type ConsoleBuild = 'console' | 'console-demo';

/** The inputs of a build. */
const SOURCES: Readonly<Record<ConsoleBuild, readonly string[]>> = {
  console: [
    'console/app',
    'console/public',
    'console/index.html',
    'console/vite.config.ts',
    'sdk/src',
    'package-lock.json',
  ],
  'console-demo': [
    'console/app',
    'console/public',
    'console/demo',
    'console/mock-api',
    'console/vite.config.ts',
    'sdk/src',
    'contract/src',
    'scheduler/src',
    'server/src/domain',
    'package-lock.json',
  ],
};
const COMPRESSED = /\.(js|css|html|svg|json)$/;
const LOCK_STALE_MS = 180_000;
const LOOK_MS = 100;

const filesOf = async (path: string): Promise<string[]> => {
  if (!(await stat(path)).isDirectory()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
};

const digestOf = async (sources: readonly string[]): Promise<string> => {
  const hash = createHash('sha256');
  const files = (await Promise.all(sources.map((source) => filesOf(join(ROOT, source))))).flat().sort();
  for (const file of files) {
    if (/\.test\.tsx?$/.test(file)) continue;
    hash
      .update(`${relative(ROOT, file)}\0`)
      .update(await readFile(file))
      .update('\0');
  }
  return hash.digest('hex');
};

const runVite = (mode: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [join(ROOT, 'node_modules/vite/bin/vite.js'), 'build', '--mode', mode, '--logLevel', 'warn'],
      {
        cwd: join(ROOT, 'console'),
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let said = '';
    child.stdout.on('data', (part: Buffer) => (said += part.toString()));
    child.stderr.on('data', (part: Buffer) => (said += part.toString()));
    child.once('error', reject);
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`The console was not built:\n${said}`))));
  });

const compress = async (dir: string): Promise<void> => {
  for (const file of (await filesOf(dir)).filter((name) => COMPRESSED.test(name))) {
    const bytes = await readFile(file);
    await writeFile(`${file}.gz`, gzipSync(bytes, { level: 9 }));
    await writeFile(`${file}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }));
  }
};

/** One at a time: a directory can be created only once. The directory of a crashed build is taken over. */
const locked = async <T>(lock: string, work: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      await mkdir(lock);
      break;
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err;
      const since = await stat(lock).then(
        ({ mtimeMs }) => mtimeMs,
        () => Date.now(),
      );
      if (Date.now() - since > LOCK_STALE_MS) await rm(lock, { recursive: true, force: true });
      else await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
  try {
    return await work();
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
};

/** The directory of the build, up to date. */
export const ensureConsole = async (name: ConsoleBuild = 'console'): Promise<string> => {
  const dir = join(ROOT, 'dist', name);
  const stamp = `${dir}.stamp`;
  await mkdir(join(ROOT, 'dist'), { recursive: true });
  return locked(`${dir}.lock`, async () => {
    const digest = await digestOf(SOURCES[name]);
    if ((await readFile(stamp, 'utf8').catch(() => '')) === digest) return dir;
    await rm(stamp, { force: true });
    await runVite(name === 'console-demo' ? 'demo' : 'production');
    await compress(dir);
    await writeFile(stamp, digest);
    return dir;
  });
};

if (import.meta.main)
  console.log(`built ${relative(ROOT, await ensureConsole(process.argv[2] === 'demo' ? 'console-demo' : 'console'))}`);
