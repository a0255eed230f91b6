/** Complete commands with an API and a gateway beside them; the test plays the host. */
import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sessionWord, startGateway } from '../../sdk/test/gateway.ts';
import { requires } from '../../tools/test/requires.ts';
import { startApi } from '../golden/api.ts';
import { answers, ids } from '../golden/fixtures.ts';
import { placementIds } from '../golden/fixtures-allocation.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

const world = async (t: TestContext) => {
  const gateway = await startGateway(t);
  const ticket = { ...answers.terminalTicketCreate, url: gateway.url };
  const api = await startApi({ terminalTicketCreate: ticket });
  const home = await mkdtemp(join(tmpdir(), 'gpuaas-session-'));
  t.after(async () => {
    api.close();
    await rm(home, { recursive: true, force: true });
  });
  const env = {
    PATH: `${home}:${process.env['PATH']}`,
    HOME: home,
    XDG_CONFIG_HOME: home,
    GPUAAS_URL: api.url,
    GPUAAS_TOKEN: 'gp_test',
    GPUAAS_PROJECT: ids.project,
  };
  /** Its output so far, and a promise of its end. */
  const follow = (child: ChildProcessWithoutNullStreams) => {
    t.after(() => child.kill('SIGKILL'));
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (chunk) => {
        said[name] += chunk;
        child.emit('said');
      });
    const until = async (isTrue: () => boolean) => {
      while (!isTrue()) await once(child, 'said');
    };
    const ended = once(child, 'close').then(([code]) => code as number);
    return { child, said, until, ended };
  };
  const run = (...words: string[]) => follow(spawn(process.execPath, [MAIN, ...words, '--no-json'], { env }));
  const atTerminal = (words: string) =>
    follow(
      spawn(
        'script',
        [
          '-qec',
          `stty columns 100 rows 30; '${process.execPath}' '${MAIN}' ${words}; code=$?; stty -a; exit $code`,
          '/dev/null',
        ],
        { env: { ...env, TERM: 'xterm' } },
      ),
    );
  return { gateway, api, home, run, atTerminal };
};

test('a terminal passes bytes, prints the notice first on standard error and returns the exit code', async (t) => {
  const { gateway, run } = await world(t);
  const { child, said, ended } = run('terminal', 'train');
  const leg = await gateway.next();
  leg.say(sessionWord({ notice: 'This session is \u001b[31mrecorded.' }));
  leg.say({ type: 'ready' });
  child.stdin.end('exit 3\n');
  await leg.until(() => leg.words.some(({ type }) => type === 'eof'));
  assert.equal(String(Buffer.concat(leg.received)), 'exit 3\n');
  leg.send(Buffer.from('\u001b[31mred\u001b[0m'));
  leg.say({ type: 'exit', code: 3, signal: null });
  leg.say({ type: 'closed', reason: 'ended', message: 'The shell ended.' });
  assert.equal(await ended, 3);
  assert.deepEqual(said, { stdout: '\u001b[31mred\u001b[0m', stderr: 'This session is recorded.\n' });
});

test('the CLI prints why a session closed, and the reconnect command where reconnecting can help', async (t) => {
  const { gateway, run } = await world(t);
  const { said, ended } = run('console', 'train');
  const leg = await gateway.next();
  leg.say(sessionWord({ kind: 'console', is_writable: false }));
  leg.say({ type: 'closed', reason: 'revoked', message: 'Your role was taken away.' });
  assert.equal(await ended, 4);
  assert.equal(said.stderr, 'This session is read-only.\ngpuaas: Your role was taken away.\n');
  const other = run('console', 'train');
  const later = await gateway.next();
  later.say(sessionWord({ kind: 'console' }));
  later.say({ type: 'closed', reason: 'idle', message: 'Nothing was said.' });
  assert.equal(await other.ended, 8);
  assert.equal(other.said.stderr, 'gpuaas: Nothing was said.\nConnect again: gpuaas console train\n');
});

test('a terminal closed by an administrator prints so and does not exit with success', async (t) => {
  const { gateway, run } = await world(t);
  const { said, ended } = run('terminal', 'train');
  const leg = await gateway.next();
  leg.say(sessionWord());
  leg.say({ type: 'closed', reason: 'ended', message: 'A project admin ended the session.' });
  assert.equal(await ended, 7);
  assert.equal(said.stderr, 'gpuaas: A project admin ended the session.\nConnect again: gpuaas terminal train\n');
});

for (const [what, isLeft] of [
  ['says why the other end is gone', false],
  ['says nothing where ssh has left', true],
] as const)
  test(`the proxy command that ssh runs ${what}`, async (t) => {
    const { gateway, run } = await world(t);
    const { child, said, ended } = run('ssh-proxy', placementIds.allocation, `--project=${ids.project}`);
    const leg = await gateway.next();
    leg.say(sessionWord({ kind: 'ssh' }));
    leg.say({ type: 'ready' });
    if (isLeft) {
      child.stdin.end();
      await leg.until(() => leg.words.some(({ type }) => type === 'eof'));
    }
    leg.say({ type: 'closed', reason: 'ended', message: 'You ended the session from elsewhere.' });
    assert.deepEqual(
      [await ended, said.stderr],
      isLeft ? [0, ''] : [255, 'gpuaas: You ended the session from elsewhere.\n'],
    );
  });

