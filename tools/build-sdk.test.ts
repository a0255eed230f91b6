import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { buildSdk } from './build-sdk.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

/** The quick start of the README is the consumer: it must type-check and run unchanged. */
const quickStart = async (): Promise<string> => {
  const readme = await readFile(join(ROOT, 'sdk/README.md'), 'utf8');
  const code = /```ts\n([\s\S]+?)```/.exec(readme)?.[1];
  assert.ok(code, 'the README holds a quick start');
  return code.replace('https://gpuaas.example', '__URL__');
};

const answers: Record<string, unknown> = {
  'GET /api/v1/me': { organizations: [{ id: 'org_1' }] },
  'POST /api/v1/organizations/org_1/projects': { id: 'prj_1', name: 'research' },
  'GET /api/v1/skus': {
    items: [{ name: 'h200-sxm-slice', gpu_hourly_price: { amount_minor: 499, currency: 'USD' } }],
    next_cursor: null,
  },
};

test('the packed sdk installs offline outside the repository, type-checks and runs', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gpuaas-sdk-'));
  const server = createServer((req, res) => {
    const body = answers[`${req.method} ${req.url}`];
    const allowed = req.headers.authorization === 'Bearer gp_test';
    res.writeHead(body === undefined ? 404 : allowed ? 200 : 401, { 'content-type': 'application/json' });
    res.end(JSON.stringify(body ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const built = await buildSdk(join(folder, 'build'));
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: built });
  const [{ filename, files }] = JSON.parse(packed.stdout) as [{ filename: string; files: { path: string }[] }];
  assert.deepEqual(
    files
      .map(({ path }) => path)
      .filter((path) => !path.endsWith('.d.ts'))
      .sort(),
    ['LICENSE', 'README.md', 'index.js', 'package.json', 'site-file.js'].filter((path) =>
      files.some((file) => file.path === path),
    ),
  );

  const consumer = join(folder, 'consumer');
  await mkdir(consumer);
  await writeFile(join(consumer, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  await writeFile(join(consumer, 'main.ts'), (await quickStart()).replace('__URL__', url));
  await writeFile(
    join(consumer, 'globals.d.ts'),
    'declare const process: { env: Record<string, string | undefined> };\n',
  );
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.asynciterable'],
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    types: [],
    outDir: 'out',
  };
  await writeFile(
    join(consumer, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['main.ts', 'globals.d.ts'] }),
  );
  await run('npm', ['install', '--offline', '--ignore-scripts', join(folder, filename)], { cwd: consumer });
  const installed = JSON.parse(await readFile(join(consumer, 'node_modules/@gpuaas/sdk/package.json'), 'utf8'));
  assert.equal(installed.dependencies, undefined);
  await run(process.execPath, [TSC, '-p', consumer]).catch((err: { stdout: string }) => assert.fail(err.stdout));

  // The user's `node`, not the one that runs this repository.
  const { stdout } = await run('node', ['out/main.js'], {
    cwd: consumer,
    env: { ...process.env, GPUAAS_TOKEN: 'gp_test' },
  });
  assert.equal(stdout, "prj_1\nh200-sxm-slice { amount_minor: 499, currency: 'USD' }\n");
});

test('the published modules run without Node: they import no other module', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gpuaas-sdk-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const built = await buildSdk(join(folder, 'build'));
  for (const name of ['index.js', 'site-file.js']) {
    const text = await readFile(join(built, name), 'utf8');
    assert.deepEqual(
      [...text.matchAll(/^\s*(?:import|export)\b[^\n;]*\bfrom ['"]([^'"]+)['"]|\brequire\(['"]([^'"]+)['"]\)/gm)],
      [],
    );
  }
  assert.doesNotMatch(await readFile(join(built, 'index.js'), 'utf8'), /\b(?:process|Buffer)\./);
});
