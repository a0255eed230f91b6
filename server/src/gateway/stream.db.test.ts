import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { STREAM_ACK_BYTES, STREAM_MESSAGE_BYTES_MAX, STREAM_WINDOW_BYTES } from '@gpuaas/contract/stream';
import { asEnd, type End, joinedGateway, type Stage, type TestGateway } from '../../test/gateway.ts';
import { until } from '../../test/until.ts';

describe('a session', () => {
  const closers: (() => Promise<void>)[] = [];
  let at: TestGateway;
  let stage: Stage;
  before(async () => {
    at = await joinedGateway({ after: (fn) => void closers.unshift(fn) });
    stage = await at.stage();
  });
  after(async () => {
    for (const close of closers) await close();
  });

  /** Sends within its window, as both ends must; received data is acknowledged on arrival. */
  const pump = async (from: End, to: End, total: number): Promise<string> => {
    const digest = createHash('sha256');
    let acknowledged = 0;
    const base = to.bytes();
    to.socket.on('message', (_: Buffer, isBinary: boolean) => {
      const unsaid = to.bytes() - base - acknowledged;
      if (!isBinary || (unsaid < STREAM_ACK_BYTES && to.bytes() - base < total)) return;
      acknowledged += unsaid;
      to.say({ type: 'ack', bytes: unsaid });
    });
    const credit = () =>
      from.words.reduce((sum: number, word) => sum + (word.type === 'ack' ? word.bytes : 0), 0) + STREAM_WINDOW_BYTES;
    for (let sent = 0; sent < total; ) {
      const part = randomBytes(Math.min(STREAM_MESSAGE_BYTES_MAX, total - sent));
      await until('credit', () => credit() >= sent + part.length);
      digest.update(part);
      from.socket.send(part);
      sent += part.length;
    }
    await to.received(total);
    return digest.digest('hex');
  };

  it('carries bytes both ways at once, complete and in order, and counts them', async () => {
    const { session_id, client, host } = await stage.session({ kind: 'ssh' });
    const total = 5 * 1024 * 1024;
    const [up, down] = await Promise.all([pump(client, host, total), pump(host, client, total)]);
    assert.deepEqual([host.hash(), client.hash()], [up, down]);
    host.say({ type: 'eof' });
    await client.word('eof');
    client.say({ type: 'eof' });
    await host.word('eof');
    host.socket.close(1000);
    assert.equal(await client.closed(), 1000);
    await until('the row is closed', async () => (await stage.row(session_id)).state === 'closed');
    const row = await stage.row(session_id);
    assert.deepEqual([row.bytes_in, row.bytes_out, row.end_reason], [total, total, 'ended']);
    assert.ok(row.opened_at !== null && row.gateway_url === at.gateway.agent_url);
  });

  it('calls the host with a task that names session, allocation, kind and replica, and expires soon', async () => {
    const { session_id, ticket } = await stage.ticket({ kind: 'forward' });
    const client = asEnd(await stage.client(ticket));
    assert.deepEqual(
      { ...(await client.word('session')), expires_at: '' },
      {
        type: 'session',
        session_id,
        kind: 'forward',
        is_writable: true,
        is_recorded: false,
        notice: null,
        expires_at: '',
      },
    );
    const [task] = await at.channel.rows<{ params: object; allocation_id: null; life_s: number }>(
      `select t.params, t.allocation_id, extract(epoch from t.expires_at - t.created_at)::float8 as life_s
       from node_tasks t join terminal_sessions s on s.task_id = t.id where s.id = $1 and t.node_id = $2`,
      [session_id, stage.agent.node_id],
    );
    const { expires_at } = await stage.row(session_id);
    assert.deepEqual(task?.params, {
      allocation_id: stage.allocation.id,
      session_id,
      kind: 'forward',
      gateway_url: at.gateway.agent_url,
      username: null,
      port: 8888,
      cols: 80,
      rows: 24,
      is_writable: true,
      session_expires_at: expires_at,
    });
    assert.equal(task?.allocation_id, null);
    assert.equal(Math.round(task?.life_s ?? 0), 30);
    client.socket.close();
    await until('it is over', async () => (await stage.row(session_id)).end_reason === 'client_disconnected');
    const [ended] = await at.channel.rows<{ state: string }>(
      'select t.state from node_tasks t join terminal_sessions s on s.task_id = t.id where s.id = $1',
      [session_id],
    );
    assert.equal(ended?.state, 'cancelled');
  });

  it('forwards early input, sizes, a half close and the exit status of the program', async () => {
    const { session_id, ticket } = await stage.ticket();
    const client = asEnd(await stage.client(ticket));
    client.socket.send(Buffer.from('early '));
    client.say({ type: 'resize', cols: 120, rows: 40 });
    const host = asEnd(await stage.host(session_id));
    assert.deepEqual(await host.word('resize'), { type: 'resize', cols: 120, rows: 40 });
    assert.equal(host.text(), 'early ');
    host.say({ type: 'ready' });
    await client.word('ready');
    await until('the row is open', async () => (await stage.row(session_id)).state === 'open');
    client.say({ type: 'eof' });
    await host.word('eof');
    host.socket.send(Buffer.from('still heard'));
    await client.received(11);
    host.say({ type: 'exit', code: 3, signal: null });
    host.socket.close(1000);
    assert.equal(await client.closed(), 1000);
    assert.deepEqual(client.words.slice(-2), [
      { type: 'exit', code: 3, signal: null },
      { type: 'closed', reason: 'ended', message: 'The session has ended.' },
    ]);
  });

  it('input beyond the early buffer waits at the client, and arrives', async () => {
    const { session_id, ticket } = await stage.ticket();
    const client = asEnd(await stage.client(ticket));
    const sent = randomBytes(512 * 1024);
    for (let offset = 0; offset < sent.length; offset += 32_768)
      client.socket.send(sent.subarray(offset, offset + 32_768));
    const host = asEnd(await stage.host(session_id));
    await host.received(sent.length);
    assert.equal(host.hash(), createHash('sha256').update(sent).digest('hex'));
    client.socket.close();
    assert.equal(await host.closed(), 4001);
  });

  it('a host that finds no target reports it to the client, without control characters', async () => {
    const { session_id, ticket } = await stage.ticket();
    const client = asEnd(await stage.client(ticket));
    const host = asEnd(await stage.host(session_id));
    host.say({ type: 'failed', message: 'Nothing listens\u001b[2J on port 22.' });
    assert.equal(await client.closed(), 4003);
    assert.deepEqual(client.words.at(-1), {
      type: 'closed',
      reason: 'unreachable',
      message: 'Nothing listens [2J on port 22.',
    });
  });

  it('notifies the client when the host is lost, and the host when the client is lost', async () => {
    const one = await stage.session();
    one.host.socket.terminate();
    assert.equal(await one.client.closed(), 4002);
    assert.equal(one.client.words.at(-1).reason, 'agent_disconnected');
    const other = await stage.session();
    other.client.socket.terminate();
    assert.equal(await other.host.closed(), 4001);
    await until(
      'the row says so',
      async () => (await stage.row(other.session_id)).end_reason === 'client_disconnected',
    );
  });

  it('a sender that ignores the window is closed, and the queue for a slow reader stays bounded', async () => {
    const { session_id, client, host } = await stage.session({ kind: 'ssh' });
    client.socket.pause();
    const part = randomBytes(STREAM_MESSAGE_BYTES_MAX);
    for (let sent = 0; sent < STREAM_WINDOW_BYTES; sent += part.length) host.socket.send(part);
    await until('the window is full', async () => {
      const [one] = at.gateway.registry.all().filter((session) => session.id === session_id);
      return one?.count().bytes_out === STREAM_WINDOW_BYTES;
    });
    assert.equal(host.socket.readyState, host.socket.OPEN);
    for (
      let sent = 0;
      sent <= 32 * STREAM_WINDOW_BYTES && host.socket.readyState === host.socket.OPEN;
      sent += part.length
    )
      await new Promise<void>((resolve) => host.socket.send(part, () => resolve()));
    assert.equal(await host.closed(), 4009);
    await until('the row says so', async () => (await stage.row(session_id)).end_reason === 'protocol_error');
    const { bytes_out } = await stage.row(session_id);
    assert.ok(bytes_out <= STREAM_WINDOW_BYTES + STREAM_ACK_BYTES + part.length, String(bytes_out));
    client.socket.resume();
    await client.closed();
  });

  for (const [what, misbehave] of Object.entries({
    'an acknowledgement of what was never sent': ({ client }) => client.say({ type: 'ack', bytes: 1 }),
    'a word of the other end': ({ client }) => client.say({ type: 'ready' }),
    'a word that is none': ({ client }) => client.socket.send('{"type":"resize","cols":0,"rows":1}'),
    'text that is no JSON': ({ client }) => client.socket.send('hello'),
    'bytes behind the end': ({ client }) => {
      client.say({ type: 'eof' });
      client.socket.send(Buffer.from('more'));
    },
    'a message that is too large': ({ client }) => client.socket.send(Buffer.alloc(STREAM_MESSAGE_BYTES_MAX + 1)),
    'a client’s word from a host': ({ host }) => host.say({ type: 'resize', cols: 1, rows: 1 }),
  } satisfies Record<string, (ends: Readonly<{ client: End; host: End }>) => void>))
    it(`${what} ends it as a protocol error`, async () => {
      const ends = await stage.session();
      misbehave(ends);
      await until('the row says so', async () => (await stage.row(ends.session_id)).end_reason === 'protocol_error');
    });

  it('a read-only console drops input, and gives credit for it', async () => {
    const { client, host } = await stage.session({ kind: 'console', is_writable: false });
    client.socket.send(Buffer.from('rm -rf /\n'));
    assert.deepEqual(await client.word('ack'), { type: 'ack', bytes: 9 });
    client.say({ type: 'eof' });
    client.say({ type: 'resize', cols: 10, rows: 10 });
    await host.word('resize');
    assert.deepEqual([host.bytes(), host.words.map((word) => word.type)], [0, ['resize']]);
    host.socket.send(Buffer.from('login: '));
    await client.received(7);
    client.socket.close();
  });

  it('a peer that misses two pings is disconnected, and one that answers is pinged again', async () => {
    const there = await stage.session();
    for (let asked = 0; asked < 5; asked++) {
      const ping = once(there.client.socket, 'ping');
      at.gateway.registry.find(there.session_id)?.ask();
      await ping;
      // Its response is sent before this.
      there.client.socket.send(Buffer.from('.'));
      await there.host.received(asked + 1);
    }
    const silent = await stage.session();
    silent.client.socket.pause();
    for (let asked = 0; asked < 3; asked++) at.gateway.registry.find(silent.session_id)?.ask();
    assert.equal(await silent.host.closed(), 4001);
    there.client.socket.close();
    assert.equal((await stage.row(there.session_id)).end_reason, null);
  });

  it('two hundred concurrent sessions stay separate', async () => {
    // Opened in groups: all together would exceed the database timeout on a busy host.
    const opened: Awaited<ReturnType<typeof stage.session>>[] = [];
    while (opened.length < 200)
      opened.push(...(await Promise.all(Array.from({ length: 10 }, () => stage.session({ kind: 'ssh' })))));
    for (const [number, { client, host }] of opened.entries()) {
      client.socket.send(Buffer.from(`to ${number}`));
      host.socket.send(Buffer.from(`from ${number}`));
    }
    for (const [number, { client, host }] of opened.entries()) {
      await Promise.all([host.received(4), client.received(6)]);
      await until('all of it', () => host.text() === `to ${number}` && client.text() === `from ${number}`);
    }
    assert.ok(at.gateway.registry.size() >= 200);
    for (const { client } of opened) client.socket.close();
    await until('all are over', () =>
      opened.every(({ session_id }) => at.gateway.registry.find(session_id) === undefined),
    );
    await Promise.all(opened.map(({ host }) => host.closed()));
  });

  it('leaves audit rows of its opening and its end, with user, target, bytes and reason', async () => {
    const { session_id, client, host } = await stage.session({ kind: 'ssh' });
    client.socket.send(Buffer.from('abc'));
    await host.received(3);
    host.socket.close(1000);
    await client.closed();
    await until('the row is closed', async () => (await stage.row(session_id)).state === 'closed');
    const rows = await at.channel.rows<Record<string, unknown>>(
      `select action, actor_kind, actor_id, actor_role, organization_id, project_id, result, metadata from audit_logs
       where target_id = $1 order by id`,
      [session_id],
    );
    const metadata = {
      kind: 'ssh',
      allocation_id: stage.allocation.id,
      principal_id: stage.user.me.id,
      is_writable: true,
      is_recorded: false,
    };
    const actor = { actor_kind: 'user', actor_id: stage.user.me.id, ...{ result: 'success' } };
    const tenant = { organization_id: stage.user.organization_id, project_id: stage.user.project_id };
    assert.deepEqual(rows, [
      { ...actor, ...tenant, action: 'allocation.session.open', actor_role: 'tenant:owner', metadata },
      {
        ...actor,
        ...tenant,
        action: 'allocation.session.close',
        actor_role: null,
        metadata: { ...metadata, reason: 'ended', bytes_in: 3, bytes_out: 0, was_reached: true },
      },
    ]);
  });
});
