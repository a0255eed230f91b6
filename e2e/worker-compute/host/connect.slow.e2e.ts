/**
 * How a tenant reaches a VM on a real host: with the CLI and ordinary OpenSSH programs, through gateway and agent, both
 * processes. The VM is behind its host's private network; nothing on the host listens. The tests share a VM and run in
 * order.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Allocation, connect, GpuaasError, type SessionKind, type SessionStream } from '@gpuaas/sdk';
import { composedHostLacks } from '../../../node-agent/test/composed-host.ts';
import { findProgram } from '../../../tools/test/requires.ts';
import { eventually } from '../../sim/platform.ts';
import { createStory } from '../../story.ts';
import { type HostLab, startHostLab } from './host-lab.ts';
import { reader } from './session-reader.ts';

const GPUAAS = fileURLToPath(new URL('../../../bin/gpuaas', import.meta.url));
const GATEWAY = 'gpuaas-terminal-gateway';
const PROCESSES = ['gpuaas-api,gpuaas-provisioning-worker,gpuaas-outbox-relay,gpuaas-node-api', GATEWAY];
const MIB = 1024 ** 2;
const skip = composedHostLacks();
/** Ends a hanging test. */
const timeout = 180_000;
const LOAD_MS = 600_000;
const SESSIONS = 200;

type Answer = Readonly<{ status: number | null; stdout: string; stderr: string }>;

let lab: HostLab;
let machine: Allocation;
let env: NodeJS.ProcessEnv;
/** The tenant's own home directory, with its own ssh configuration. */
let home: string;

const run = (program: string, args: readonly string[], input?: string): Promise<Answer> =>
  new Promise((resolve) => {
    const child = execFile(program, args, { env, timeout: 180_000, maxBuffer: 64 * MIB }, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : typeof error.code === 'number' ? error.code : null, stdout, stderr }),
    );
    child.stdin?.end(input);
  });
const gpuaas = (...args: readonly string[]): Promise<Answer> => run(GPUAAS, args);
const must = async (answer: Promise<Answer>): Promise<string> => {
  const { status, stdout, stderr } = await answer;
  assert.equal(status, 0, stderr);
  return stdout;
};
/** An OpenSSH program with only the configuration that `ssh-config --write` wrote. */
const openssh = (program: string, ...args: readonly string[]): Promise<Answer> =>
  run(program, ['-F', join(home, '.ssh', 'config'), ...args]);

