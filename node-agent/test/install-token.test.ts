/** The enrollment token never becomes an argument or a variable of a process, from the script to the running agent. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { bundleAgent } from '../../tools/bundle-agent.ts';
import { cleanUp, temporaryFolder } from './agents.ts';
import { type Platform, startPlatform } from './platform.ts';

const INSTALL = join(import.meta.dirname, '../install.sh');

/** Processes that show the text in their arguments or variables. Those that end meanwhile or are not ours do not count. */
const showing = async (text: string): Promise<string[]> => {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name)))
    for (const file of ['cmdline', 'environ']) {
      const content = await readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '');
      if (content.includes(text)) found.push(`${file} of process ${pid}`);
    }
  return found;
};

const start = (t: TestContext, program: string, args: readonly string[], input = '') => {
  const child = spawn(program, args, { stdio: 'pipe' });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (text += part.toString()));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const ended = once(child, 'close').then(([status]) => status as number | null);
  cleanUp(t, async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
  });
  return { ended, text: () => text };
};

const prepare = async (t: TestContext, platform: Platform) => {
  const folder = await temporaryFolder(t);
  const prefix = join(folder, 'root');
  const { path } = await bundleAgent(join(folder, 'dist'));
  const args = ['--bundle', path, '--prefix', prefix, '--no-systemd', '--node', process.execPath];
  args.push('--node-api-url', platform.url.href, '--ca-sha256', platform.authority().sha256);
  const program = join(prefix, 'usr/local/bin/gpuaas-node-agent');
  return { folder, prefix, args, program, envFile: ['--env-file', join(prefix, 'etc/gpuaas/node-agent.env')] };
};

test('no process shows the token while the script enrolls from a file or standard input, nor the agent after', async (t) => {
  const platform = await startPlatform();
  cleanUp(t, platform.close);
  const { folder, args, program, envFile } = await prepare(t, platform);
  const nodeId = platform.nodeId();
  // While the control plane decides about the request, the script and the agent run and wait.
  const seen: string[][] = [];
  let token = '';
  platform.state.onEnroll = async () => void seen.push(await showing(token));

  token = platform.mintToken(nodeId);
  const first = start(t, INSTALL, [...args, '--token-file', '-'], `${token}\n`);
  assert.equal(await first.ended, 0, first.text());

  token = platform.mintToken(nodeId);
  const file = join(folder, 'token');
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  const second = start(t, program, ['enroll', ...envFile, '--token-file', file]);
  assert.equal(await second.ended, 0, second.text());
  assert.deepEqual(seen, [[], []]);

  start(t, program, ['run', ...envFile]);
  await platform.until('a poll', () => platform.state.waits.length > 0, 120_000);
  assert.deepEqual(await showing(token), []);
  // The search itself finds a token where there is one.
  start(t, process.execPath, ['-e', 'setInterval(() => undefined, 60_000)', token]);
  assert.ok((await showing(token)).length > 0);
});

test('a token as an argument or in a variable, and a file that others can read, are refused before anything is sent', async (t) => {
  const platform = await startPlatform();
  cleanUp(t, platform.close);
  const { folder, prefix, args, program, envFile } = await prepare(t, platform);
  const token = platform.mintToken(platform.nodeId());
  for (const bad of [['--token', token], [`--token=${token}`], ['--token', '-']]) {
    const refused = start(t, INSTALL, [...args, ...bad]);
    assert.equal(await refused.ended, 1);
    assert.match(refused.text(), /passed as an argument.*nothing was installed.*--token-file/);
    assert.ok(!refused.text().includes(token));
  }
  await assert.rejects(readdir(prefix));

  const install = start(t, INSTALL, args);
  assert.equal(await install.ended, 0, install.text());
  for (const bad of [['--token', token], [`--token=${token}`], ['--token-file', token], [token]]) {
    const refused = start(t, program, ['enroll', ...envFile, ...bad]);
    assert.equal(await refused.ended, 2);
    assert.match(refused.text(), /passed as an argument, where other processes can read it/);
    assert.ok(!refused.text().includes(token));
  }
  const variable = start(t, 'env', [`GPUAAS_ENROLLMENT_TOKEN=${'x'.repeat(20)}`, program, 'enroll', ...envFile]);
  assert.equal(await variable.ended, 2);
  assert.match(variable.text(), /in GPUAAS_ENROLLMENT_TOKEN/);

  const file = join(folder, 'token');
  await writeFile(file, token);
  await chmod(file, 0o640);
  const readable = start(t, program, ['enroll', ...envFile, '--token-file', file]);
  assert.equal(await readable.ended, 2);
  assert.match(readable.text(), /chmod 600/);
  await writeFile(file, '');
  await chmod(file, 0o600);
  const empty = start(t, program, ['enroll', ...envFile, '--token-file', file]);
  assert.equal(await empty.ended, 2);
  assert.match(empty.text(), /contains no token/);
  assert.ok(!platform.state.calls.some((call) => call.includes('enroll')), 'nothing was sent');
});