test('when ssh fails without a message from the gateway, the CLI prints how to add a key to the VM', async (t) => {
  const { home, run } = await world(t);
  const with255 = async (more: string) => {
    await writeFile(join(home, 'ssh'), `#!/bin/sh\n${more}\nexit 255\n`, { mode: 0o755 });
    const { said, ended } = run('ssh', 'train');
    assert.equal(await ended, 255);
    return said.stderr;
  };
  assert.equal(
    await with255(''),
    [
      'If ssh reported "Permission denied", none of your keys is installed. Grant one:',
      '  gpuaas allocation grant train --key NAME',
      'Connect without a key: gpuaas terminal train',
      '',
    ].join('\n'),
  );
  // The proxy command has printed why: it creates a file at the given path.
  assert.equal(await with255(`touch "$(printf '%s\\n' "$*" | sed 's/.*--said=\\([^ ]*\\).*/\\1/')"`), '');
});

test('~. disconnects and restores the terminal mode', { skip: requires('script') }, async (t) => {
  const { gateway, api, atTerminal } = await world(t);
  const { child, said, until, ended } = atTerminal('terminal train');
  const leg = await gateway.next();
  assert.ok(api.requests.some((line) => line.endsWith('{"kind":"terminal","cols":100,"rows":30}')));
  leg.say(sessionWord());
  await until(() => said.stdout.includes('Type ~. at the start of a line to leave.'));
  leg.send(Buffer.from('prompt$ '));
  await until(() => said.stdout.includes('prompt$ '));
  child.stdin.write('\u0003ls\r');
  await leg.until(() => Buffer.concat(leg.received).toString() === '\u0003ls\r');
  child.stdin.write('~.');
  assert.equal(await ended, 0);
  assert.match(said.stdout, / icanon/);
  assert.match(said.stdout, / echo /);
});

test('the terminal mode is restored when the gateway disconnects', { skip: requires('script') }, async (t) => {
  const { gateway, atTerminal } = await world(t);
  const { said, until, ended } = atTerminal('console train');
  const leg = await gateway.next();
  leg.say(sessionWord({ kind: 'console' }));
  await until(() => said.stdout.includes('to leave.'));
  leg.send(Buffer.from('login: '));
  await until(() => said.stdout.includes('login: '));
  leg.socket.terminate();
  assert.equal(await ended, 7);
  assert.match(said.stdout, /The connection to the gateway was lost/);
  assert.match(said.stdout, / icanon/);
});

test('each forwarded connection has its own session, and a refused one ends no other', async (t) => {
  const { gateway, api, run } = await world(t);
  const { child, said, until, ended } = run('forward', 'train', '0:8888');
  await until(() => said.stderr.includes('Press Ctrl-C to stop.'));
  const port = Number(/127\.0\.0\.1:(\d+) forwards/.exec(said.stdout)?.[1]);
  const dial = () => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    t.after(() => socket.destroy());
    return socket;
  };
  const first = dial();
  const leg = await gateway.next();
  leg.say(sessionWord({ kind: 'forward' }));
  const refused = dial();
  const other = await gateway.next();
  other.say(sessionWord({ kind: 'forward' }));
  other.say({ type: 'failed', message: 'Nothing listens on port 8888.' });
  await once(refused.resume(), 'end');
  await until(() => said.stderr.includes('Port 8888: Nothing listens on port 8888.'));
  first.end('GET / HTTP/1.0\r\n\r\n');
  await leg.until(() => leg.words.some(({ type }) => type === 'eof'));
  leg.send(Buffer.from('HTTP/1.0 200 OK\r\n\r\n'));
  leg.say({ type: 'eof' });
  let response = '';
  for await (const chunk of first) response += chunk;
  assert.equal(response, 'HTTP/1.0 200 OK\r\n\r\n');
  // One more ticket was requested before anything listened, to learn of a refusal.
  assert.equal(api.requests.filter((line) => line.includes('"kind":"forward","port":8888')).length, 3);
  child.kill('SIGINT');
  assert.equal(await ended, 0);
});

test('ssh-proxy passes bytes unchanged, supports half-close and prints why it failed', async (t) => {
  const { gateway, run } = await world(t);
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
  const good = run('ssh-proxy', placementIds.allocation);
  const leg = await gateway.next();
  leg.say(sessionWord({ kind: 'ssh' }));
  good.child.stdout.setEncoding('latin1');
  good.child.stdin.end(bytes);
  await leg.until(() => leg.words.some(({ type }) => type === 'eof'));
  assert.deepEqual(Buffer.concat(leg.received), bytes);
  leg.send(bytes);
  leg.say({ type: 'eof' });
  leg.say({ type: 'closed', reason: 'ended', message: 'The other end closed.' });
  assert.equal(await good.ended, 0);
  assert.deepEqual(Buffer.from(good.said.stdout, 'latin1'), bytes);
  const bad = run('ssh-proxy', placementIds.allocation);
  const other = await gateway.next();
  other.say(sessionWord({ kind: 'ssh' }));
  other.say({ type: 'closed', reason: 'released', message: 'The allocation is being released.' });
  assert.equal(await bad.ended, 255);
  assert.equal(bad.said.stderr, 'gpuaas: The allocation is being released.\n');
});