const sha256 = (bytes: Buffer | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

// Streams end with their test: an open one would keep this process alive.
const streams: SessionStream[] = [];
afterEach(() => {
  for (const stream of streams.splice(0)) stream.close();
});
const open = async (
  kind: SessionKind,
  more: { port?: number; cols?: number; rows?: number } = {},
): Promise<SessionStream> => {
  const params = { project_id: lab.cloud.project_id, allocation_id: machine.id };
  const stream = await connect(lab.cloud.client, { ...params, kind, ...more });
  streams.push(stream);
  return stream;
};

const type = (stream: SessionStream, text: string): Promise<void> => stream.write(Buffer.from(text));

const residentBytes = (child: ChildProcess): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024;

const test = createStory(() => lab.report());

before(async () => {
  if (skip !== false) return;
  lab = await startHostLab({ slots: 2, processes: PROCESSES });
  const { token } = await lab.cloud.client.apiTokenCreate({
    body: { name: 'shell', scopes: ['all'], expires_in_s: 7200 },
  });
  home = join(lab.cloud.scratch, 'a home');
  const programs = join(home, 'bin');
  await mkdir(programs, { recursive: true });
  // OpenSSH takes the home directory from the user database and not from HOME.
  const openssh = findProgram('ssh') ?? 'ssh';
  await writeFile(join(programs, 'ssh'), `#!/bin/sh\nexec ${openssh} -F none "$@"\n`, { mode: 0o755 });
  const { SSH_AUTH_SOCK: _, ...inherited } = process.env;
  env = {
    ...inherited,
    PATH: `${programs}:${process.env['PATH']}`,
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    GPUAAS_URL: lab.cloud.platform.url,
    GPUAAS_TOKEN: token,
  };
});
after(() => lab?.close());

test('a slice is launched for the stories below', { skip, timeout }, async () => {
  const { id } = await lab.cloud.launch('desk', { ssh_key_ids: [lab.key_id], image_name: lab.image.name });
  machine = await lab.cloud.reaches(id, 'active');
});

test('`gpuaas ssh` runs a command as the tenant and returns its exit code', { skip, timeout }, async () => {
  const said = await gpuaas('ssh', '-i', lab.tenant.key_file, 'desk', '--', 'id -un; hostname; exit 7');
  assert.deepEqual([said.status, said.stdout], [7, 'ubuntu\ndesk\n'], said.stderr);
});

test('the generated configuration works for ssh and scp, and a VM with another host key is refused', {
  skip,
  timeout,
}, async () => {
  await must(gpuaas('ssh-config', '--write'));
  const config = join(home, '.ssh', 'config');
  await writeFile(
    config,
    `${await readFile(config, 'utf8')}\nIdentityFile ${lab.tenant.key_file}\nIdentitiesOnly yes\n`,
  );
  assert.equal(await must(openssh('ssh', 'gpuaas-desk', 'hostname')), 'desk\n');

  // Several times the buffers of gateway, agent and both ends of SSH.
  const bytes = randomBytes(32 * MIB);
  const file = join(home, 'model');
  await writeFile(file, bytes);
  await must(openssh('scp', '-q', file, 'gpuaas-desk:/tmp/model'));
  assert.equal((await must(openssh('ssh', 'gpuaas-desk', 'sha256sum /tmp/model'))).slice(0, 64), sha256(bytes));
  await must(openssh('scp', '-q', 'gpuaas-desk:/tmp/model', `${file}.back`));
  assert.equal(sha256(await readFile(`${file}.back`)), sha256(bytes));
  await must(openssh('ssh', 'gpuaas-desk', 'rm /tmp/model'));

  const written = await must(gpuaas('ssh-config'));
  const known = /UserKnownHostsFile "?([^"\n]+)"?/.exec(written)?.[1] ?? assert.fail(written);
  const other = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJrdGRbsSxk3+uIc8C0krx3ud23UwpFcNjjs36R6CLvp';
  await writeFile(known, `${machine.id} ${other}\n`);
  const refused = await openssh('ssh', 'gpuaas-desk', 'true');
  assert.match(refused.stderr, /Host key verification failed/);
  await must(gpuaas('ssh-config', '--write'));
});

test('rsync works over the same configuration', { skip, timeout }, async () => {
  await mkdir(join(home, 'tree', 'deep'), { recursive: true });
  for (let n = 0; n < 50; n++) await writeFile(join(home, 'tree', 'deep', `${n}`), randomBytes(1000 + n));
  const ssh = `ssh -F '${join(home, '.ssh', 'config')}'`;
  await must(run('rsync', ['-a', '-e', ssh, `${join(home, 'tree')}/`, 'gpuaas-desk:/tmp/tree/']));
  const there = await must(
    openssh('ssh', 'gpuaas-desk', 'cd /tmp/tree/deep && ls | wc -l && cat $(ls | sort -n) | sha256sum'),
  );
  const all = await Promise.all(Array.from({ length: 50 }, (_, n) => readFile(join(home, 'tree', 'deep', `${n}`))));
  assert.deepEqual(there.split(/\s+/).slice(0, 2), ['50', sha256(Buffer.concat(all))]);
});

