import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import type { TaskParams } from '@gpuaas/contract/node';
import { mintId, silentLog } from '@gpuaas/kit';
import { ALLOCATION, OTHER, of, provision, startTestHost, type TestHost } from '../../test/slice.ts';
import { startStreamGateway, type TestSession } from '../../test/stream-gateway.ts';
import { addSessionKey, readKeySets, removeSessionKey, setKeys } from '../authorized-keys.ts';
import { HostError } from '../host/host.ts';
import { createQueue } from '../queue.ts';
import { createOpenGateway } from './gateway.ts';
import { openTarget } from './open.ts';
import { createStreams } from './streams.ts';
import { createSessionKey } from './terminal.ts';

type Asked = Partial<TaskParams<'stream.open'>> & Pick<TaskParams<'stream.open'>, 'kind'>;
const WITHOUT_END = new AbortController().signal;
const newKey = async (): Promise<string> => (await createSessionKey()).authorized.split(' ').slice(1).join(' ');

const setUp = async (t: TestContext, more: Readonly<{ sessions_max?: number }> = {}) => {
  const host = startTestHost(t);
  const gateway = await startStreamGateway();
  const connection = await gateway.connection();
  const openStreams = () =>
    createStreams({
      host: host.sim,
      state: host.state,
      log: silentLog(),
      now: () => new Date(),
      openGateway: createOpenGateway(connection, 'test'),
      ...more,
    });
  const streams = openStreams();
  t.after(async () => {
    await streams.close();
    await gateway.close();
  });
  const paramsOf = (asked: Asked): TaskParams<'stream.open'> => ({
    allocation_id: ALLOCATION,
    session_id: mintId('terminal_session'),
    gateway_url: gateway.url,
    username: null,
    port: null,
    cols: 80,
    rows: 24,
    is_writable: true,
    session_expires_at: new Date(Date.now() + 3600_000).toISOString(),
    ...asked,
  });
  const start = async (asked: Asked): Promise<TestSession> => {
    const params = paramsOf(asked);
    const coming = gateway.expect(params.session_id);
    assert.deepEqual(await streams.handler(host.ctx(), params), { session_id: params.session_id });
    return coming;
  };
  const open = async (asked: Asked): Promise<TestSession> => {
    const session = await start(asked);
    await session.until(() => session.word('ready') !== undefined);
    return session;
  };
  const refusal = async (asked: Asked): Promise<string> => {
    const session = await start(asked);
    await session.until(() => session.isClosed);
    assert.deepEqual(
      session.words.map((word) => word.type),
      ['failed'],
    );
    return session.word('failed')?.message ?? '';
  };
  return { host, gateway, streams, openStreams, paramsOf, start, open, refusal };
};

type Stored = { domains: { ssh_public_keys?: string[] }[]; users: Record<string, { ssh_public_keys: string[] }> };
const stored = ({ sim }: TestHost): Stored => JSON.parse(readFileSync(join(sim.dir, 'state.json'), 'utf8')) as Stored;
const guestKeys = (host: TestHost): readonly string[] => stored(host).domains[0]?.ssh_public_keys ?? [];
const accountKeys = (host: TestHost, name: string): readonly string[] =>
  stored(host).users[name]?.ssh_public_keys ?? [];
const running = async (host: TestHost) => {
  const slots = await host.slots([0]);
  await provision(host, slots);
  await host.run('slice.vm_readiness', of(slots));
  return slots;
};

