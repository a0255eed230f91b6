/**
 * Sessions with a slice on a real host: the VM runs under QEMU behind the switch, the agent connects to it as to any,
 * and the test is the gateway. The checks are from the view of a tenant.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { TaskParams } from '@gpuaas/contract/node';
import { mintId, silentLog } from '@gpuaas/kit';
import { composedHostLacks, TINY_IMAGE } from '../../test/composed-host.ts';
import { makeSliceLab, type SliceLab } from '../../test/slice-lab.ts';
import { type StreamGateway, startStreamGateway, type TestSession } from '../../test/stream-gateway.ts';
import { makeTenant, type Tenant } from '../../test/tenant.ts';
import type { Host } from '../host/host.ts';
import type { TaskContext } from '../tasks/task.ts';
import { createOpenGateway } from './gateway.ts';
import { createStreams, type Streams } from './streams.ts';

const SLOW_MS = 600_000;
const ONE = { timeout: 120_000 };
/** With a shell prompt at the cursor. */
const PROMPT = new RegExp(String.raw`\$ (?:${'\u001b'}\[6n)?$`);
const lacks = composedHostLacks();
type Asked = Partial<TaskParams<'stream.open'>> & Pick<TaskParams<'stream.open'>, 'kind'>;

describe('a session with a slice on a real host', { skip: lacks, timeout: SLOW_MS }, () => {
  let lab: SliceLab;
  let gateway: StreamGateway;
  let host: Host;
  let streams: Streams;
  let other: Tenant;
  let hostKey = '';

  const start = async (asked: Asked): Promise<TestSession> => {
    const session_id = mintId('terminal_session');
    const coming = gateway.expect(session_id);
    const context: TaskContext = {
      host,
      node_id: 'nod_01jtest0000000000000000001',
      task_id: 'tsk_01jtest0000000000000000001',
      attempt: 1,
      correlation_id: 'test',
      log: silentLog(),
      signal: AbortSignal.timeout(120_000),
      progress: () => undefined,
      now: () => new Date(),
      state: lab.state,
    };
    const output = await streams.handler(context, {
      allocation_id: lab.held.allocation_id,
      session_id,
      gateway_url: gateway.url,
      username: null,
      port: null,
      cols: 80,
      rows: 24,
      is_writable: true,
      session_expires_at: new Date(Date.now() + 3600_000).toISOString(),
      ...asked,
    });
    assert.deepEqual(output, { session_id });
    return coming;
  };
  const open = async (asked: Asked): Promise<TestSession> => {
    const session = await start(asked);
    await session.until(() => session.word('ready') !== undefined);
    return session;
  };
  const inGuest = (command: string): Promise<string> => lab.tenant.run({ ip: lab.at.ip, host_key: hostKey }, command);

  before(
    async () => {
      lab = await makeSliceLab({ slots: 1 });
      gateway = await startStreamGateway();
      host = lab.host.reopen();
      streams = createStreams({
        host,
        state: lab.state,
        log: silentLog(),
        now: () => new Date(),
        openGateway: createOpenGateway(await gateway.connection(), 'test'),
      });
      other = makeTenant(lab.host.network.config.command_prefix);
      await lab.run('slice.bundle_lease', { ...lab.lease, vcpu_count: 1, memory_mib: 512 });
      await lab.run('slice.image_clone', { ...lab.held, image: { name: TINY_IMAGE, digest: null } });
      await lab.run('slice.vm_start', lab.start);
      hostKey = (await lab.run('slice.vm_readiness', lab.held)).ssh_host_key ?? '';
    },
    { timeout: SLOW_MS },
  );
  after(async () => {
    await streams?.close();
    await gateway?.close();
    other?.remove();
    await lab?.close();
  });

  const keysInGuest = async (): Promise<readonly string[]> =>
    (await inGuest('cat .ssh/authorized_keys')).split('\n').filter((line) => line !== '');
  /** Until nothing of the session is left in the VM. */
  const plainAgain = async (plain: readonly string[]): Promise<void> => {
    for (let tries = 0; tries < 50; tries++) {
      const keys = await keysInGuest();
      if (keys.join() === plain.join()) return;
    }
    assert.fail(`keys are left: ${(await keysInGuest()).join('; ')}`);
  };

  test('a terminal runs a shell with a pty, resizes, is interrupted and returns the exit code', ONE, async () => {
    const byHand = `${other.public_key} by hand`;
    await inGuest(`echo '${byHand}' >>.ssh/authorized_keys`);
    const plain = await keysInGuest();
    const session = await open({ kind: 'terminal', cols: 100, rows: 30 });
    /** The shell discards input that arrives before it is ready to read. */
    const type = async (line: string): Promise<void> => {
      await session.shows(PROMPT);
      session.clear();
      await session.send(line);
    };
    await type('stty size; echo $TERM; id -un\n');
    await session.shows(/30 100\r\nxterm-256color\r\nubuntu\r\n/);
    const during = await keysInGuest();
    assert.equal(during.length, plain.length + 1);
    assert.ok(during.some((line) => line.startsWith('no-port-forwarding,no-agent-forwarding,no-X11-forwarding ')));
    session.say({ type: 'resize', cols: 132, rows: 43 });
    await type('stty size\n');
    await session.shows(/43 132\r\n/);
    await type('echo begun; /bin/sleep 1234; echo not reached\n');
    await session.shows(/\r\nbegun\r\n/);
    // Input before the program runs is for the shell.
    while ((await inGuest('ps | grep -c "[b]in/sleep 1234" || :')).trim() === '0');
    await session.send('\x03');
    await type('echo "ü → $((6 * 7))"\n');
    await session.shows(/ü → 42\r\n/);
    assert.doesNotMatch(session.text, /\nnot reached/);
    await session.shows(PROMPT);
    await session.send('exit 7\n');
    await session.until(() => session.isClosed);
    assert.deepEqual(session.word('exit'), { type: 'exit', code: 7, signal: null });
    await plainAgain(plain);
    assert.ok((await keysInGuest()).includes(byHand), 'what was added by hand stays');
  });

  test('the key of a session is also removed when its client just disconnects', ONE, async () => {
    const plain = await keysInGuest();
    const session = await open({ kind: 'terminal' });
    await session.shows(/\$ /);
    session.terminate();
    await plainAgain(plain);
  });

  test('the SSH port is that of the guest OS, for an ordinary client', ONE, async () => {
    const session = await open({ kind: 'ssh' });
    await session.shows(/^SSH-2\.0-/);
    session.terminate();

    const bridge = createServer(async (client) => {
      client.on('error', () => undefined);
      client.pause();
      const carried = await open({ kind: 'ssh' });
      let passed = 0;
      const pass = (): void => {
        for (; passed < carried.parts.length; passed++) client.write(carried.parts[passed] ?? '');
      };
      client.on('data', (chunk: Buffer) => void carried.send(chunk));
      client.on('close', () => carried.terminate());
      client.resume();
      await carried.until(() => {
        pass();
        return carried.isClosed;
      });
      client.end();
    });
    await new Promise<void>((resolve) => bridge.listen(0, '127.0.0.1', resolve));
    const { port } = bridge.address() as { port: number };
    const answer = await new Promise<string>((resolve, reject) =>
      execFile(
        'ssh',
        [
          ...['-p', String(port), '-i', lab.tenant.key_file, '-o', 'BatchMode=yes', '-o', 'IdentitiesOnly=yes'],
          ...['-o', `KnownHostsCommand=/bin/echo [127.0.0.1]:${port} ${hostKey}`, '-o', 'StrictHostKeyChecking=yes'],
          'ubuntu@127.0.0.1',
          'echo from $(hostname); head -c 3000000 /dev/zero | wc -c',
        ],
        { timeout: 120_000 },
        (error, stdout, stderr) => (error === null ? resolve(stdout) : reject(new Error(stderr))),
      ),
    );
    bridge.close();
    assert.equal(answer, 'from trainer\n3000000\n');
  });

  test('a forward reaches a server in the VM in both directions, and reports if nothing listens', ONE, async () => {
    await inGuest('mkdir -p www && echo hello >www/index.html && busybox httpd -p 8888 -h www');
    const session = await open({ kind: 'forward', port: 8888 });
    await session.send('GET / HTTP/1.0\r\n\r\n');
    await session.until(() => session.word('eof') !== undefined);
    assert.match(session.text, /^HTTP\/1\.\d 200 OK[\s\S]*hello\n$/);
    assert.equal(session.isClosed, false, 'the other way is open until it ends too');
    session.say({ type: 'eof' });
    await session.until(() => session.isClosed);

    const refused = await start({ kind: 'forward', port: 8889 });
    await refused.until(() => refused.isClosed);
    assert.deepEqual(refused.words, [{ type: 'failed', message: 'Nothing listens on port 8889 of the VM.' }]);
  });

  test('a half-close reaches the guest OS, which still answers', ONE, async () => {
    const served = inGuest('busybox nc -l -p 8890 -e sh -c "wc -c; echo done"');
    while ((await inGuest('cat /proc/net/tcp /proc/net/tcp6 | grep -c ":22BA " || :')).trim() === '0');
    const session = await open({ kind: 'forward', port: 8890 });
    await session.send(Buffer.alloc(3_000_000, 'x'));
    session.say({ type: 'eof' });
    await session.shows(/3000000\s+done\n/);
    await session.until(() => session.isClosed);
    assert.ok(session.acknowledged > 2_000_000);
    await served;
  });

  test('keys are set while the VM runs, and keys added by the tenant stay', ONE, async () => {
    const [mine, added] = [lab.tenant.public_key, makeTenant(lab.host.network.config.command_prefix)];
    const at = { ip: lab.at.ip, host_key: hostKey };
    const keys = { allocation_id: lab.held.allocation_id, username: null };
    assert.notEqual((await added.ask(at, 'true')).status, 0);
    const told = { ...keys, ssh_public_keys: [mine, added.public_key] };
    assert.deepEqual(await lab.run('allocation.install_authorized_keys', told), { key_count: 2 });
    await added.run(at, 'true');
    await lab.run('allocation.install_authorized_keys', { ...keys, ssh_public_keys: [mine] });
    assert.notEqual((await added.ask(at, 'true')).status, 0);
    assert.equal(await other.run(at, 'echo in'), 'in\n');
    added.remove();
  });

  test('the serial console shows the boot and accepts input, also while the network is down', ONE, async () => {
    const [one, two] = [await open({ kind: 'console' }), await open({ kind: 'console', is_writable: false })];
    await Promise.all([one, two].map((viewer) => viewer.shows(/guest is up after/)));
    await one.send('\r\nip link set eth0 down; echo "down: $((40 + 2))"\r\n');
    await Promise.all([one, two].map((viewer) => viewer.shows(/down: 42/)));
    const dead = await start({ kind: 'ssh' });
    await dead.until(() => dead.isClosed);
    assert.match(dead.word('failed')?.message ?? '', /^The VM /);
    await two.send('\r\necho "not $((1 + 1))"\r\n');
    await one.send('hostname; ip link set eth0 up; echo "up: $((40 + 3))"\r\n');
    await Promise.all([one, two].map((viewer) => viewer.shows(/trainer[\s\S]*up: 43/)));
    assert.doesNotMatch(one.text, /not 2/, 'who may only look types nothing');
    one.terminate();
    await two.send('x');
    const again = await open({ kind: 'console' });
    await again.shows(/up: 43/);
    again.terminate();
    two.terminate();
  });

  test('a VM that stops ends its sessions and refuses new ones with the reason', ONE, async () => {
    const console = await open({ kind: 'console' });
    await lab.run('slice.vm_stop', { ...lab.held, grace_s: 0 });
    await console.until(() => console.isClosed);
    for (const kind of ['ssh', 'terminal', 'console'] as const) {
      const refused = await start({ kind });
      await refused.until(() => refused.isClosed);
      assert.deepEqual(refused.words, [{ type: 'failed', message: 'The VM is off. Start it, then connect again.' }]);
    }
  });
});