test('one connection carries many concurrent sessions with forwarded ports, as editors use it', {
  skip,
  timeout,
}, async () => {
  const socket = join(lab.cloud.scratch, 'mux');
  const mux = ['-o', 'ControlMaster=auto', '-o', `ControlPath=${socket}`, '-o', 'ControlPersist=60'];
  await must(openssh('ssh', ...mux, 'gpuaas-desk', 'true'));
  const many = Array.from({ length: 9 }, (_, n) => must(openssh('ssh', ...mux, 'gpuaas-desk', `echo ${n}; sleep 1`)));
  assert.deepEqual(
    await Promise.all(many),
    Array.from({ length: 9 }, (_, n) => `${n}\n`),
  );
  const { items } = await lab.cloud.client.terminalSessionList({
    params: { project_id: lab.cloud.project_id, allocation_id: machine.id },
    query: { limit: 1 },
  });
  assert.deepEqual([items[0]?.kind, items[0]?.state], ['ssh', 'open']);
  await openssh('ssh', ...mux, '-O', 'exit', 'gpuaas-desk');
});

test('`gpuaas forward` forwards a local port to the VM, and reports when nothing listens there', {
  skip,
  timeout,
}, async (t) => {
  await lab.ssh(
    machine,
    'mkdir -p /tmp/www && echo hello from inside >/tmp/www/index.html; busybox httpd -p 8888 -h /tmp/www',
  );
  const child = spawn(GPUAAS, ['--no-json', 'forward', 'desk', '0:8888', '0:8889'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const portOf = (remote: number) =>
    eventually(`${remote} is forwarded`, () => new RegExp(`127\\.0\\.0\\.1:(\\d+).*${remote}`).exec(said)?.[1]);
  const port = await portOf(8888);
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => (await fetch(`http://127.0.0.1:${port}/`)).text()),
  );
  assert.deepEqual(new Set(answers), new Set(['hello from inside\n']));
  await assert.rejects(fetch(`http://127.0.0.1:${await portOf(8889)}/`));
  await eventually('the refusal is shown', () => /8889/.test(said.split('\n').slice(2).join('\n')) || undefined);
  assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'hello from inside\n', 'the others go on');
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  await ended;
});

test('a terminal needs no key, resizes, passes Ctrl-C and UTF-8, and returns the exit code', {
  skip,
  timeout,
}, async () => {
  const stream = await open('terminal', { cols: 100, rows: 30 });
  const screen = reader(stream);
  await stream.ready;
  await type(stream, 'stty size\n');
  await screen.until('30 100');
  stream.resize(132, 43);
  await type(stream, 'stty size\n');
  await screen.until('43 132');
  // The key press must reach a running program: a shell about to start one would consume it.
  await type(stream, "sh -c 'echo under-$((6*7)); exec sleep 1000'\n");
  await screen.until('under-42');
  await type(stream, '\x03');
  await type(stream, 'echo back-$((6*7))\n');
  await screen.until('back-42');
  await type(stream, "printf 'Grüße 東京 🚀\\n' | od -An -c | head -1; echo 'Grüße 東京 🚀'\n");
  await screen.until(/\nGrüße 東京 🚀/);
  await type(stream, 'exit 3\n');
  await screen.rest();
  const end = await stream.closed;
  assert.deepEqual([end.reason, end.exit_code], ['ended', 3]);
  const keys = await eventually('the session’s key is gone', async () => {
    const text = await lab.ssh(machine, 'cat .ssh/authorized_keys');
    return text.trim().split('\n').length === 1 ? text : undefined;
  });
  assert.ok(keys.includes(lab.tenant.public_key.split(' ')[1] ?? '-'));
});

test('the serial console shows the boot and works while the network of the VM is down', { skip, timeout }, async () => {
  const stream = await open('console');
  const screen = reader(stream);
  await stream.ready;
  await screen.until('guest is up');
  await type(stream, '\n ip link set eth0 down; echo net-$((2*21))\n');
  await screen.until('net-42');
  const cut = await open('ssh');
  assert.equal((await cut.closed).reason, 'unreachable');
  const second = await open('console');
  const beside = reader(second);
  await second.ready;
  await type(stream, 'ip link set eth0 up; udhcpc -i eth0 -s /run/dhcp -q -n; echo up-$((3*14))\n');
  await Promise.all([screen.until('up-42'), beside.until('up-42')]);
  stream.close();
  second.close();
  assert.equal(await must(openssh('ssh', 'gpuaas-desk', 'hostname')), 'desk\n');
});

