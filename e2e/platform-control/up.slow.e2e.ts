/** More ways in which `make up` starts or fails; the usual ones are in `up.e2e.ts`. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { emptyDatabase } from '../../server/test/database.ts';
import { eventually, isRunning, labUnderTest, pidOf } from './lab.ts';

test('it runs in a private directory, and a crashed server is reported with the end of its log', async (t) => {
  const closed = mkdtempSync(join(tmpdir(), 'gpuaas-closed-'));
  t.after(() => rmSync(closed, { recursive: true, force: true }));
  const lab = await labUnderTest(t, join(closed, 'state'));
  const up = lab.start(['up']);
  await eventually('the lab is up', () => up.said().includes('Press Ctrl-C to stop it.') || up.child.exitCode !== null);
  // PostgreSQL refuses to run as root, and its own user cannot enter that directory.
  const pointer = join(lab.stateDir, 'postgres/placement.json');
  assert.equal(existsSync(pointer), process.getuid?.() === 0);
  const { home } = existsSync(pointer)
    ? (JSON.parse(readFileSync(pointer, 'utf8')) as { home: string })
    : { home: join(lab.stateDir, 'postgres') };
  assert.ok(existsSync(join(home, 'data/PG_VERSION')), up.said());
  const postmaster = Number(readFileSync(join(home, 'data/postmaster.pid'), 'utf8').split('\n')[0]);

  process.kill(pidOf(lab.run().server), 'SIGKILL');
  const { code, text } = await up.finished;
  assert.notEqual(code, 0);
  assert.match(text, /The server ended \(SIGKILL\)\. The end of .*server\.log:\n\n\{/);
  assert.equal(isRunning(postmaster), false);
  assert.equal((await lab.make(['reset'])).code, 0);
  assert.deepEqual([existsSync(home), existsSync(lab.stateDir)], [false, false]);
});

test('a server that rejects its settings fails the start with its reason', async (t) => {
  const lab = await labUnderTest(t);
  for (const args of [['up'], ['up', 'DETACH=1']]) {
    const { code, text } = await lab.make(args, { GPUAAS_LOG_LEVEL: 'shouting' });
    assert.notEqual(code, 0);
    assert.match(text, /GPUAAS_LOG_LEVEL must be one of/);
  }
  assert.equal(existsSync(join(lab.stateDir, 'up.json')), false);
});

test('DATABASE_URL is used instead of an embedded database, and an unreachable one is reported', async (t) => {
  const lab = await labUnderTest(t);
  const lost = await lab.make(['up'], { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' });
  assert.notEqual(lost.code, 0);
  assert.match(lost.text, /The database of DATABASE_URL cannot be used: .*ECONNREFUSED/);
  const { code, text } = await lab.make(['up', 'DETACH=1'], { DATABASE_URL: await emptyDatabase(t) });
  assert.equal(code, 0, text);
  assert.equal(await lab.readyz(), 200);
  assert.equal(existsSync(join(lab.stateDir, 'postgres')), false);
  assert.equal((await lab.make(['down'])).code, 0);
});
