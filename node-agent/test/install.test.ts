import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { appendFile, chmod, copyFile, mkdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { bundleAgent } from '../../tools/bundle-agent.ts';
import { cleanUp, temporaryFolder } from './agents.ts';
import { type Platform, signTask, startPlatform } from './platform.ts';

const INSTALL = join(import.meta.dirname, '../install.sh');
const LAUNCH = join(import.meta.dirname, '../launch.sh');

/** The servers of a test run in this process, so scripts that connect to them must not block it. */
const run = async (command: string, args: readonly string[], input = ''): Promise<{ status: number; text: string }> => {
  const child = spawn(command, args, { stdio: 'pipe' });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (text += part.toString()));
  child.stdin.end(input);
  const [status] = (await once(child, 'close')) as [number | null];
  return { status: status ?? 1, text };
};

const start = (t: TestContext, program: string, args: readonly string[]): ChildProcess => {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'ignore'] });
  cleanUp(t, async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
  return child;
};

const installed = async (t: TestContext, platform: Platform) => {
  const folder = await temporaryFolder(t);
  const prefix = join(folder, 'root');
  const { path, sha256 } = await bundleAgent(join(folder, 'dist'));
  const nodeId = platform.nodeId();
  const args = ['--bundle', path, '--prefix', prefix, '--no-systemd', '--node', process.execPath];
  const where = ['--node-api-url', platform.url.href, '--ca-sha256', platform.authority().sha256];
  const first = await run(INSTALL, [...args, ...where, '--token-file', '-'], `${platform.mintToken(nodeId)}\n`);
  assert.equal(first.status, 0, first.text);
  const home = join(prefix, 'opt/gpuaas/node-agent');
  const program = join(prefix, 'usr/local/bin/gpuaas-node-agent');
  const envFile = ['--env-file', join(prefix, 'etc/gpuaas/node-agent.env')];
  return { prefix, home, program, envFile, nodeId, bundle: path, sha256, args, where };
};

test('the script installs and enrolls, and running it again changes nothing', async (t) => {
  const platform = await startPlatform();
  cleanUp(t, platform.close);
  const { prefix, home, program, envFile, nodeId, sha256, args, where } = await installed(t, platform);
  assert.equal(await readlink(join(home, 'current')), `versions/${sha256}`);
  const status = await run(program, ['status', '--json', ...envFile]);
  assert.equal((JSON.parse(status.text) as { node_id: string }).node_id, nodeId);
  const state = join(prefix, 'var/lib/gpuaas/node-agent');
  assert.equal((await stat(state)).mode & 0o777, 0o700);
  assert.ok(!(await readFile(join(prefix, 'etc/gpuaas/node-agent.env'), 'utf8')).includes('gpe_'));

  const files = [
    'etc/gpuaas/node-agent.env',
    'opt/gpuaas/node-agent/bin/gpuaas-node-agent',
    'var/lib/gpuaas/node-agent/identity.json',
  ];
  const look = () => Promise.all(files.map(async (file) => (await stat(join(prefix, file))).ino));
  const before = await look();
  assert.equal((await run(INSTALL, [...args, ...where])).status, 0);
  assert.deepEqual(await look(), before);
});

test('the installed agent polls, and updates itself by digest across a restart', async (t) => {
  const platform = await startPlatform();
  cleanUp(t, platform.close);
  const { home, program, envFile, nodeId, bundle, sha256 } = await installed(t, platform);
  const first = start(t, program, ['run', ...envFile]);
  await platform.until('a poll', () => platform.state.waits.length > 0, 120_000);

  const next = Buffer.concat([await readFile(bundle), Buffer.from('// the next release\n')]);
  const digest = createHash('sha256').update(next).digest('hex');
  platform.state.releases.set(`sha256:${digest}`, next);
  const update = platform.payloadOf(nodeId, 'agent.update', { version: '0.1.0', digest: `sha256:${digest}` });
  platform.deliver(nodeId, signTask(platform.signer(), update));
  const [code] = (await once(first, 'exit')) as [number | null];
  assert.equal(code, 75);
  assert.equal(await readlink(join(home, 'current')), join('versions', digest));

  start(t, program, ['run', ...envFile]);
  await platform.until('the answer', () => platform.state.results.has(update.task_id), 120_000);
  assert.equal(platform.state.results.get(update.task_id)?.[0]?.state, 'completed');
  assert.ok(!existsSync(join(home, 'update/pending')));
  assert.ok(existsSync(join(home, 'versions', sha256)));
});

test('a version that cannot be parsed is rolled back after three starts', async (t) => {
  const home = await temporaryFolder(t);
  for (const [name, text] of [
    ['good', 'process.exit(7)'],
    ['bad', 'this is no program'],
  ] as const) {
    await mkdir(join(home, 'versions', name), { recursive: true });
    await writeFile(join(home, 'versions', name, 'gpuaas-node-agent.mjs'), text);
  }
  await mkdir(join(home, 'bin'));
  await mkdir(join(home, 'update'));
  await copyFile(LAUNCH, join(home, 'bin/gpuaas-node-agent'));
  await chmod(join(home, 'bin/gpuaas-node-agent'), 0o755);
  await symlink(process.execPath, join(home, 'bin/node'));
  await symlink('versions/bad', join(home, 'current'));
  await writeFile(join(home, 'update/pending'), 'good\n');
  const launch = () => spawnSync(join(home, 'bin/gpuaas-node-agent'), ['run']).status;
  assert.deepEqual([launch(), launch(), launch(), launch()], [1, 1, 1, 7]);
  assert.equal(await readlink(join(home, 'current')), 'versions/good');
  assert.equal((await readFile(join(home, 'update/rolled-back'), 'utf8')).trim(), 'bad');
  assert.equal(launch(), 7);
});

test('wrong bytes, an old Node.js and a plain-text URL are refused before anything is installed', async (t) => {
  const folder = await temporaryFolder(t);
  const prefix = join(folder, 'root');
  const bundle = join(folder, 'agent.mjs');
  await writeFile(bundle, 'process.exit(0)');
  const old = join(folder, 'node');
  await writeFile(old, '#!/bin/sh\necho 20\n');
  await chmod(old, 0o755);
  const args = ['--bundle', bundle, '--prefix', prefix, '--no-systemd'];
  const wrong = await run(INSTALL, [...args, '--node', process.execPath, '--sha256', '0'.repeat(64)]);
  assert.match(wrong.text, /nothing was installed/);
  assert.match((await run(INSTALL, [...args, '--node', old])).text, /24 or newer is required/);
  const plain = await run(INSTALL, [...args, '--node', process.execPath, '--node-api-url', 'http://x']);
  assert.match(plain.text, /must begin with https/);
  await appendFile(`${bundle}.sha256`, `${'1'.repeat(64)}  agent.mjs\n`);
  assert.equal((await run(INSTALL, [...args, '--node', process.execPath])).status, 1);
  assert.ok(!existsSync(prefix));
});