test('a client that stops reading blocks the program in the VM, and the gateway buffers nothing', {
  skip,
  timeout,
}, async () => {
  const gateway = lab.cloud.platform.servers[1]?.child ?? assert.fail('there is no gateway');
  const stream = await open('terminal');
  await stream.ready;
  await type(stream, 'stty raw -echo; n=0; while :; do printf %01024d 0; n=$((n+1)); echo $n >/tmp/n; done\n');
  const chunks = stream.bytes[Symbol.asyncIterator]();
  await chunks.next();
  const before = residentBytes(gateway);
  const written = async (): Promise<number> => Number((await lab.ssh(machine, 'cat /tmp/n')).trim()) * 1024;
  const stood = async (looks: number): Promise<number> => {
    for (let last = await written(), same = 0; ; ) {
      const now = await written();
      same = now === last && now > 0 ? same + 1 : 0;
      last = now;
      if (same === looks) return now;
    }
  };
  const still = await stood(3);
  assert.ok(still < 8 * MIB, `${still} bytes were written to who reads nothing`);
  assert.ok(residentBytes(gateway) - before < 32 * MIB);
  // A client that reads again gets all of it, and the program continues.
  for (let taken = 0; taken < still + MIB; )
    taken += (await chunks.next()).value?.byteLength ?? assert.fail('it ended');
  await eventually('the program goes on', async () => (await written()) > still || undefined);
  stream.close();
});

test('a killed agent ends its sessions with a reason, and new ones open when it is back', {
  skip,
  timeout,
}, async () => {
  const stream = await open('terminal');
  await stream.ready;
  await lab.agent.kill();
  assert.equal((await stream.closed).reason, 'agent_disconnected');
  await lab.agent.start();
  assert.equal(await must(openssh('ssh', 'gpuaas-desk', 'hostname')), 'desk\n');
  const keys = await eventually('the key of the lost session is gone', async () => {
    const text = (await lab.ssh(machine, 'cat .ssh/authorized_keys')).trim();
    return text.split('\n').length === 1 ? text : undefined;
  });
  assert.ok(keys.includes(lab.tenant.public_key.split(' ')[1] ?? '-'));
});

test('a killed gateway disconnects its clients, and the next gateway closes its sessions', {
  skip,
  timeout,
}, async () => {
  const stream = await open('terminal');
  await stream.ready;
  const busy = openssh('ssh', 'gpuaas-desk', 'sleep 600');
  await eventually('both are open', async () => {
    const { rows } = await lab.cloud.sql.query("select id from terminal_sessions where state = 'open'");
    return rows.length >= 2 || undefined;
  });
  await lab.cloud.platform.servers[1]?.kill('SIGKILL');
  assert.equal((await stream.closed).reason, 'connection_lost');
  assert.equal((await busy).status, 255, 'ssh ends, and says that it was not the command');
  await lab.cloud.platform.restart(GATEWAY);
  assert.equal(await must(openssh('ssh', 'gpuaas-desk', 'hostname')), 'desk\n');
  await eventually(
    'what the killed one left is closed',
    async () => {
      const { rows } = await lab.cloud.sql.query<{ end_reason: string }>(
        'select end_reason from terminal_sessions where id = $1 and closed_at is not null',
        [stream.session.session_id],
      );
      return rows[0]?.end_reason === 'gateway_stopped' || undefined;
    },
    60_000,
  );
});

