/** The program itself, as its supervisor sees it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { testDatabase } from '../test/database.ts';
import { startPgProxy } from '../test/pg-proxy.ts';
import { until } from '../test/until.ts';

const PROGRAM = join(import.meta.dirname, 'main.ts');
const WITHIN_MS = 120_000;

it('a process whose database stays silent ends with exit code 1, although its queries have not timed out', async (t) => {
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers) await close();
  });
  const hook = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  const db = await testDatabase(hook);
  const proxy = await startPgProxy(hook, db.ownerUrl);
  const state = await mkdtemp(join(tmpdir(), 'gpuaas-main-'));
  hook.after(() => rm(state, { recursive: true }));
  const child = spawn(process.execPath, [PROGRAM, '--roles', 'gpuaas-provisioning-worker'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      DATABASE_URL: proxy.url,
      GPUAAS_STATE_DIR: state,
      GPUAAS_PORT: '0',
      // Longer than the test: only the loop watch can end it.
      GPUAAS_DATABASE_QUERY_TIMEOUT_MS: '600000',
      GPUAAS_LOOP_UNREADY_S: '1',
      GPUAAS_LOOP_EXIT_S: '3',
    },
  });
  const exited = once(child, 'exit');
  hook.after(async () => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (text: string) => {
    output += text;
  });
  await until('it listens', () => output.includes('"listening"') || child.exitCode !== null, WITHIN_MS);
  assert.equal(child.exitCode, null, output);
  proxy.silence();
  const [code, signal] = await exited;
  assert.deepEqual([code, signal], [1, null]);
  assert.match(output, /"level":"fatal".*a loop no longer runs; the process ends/);
});