describe('sessions of an agent', () => {
  it('reach only the VM that is leased and running, and report why another is refused', async (t) => {
    const { host, open, refusal } = await setUp(t);
    assert.equal(await refusal({ kind: 'ssh' }), 'The VM no longer exists on this host.');
    const slots = await running(host);
    const session = await open({ kind: 'ssh' });
    await session.shows(/^SSH-2\.0-/);
    session.close();
    assert.equal(await refusal({ kind: 'ssh', allocation_id: OTHER }), 'The VM no longer exists on this host.');
    const gone = 'The user no longer exists on this host.';
    assert.equal(await refusal({ kind: 'forward', port: 80, username: 'tenant-a' }), gone);
    assert.match(await refusal({ kind: 'forward', port: 9 }), /port 9\b/i);
    assert.equal(await refusal({ kind: 'forward' }), 'A forward needs a port.');
    await host.run('slice.vm_stop', { ...of(slots), grace_s: 0 });
    for (const kind of ['ssh', 'console', 'terminal'] as const)
      assert.equal(await refusal({ kind }), 'The VM is off. Start it, then connect again.');
  });

  it('add a key beside the installed ones until they end, also if keys are installed meanwhile', async (t) => {
    const { host, open, streams } = await setUp(t);
    await running(host);
    const plain = guestKeys(host);
    const [one, two] = [await open({ kind: 'terminal' }), await open({ kind: 'terminal' })];
    assert.equal(guestKeys(host).length, plain.length + 2);
    const granted = [...plain, await newKey()];
    const keys = { allocation_id: ALLOCATION, username: null, ssh_public_keys: granted };
    await host.run('allocation.install_authorized_keys', keys);
    assert.equal(guestKeys(host).length, granted.length + 2);
    await one.send('exit 3\n');
    await one.until(() => one.isClosed);
    assert.deepEqual(one.word('exit'), { type: 'exit', code: 3, signal: null });
    two.terminate();
    await streams.close();
    assert.deepEqual(guestKeys(host), granted);
    assert.deepEqual(
      (await readKeySets(host.state)).map((set) => set.has_session_keys),
      [false],
    );
  });

  it('have their keys removed by the next agent if an agent died with them', async (t) => {
    const { host, openStreams } = await setUp(t);
    await running(host);
    const plain = guestKeys(host);
    const left = (await createSessionKey()).authorized;
    await host.sim.access?.setGuestKeys(`gpuaas-${ALLOCATION.replaceAll('_', '-')}`, [...plain, left], WITHOUT_END);
    const file = join(host.state, 'authorized-keys.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"has_session_keys":false', '"has_session_keys":true'));
    assert.equal(guestKeys(host).length, plain.length + 1);
    const next = openStreams();
    await next.repair();
    assert.deepEqual(guestKeys(host), plain);
    assert.equal((await readKeySets(host.state))[0]?.has_session_keys, false);
    await next.close();
  });

  it('log in to the account of a bare-metal node, which has no serial console', async (t) => {
    const { host, open, refusal, streams } = await setUp(t);
    const account = { allocation_id: ALLOCATION, username: 'tenant-a' };
    const keys = [await newKey()];
    await host.run('allocation.provision_user', { ...account, ssh_public_keys: keys, disks: [], slot_generations: [] });
    assert.match(await refusal({ kind: 'console', username: 'tenant-a' }), /no serial console/);
    assert.match(
      await refusal({ kind: 'ssh', username: 'tenant-a', allocation_id: OTHER }),
      /no longer exists on this host/,
    );
    const session = await open({ kind: 'terminal', username: 'tenant-a' });
    assert.equal(accountKeys(host, 'tenant-a').length, 2);
    await session.send('whoami\n');
    await session.shows(/\ntenant-a/);
    session.terminate();
    await streams.close();
    assert.deepEqual(accountKeys(host, 'tenant-a'), keys);
    await host.run('allocation.deprovision_user', account);
    assert.deepEqual(await readKeySets(host.state), []);
  });

  it('do not create a missing account or remove keys that the agent does not know', async (t) => {
    const { host, refusal } = await setUp(t);
    const keys = [await newKey()];
    await host.sim.system.ensureUser({ username: 'tenant-a', ssh_public_keys: keys });
    assert.equal(
      await refusal({ kind: 'terminal', username: 'tenant-a' }),
      'The key of this session could not be installed.',
    );
    assert.deepEqual(accountKeys(host, 'tenant-a'), keys);
    const told = { allocation_id: ALLOCATION, username: 'tenant-a', keys };
    await setKeys({ host: host.sim, state: host.state }, told, WITHOUT_END);
    await host.sim.system.removeUser('tenant-a');
    assert.match(await refusal({ kind: 'terminal', username: 'tenant-a' }), /no longer exists on this host/);
    assert.deepEqual(stored(host).users, {});
  });

  it('are limited in number, end when they expire and end with the agent', async (t) => {
    const { host, open, refusal, streams, paramsOf } = await setUp(t, { sessions_max: 2 });
    await running(host);
    const session_expires_at = new Date(Date.now() + 300).toISOString();
    const [short, long] = [await open({ kind: 'console', session_expires_at }), await open({ kind: 'console' })];
    if (streams.count() === 2) assert.match(await refusal({ kind: 'console' }), /too many open sessions/);
    await short.until(() => short.isClosed);
    await streams.close();
    await long.until(() => long.isClosed);
    assert.equal(streams.count(), 0);
    const over = { ...paramsOf({ kind: 'console' }), session_expires_at: new Date(0).toISOString() };
    await assert.rejects(
      streams.handler(host.ctx(), over),
      (err) => err instanceof HostError && err.code === 'conflict',
    );
  });

  it('of one tenant, however many, do not block those of another', async (t) => {
    const { host, open, refusal } = await setUp(t, { sessions_max: 2 });
    await running(host);
    const slots = await host.slots([1]);
    await provision(host, slots, OTHER);
    await host.run('slice.vm_readiness', of(slots, OTHER));
    await open({ kind: 'console' });
    await open({ kind: 'console' });
    assert.match(await refusal({ kind: 'console' }), /too many open sessions/);
    await open({ kind: 'console', allocation_id: OTHER });
    assert.match(await refusal({ kind: 'console', allocation_id: OTHER }), /too many open sessions/);
  });

  it('send nothing to an address that no longer belongs to their VM when it connects', async (t) => {
    const { host, paramsOf } = await setUp(t);
    const slots = await running(host);
    const { access } = host.sim;
    assert.ok(access !== undefined);
    const dialled: Duplex[] = [];
    const late: typeof access = {
      ...access,
      dial: async (to, signal) => {
        const socket = await access.dial(to, signal);
        dialled.push(socket);
        await host.run('slice.vm_stop', { ...of(slots), grace_s: 0 });
        await host.run('slice.cleanup', of(slots));
        return socket;
      },
    };
    const opening = { host: host.sim, access: late, state: host.state, host_keys: new Map() };
    await assert.rejects(openTarget(opening, paramsOf({ kind: 'ssh' }), WITHOUT_END), {
      name: 'Refusal',
      message: 'The VM no longer exists on this host.',
    });
    assert.deepEqual(
      dialled.map((socket) => socket.destroyed),
      [true],
    );
  });

  it('end alone when the VM resets a connection before it is read', async (t) => {
    const { host, paramsOf } = await setUp(t);
    await running(host);
    const { access } = host.sim;
    assert.ok(access !== undefined);
    const reset: typeof access = {
      ...access,
      dial: async (to, signal) => {
        const socket = await access.dial(to, signal);
        process.nextTick(() => socket.destroy(new Error('reset')));
        return socket;
      },
    };
    const opening = { host: host.sim, access: reset, state: host.state, host_keys: new Map() };
    const { target } = await openTarget(opening, paramsOf({ kind: 'ssh' }), WITHOUT_END);
    await assert.rejects(target.write(Buffer.from('x')), /closed/);
  });

  it('leave no key whose removal was requested before it was added', async (t) => {
    const { host } = await setUp(t);
    const place = { host: host.sim, state: host.state };
    const keys = [await newKey()];
    const { authorized } = await createSessionKey();
    await Promise.all([
      setKeys(place, { allocation_id: ALLOCATION, username: 'tenant-a', keys }, WITHOUT_END),
      addSessionKey(place, ALLOCATION, authorized, WITHOUT_END),
      removeSessionKey(place, ALLOCATION, authorized, WITHOUT_END),
    ]);
    assert.deepEqual(accountKeys(host, 'tenant-a'), keys);
    assert.deepEqual(
      (await readKeySets(host.state)).map((set) => set.has_session_keys),
      [false],
    );
  });

  it('suggest the serial console if no shell opens', async (t) => {
    const { host, refusal } = await setUp(t);
    await running(host);
    host.fault({ state: 'no_lease', slot: 0 });
    assert.match(await refusal({ kind: 'terminal' }), / The serial console is another way in\.$/);
  });

  it('leave no stored keys of an allocation after its cleanup', async (t) => {
    const { host } = await setUp(t);
    const slots = await running(host);
    assert.equal((await readKeySets(host.state)).length, 1);
    await host.run('slice.vm_stop', { ...of(slots), grace_s: 0 });
    await host.run('slice.cleanup', of(slots));
    assert.deepEqual(await readKeySets(host.state), []);
  });

  it('do not wait for other work of their allocation', async () => {
    const queue = createQueue(16);
    const began: string[] = [];
    const work = (id: string, keys: readonly string[], run: () => Promise<void>) =>
      queue.add({ id, keys, is_exclusive: false, run });
    const cleaning = Promise.withResolvers<void>();
    const noted = (id: string, until: Promise<void>) => () => {
      began.push(id);
      return until;
    };
    work('cleanup', ['allocation:a', 'slot:1'], noted('cleanup', cleaning.promise));
    work('stop', ['allocation:a'], noted('stop', Promise.resolve()));
    work('stream', [], noted('stream', Promise.resolve()));
    assert.deepEqual(began, ['cleanup', 'stream']);
    cleaning.resolve();
    await queue.idle();
  });
});
