/**
 * Many sessions and many bytes through gateway and agent to a VM on a real host. `connect.slow.e2e.ts` has the other tests.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, afterEach, before, test } from 'node:test';
import { type Allocation, connect, GpuaasError, type SessionKind, type SessionStream } from '@gpuaas/sdk';
import { composedHostLacks } from '../../../node-agent/test/composed-host.ts';
import { eventually } from '../../sim/platform.ts';
import { type HostLab, startHostLab } from './host-lab.ts';
import { reader } from './session-reader.ts';

const PROCESSES = [
  'gpuaas-api,gpuaas-provisioning-worker,gpuaas-outbox-relay,gpuaas-node-api',
  'gpuaas-terminal-gateway',
];
const MIB = 1024 ** 2;
const SESSIONS = 200;
const skip = composedHostLacks();
/** Ends a hanging test; not a measurement. */
const timeout = 600_000;

let lab: HostLab;
let vm: Allocation;

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

// An open stream would keep this process alive.
const streams: SessionStream[] = [];
afterEach(() => {
  for (const stream of streams.splice(0)) stream.close();
});
const open = async (kind: SessionKind, more: { port?: number } = {}): Promise<SessionStream> => {
  const params = { project_id: lab.cloud.project_id, allocation_id: vm.id };
  const stream = await connect(lab.cloud.client, { ...params, kind, ...more });
  streams.push(stream);
  return stream;
};

before(async () => {
  if (skip !== false) return;
  lab = await startHostLab({ slots: 1, processes: PROCESSES });
});
after(() => lab?.close());

test('a slice is launched for the stories below', { skip, timeout }, async () => {
  const { id } = await lab.cloud.launch('desk', { ssh_key_ids: [lab.key_id], image_name: lab.image.name });
  vm = await lab.cloud.reaches(id, 'active');
});

test('10 MB pasted into a terminal arrive unchanged', { skip, timeout }, async () => {
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

test('200 concurrent sessions each receive their own bytes', { skip, timeout }, async () => {
  await lab.ssh(vm, 'setsid busybox nc -ll -p 7007 -e cat >/dev/null 2>&1 </dev/null &');
  await eventually(
    'port 7007 listens',
    async () => /:1B5F [0-9A:]+ 0A /.test(await lab.ssh(vm, 'cat /proc/net/tcp /proc/net/tcp6')) || undefined,
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

test('every session is closed and audited once', { skip, timeout }, async () => {
  const found = await eventually('every session is closed', async () => {
    const { rows } = await lab.cloud.sql.query<{ opened: number; closed: number; live: number }>(
      `select (select count(*)::int from audit_logs where action = 'allocation.session.open') as opened,
         (select count(*)::int from audit_logs where action = 'allocation.session.close') as closed,
         (select count(*)::int from terminal_sessions where state in ('opening', 'open')) as live`,
    );
    return rows[0]?.live === 0 ? rows[0] : undefined;
  });
  assert.ok(found.opened > SESSIONS);
  assert.equal(found.closed, found.opened);
});