test('a granted key works, a revoked one does not, and keys added by the tenant stay', {
  skip,
  timeout,
}, async () => {
  const key = join(lab.cloud.scratch, 'second-key');
  await must(run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]));
  await lab.cloud.addKey('second', (await readFile(`${key}.pub`, 'utf8')).trim());
  await lab.ssh(machine, 'echo "# a note of my own" >>.ssh/authorized_keys');
  const enter = () => gpuaas('ssh', '-i', key, 'desk', '--', 'hostname');
  assert.equal((await enter()).status, 255);
  await must(gpuaas('allocation', 'grant', 'desk', '--key', 'second'));
  await eventually('the granted key opens it', async () => (await enter()).stdout === 'desk\n' || undefined);
  const { items } = await lab.cloud.client.accessGrantList({
    params: { project_id: lab.cloud.project_id, allocation_id: machine.id },
    query: {},
  });
  await must(gpuaas('allocation', 'revoke', '--yes', 'desk', items[0]?.id ?? ''));
  await eventually('the revoked key does not', async () => (await enter()).status === 255 || undefined);
  assert.match(await lab.ssh(machine, 'cat .ssh/authorized_keys'), /a note of my own/);
});

test('10 MB pasted into a terminal arrive unchanged', { skip, timeout: LOAD_MS }, async () => {
  const stream = await open('terminal');
  const screen = reader(stream);
  await stream.ready;
  const command = 'stty raw -echo; printf go-; echo; head -c 10485760 | sha256sum; stty sane; echo done-$((1+1))\n';
  await stream.write(Buffer.from(command));
  await screen.until('go-\n');
  const bytes = Buffer.from(randomBytes(5 * MIB).toString('hex'));
  await stream.write(bytes);
  const output = await screen.until('done-2');
  assert.ok(output.includes(sha256(bytes)), output.slice(-500));
});

test('200 concurrent sessions each receive their own bytes', { skip, timeout: LOAD_MS }, async () => {
  await lab.ssh(machine, 'setsid busybox nc -ll -p 7007 -e cat >/dev/null 2>&1 </dev/null &');
  await eventually(
    'port 7007 listens',
    async () => /:1B5F [0-9A:]+ 0A /.test(await lab.ssh(machine, 'cat /proc/net/tcp /proc/net/tcp6')) || undefined,
  );
  // Two hundred at once may be too many for a busy control plane or an emulated VM. Both report it; retry for a while.
  const tryOnce = async (): Promise<SessionStream | undefined> => {
    try {
      const stream = await open('forward', { port: 7007 });
      await stream.ready;
      return stream;
    } catch (err) {
      if (err instanceof GpuaasError && err.retryable) return undefined;
      throw err;
    }
  };
  const openPatiently = (): Promise<SessionStream> => eventually('a session is open', tryOnce, 120_000);
  const echo = async (n: number): Promise<string> => {
    const stream = await openPatiently();
    const text = `${n} `.repeat(2000);
    await stream.write(Buffer.from(text));
    await stream.end();
    assert.equal(await reader(stream).rest(), text);
    return stream.session.session_id;
  };
  const ids = await Promise.all(Array.from({ length: SESSIONS }, (_, n) => echo(n)));
  assert.equal(new Set(ids).size, SESSIONS);
});

test('releasing a VM ends its sessions within seconds, and each is audited with its byte counts', {
  skip,
  timeout,
}, async () => {
  const [shell, line] = await Promise.all([open('terminal'), open('console')]);
  await Promise.all([shell.ready, line.ready]);
  await lab.cloud.release(machine.id);
  for (const stream of [shell, line]) assert.equal((await stream.closed).reason, 'released');
  await lab.cloud.reaches(machine.id, 'released');
  const found = await eventually('every session is closed', async () => {
    const { rows } = await lab.cloud.sql.query<{ opened: number; closed: number; live: number }>(
      `select (select count(*)::int from audit_logs where action = 'allocation.session.open') as opened,
         (select count(*)::int from audit_logs where action = 'allocation.session.close') as closed,
         (select count(*)::int from terminal_sessions where state in ('opening', 'open')) as live`,
    );
    return rows[0]?.live === 0 ? rows[0] : undefined;
  });
  assert.ok(found.opened > SESSIONS, `${found.opened} sessions`);
  assert.equal(found.closed, found.opened);
});
