import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { mintId, silentLog } from '@gpuaas/kit';
import { testDatabase } from '../../../test/database.ts';
import { createEffects, effectsOf } from '../../../test/example-workflow.ts';
import { readRun, timeline } from '../../../test/scripted-workflow.ts';
import { until } from '../../../test/until.ts';
import { processExample } from '../../../test/workflow-worker.ts';
import { type Database, PLATFORM } from '../../db/client.ts';
import { createRegistry } from './registry.ts';
import { startRun } from './run.ts';
import { createWorker, FAIL_POINTS, type FailPoint } from './worker.ts';
import { bind } from './workflow.ts';

const PROGRAM = fileURLToPath(new URL('../../../test/workflow-worker.ts', import.meta.url));
const LEASE_MS = 400;

const startProcess = (
  t: TestContext,
  url: string,
  point: FailPoint,
): { child: ChildProcess; said(line: string): Promise<void> } => {
  const child = spawn(process.execPath, [PROGRAM, url, point, String(LEASE_MS)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  assert.ok(child.stdout);
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line));
  return { child, said: (line) => until(`the process says ${line}`, () => lines.includes(line)) };
};

const startExample = (database: Database) =>
  database.write(PLATFORM, (tx) =>
    startRun(tx, {
      workflow: processExample,
      subject_id: mintId('sub'),
      organization_id: null,
      project_id: null,
      correlation_id: mintId('cor'),
    }),
  );

const takeOver = async (database: Database, runId: string): Promise<void> => {
  const registry = createRegistry([bind(processExample, null)]);
  const worker = createWorker({ database, registry, log: silentLog(), poll_ms: 50 });
  worker.start();
  await until('another worker finishes the run', async () => (await readRun(database, runId)).state === 'done');
  await worker.stop();
};

test('a process killed with kill -9 at any point of a step loses nothing and duplicates nothing', async (t) => {
  const { database, ownerUrl, url } = await testDatabase(t);
  await createEffects(ownerUrl);
  const lines: Record<FailPoint, string[]> = {
    claimed: ['one next', 'two error', 'two next', 'three done'],
    acted: ['one next', 'two error', 'two next', 'three done'],
    committing: ['one next', 'two error', 'two next', 'three done'],
    committed: ['one next', 'two next', 'three error', 'three done'],
  };
  for (const point of FAIL_POINTS) {
    const run = await startExample(database);
    const { child, said } = startProcess(t, url, point);
    await said('reached');
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal(child.signalCode, 'SIGKILL');
    assert.equal((await readRun(database, run.id)).state, 'running', 'the dead process still holds the lease');
    await takeOver(database, run.id);
    assert.deepEqual(await effectsOf(database, run.subject_id), ['one', 'three', 'two']);
    assert.deepEqual(await timeline(database, run.id), lines[point], point);
    assert.equal((await readRun(database, run.id)).correlation_id, run.correlation_id);
  }
});

test('a process paused for longer than its run lease is fenced when it continues', async (t) => {
  const { database, ownerUrl, url } = await testDatabase(t);
  await createEffects(ownerUrl);
  const run = await startExample(database);
  const { child, said } = startProcess(t, url, 'acted');
  await said('reached');
  child.kill('SIGSTOP');
  await takeOver(database, run.id);
  const before = await timeline(database, run.id);
  child.stdin?.write('go\n');
  child.kill('SIGCONT');
  await said('rests');
  await once(child, 'exit');
  assert.equal(child.exitCode, 0, 'losing a lease is not an error of the process');
  assert.deepEqual(await effectsOf(database, run.subject_id), ['one', 'three', 'two']);
  assert.deepEqual(await timeline(database, run.id), before);
  assert.deepEqual(before, ['one next', 'two error', 'two next', 'three done']);
});
