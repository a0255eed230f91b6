import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isProcessAlive } from '@gpuaas/kit';
import { eventually, isRunning, labUnderTest, pidOf, postmasterPid } from './lab.ts';

test('in the foreground it prints its URL and how to sign in, and Ctrl-C leaves no process running', async (t) => {
  const lab = await labUnderTest(t);
  const up = lab.start(['up']);
  await eventually('the lab is up', () => up.said().includes('Press Ctrl-C to stop it.') || up.child.exitCode !== null);
  const said = up.said();
  assert.match(said, new RegExp(`Console +${lab.url} `), said);
  const password = readFileSync(join(lab.stateDir, 'dev-password'), 'utf8').trim();
  assert.equal(statSync(join(lab.stateDir, 'dev-password')).mode & 0o777, 0o600);
  assert.ok(said.includes('dev-admin or dev-user') && said.includes(password));
  for (const next of ['bin/gpuaas login --dev', 'bin/gpuaas whoami', 'bin/gpuaas sku list'])
    assert.ok(said.includes(`\n  ${next}\n`), next);
  const short = said.split('\n').filter((line) => !line.includes(lab.stateDir));
  assert.ok(
    short.every((line) => line.length <= 80),
    'the banner fits 80 columns',
  );
  assert.equal(await lab.readyz(), 200);

  await lab.hostsReady();
  const { supervisor, server, fleet } = lab.run();
  const postmaster = postmasterPid(lab.stateDir);
  process.kill(-(up.child.pid ?? Number.NaN), 'SIGINT');
  const { text } = await up.finished;
  assert.match(text, /Stopped\.\n/);
  assert.deepEqual([supervisor, server, fleet].map(isProcessAlive), [false, false, false]);
  assert.equal(isRunning(postmaster), false);
  assert.equal(existsSync(join(lab.stateDir, 'up.json')), false);
});

test('detached', async (t) => {
  const lab = await labUnderTest(t);

  await t.test(
    'of two starts in the same instant one runs and the other says so; both return when it is ready',
    async () => {
      const both = await Promise.all([lab.make(['up', 'DETACH=1']), lab.make(['up', 'DETACH=1'])]);
      assert.deepEqual(
        both.map(({ code }) => code),
        [0, 0],
        both.map(({ text }) => text).join('\n'),
      );
      const winners = both.filter(({ text }) => text.includes('GPUaaS is up.'));
      const others = both.filter(({ text }) => text.startsWith('already running: '));
      assert.deepEqual([winners.length, others.length], [1, 1]);
      assert.match(winners[0]?.text ?? '', /Stop it with: make down/);
      assert.equal(await lab.readyz(), 200);
    },
  );

  await t.test('a later start says that it runs', async () => {
    const { supervisor } = lab.run();
    for (const args of [['up'], ['up', 'DETACH=1']]) {
      const second = await lab.make(args);
      assert.deepEqual(
        [second.code, second.text.trim()],
        [0, `already running: ${lab.url} (pid ${pidOf(supervisor)})`],
      );
    }
  });

  await t.test('what a killed supervisor left behind is cleared by the next start', async () => {
    const before = lab.run();
    process.kill(pidOf(before.supervisor), 'SIGKILL');
    await eventually('the supervisor is gone', () => !isProcessAlive(before.supervisor));
    // The hosts end with the supervisor; the server stays.
    assert.ok(isProcessAlive(before.server));
    const again = await lab.make(['up', 'DETACH=1']);
    assert.equal(again.code, 0, again.text);
    assert.deepEqual([before.server, before.fleet].map(isProcessAlive), [false, false]);
    assert.equal(await lab.readyz(), 200);
  });

  await t.test('down stops everything, and reset clears it', async () => {
    const { supervisor, server } = lab.run();
    const postmaster = postmasterPid(lab.stateDir);
    assert.deepEqual(await lab.make(['down']), { code: 0, text: 'Stopped.\n' });
    assert.deepEqual(
      [isProcessAlive(supervisor), isProcessAlive(server), isRunning(postmaster)],
      [false, false, false],
    );
    assert.deepEqual(await lab.make(['down']), { code: 0, text: 'Not running.\n' });
    const cleared = await lab.make(['reset']);
    assert.deepEqual([cleared.code, existsSync(lab.stateDir)], [0, false]);
  });
});

test('a port in use is reported with the variable that changes it', async (t) => {
  const lab = await labUnderTest(t);
  const squatter = createServer();
  await new Promise<void>((resolve) => squatter.listen(lab.port, '127.0.0.1', resolve));
  t.after(() => squatter.close());
  const { code, text } = await lab.make(['up']);
  assert.notEqual(code, 0);
  assert.match(text, new RegExp(`Port ${lab.port} is taken\\. Choose another: make up GPUAAS_PORT=`));
});

test('reset does not delete a directory that it did not create', async (t) => {
  const mine = mkdtempSync(join(tmpdir(), 'gpuaas-mine-'));
  t.after(() => rmSync(mine, { recursive: true, force: true }));
  mkdirSync(join(mine, 'photos'));
  writeFileSync(join(mine, 'photos', 'cat.txt'), 'meow');
  const lab = await labUnderTest(t, mine);
  assert.equal((await lab.make(['reset'])).code, 0);
  assert.deepEqual(readdirSync(mine), ['photos']);
});
