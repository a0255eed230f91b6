import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { WebSocket } from 'ws';
import { anyone } from '../../test/agent.ts';
import { asEnd, asRefused, joinedGateway, plainRequest, type Stage, type TestGateway } from '../../test/gateway.ts';
import { until } from '../../test/until.ts';
import { readConfig } from '../config.ts';

describe('connecting to a session', () => {
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

  const rejected = async (reason: string): Promise<number> => {
    const { body } = await at.test.bearer(null).get('/metrics');
    return Number(new RegExp(`gpuaas_terminal_ticket_rejected_total\\{reason="${reason}"\\} (\\d+)`).exec(body)?.[1]);
  };

  it('a ticket admits one connection, for any number of concurrent attempts', async () => {
    const { ticket } = await stage.ticket();
    const before = await rejected('replayed');
    const answers = await Promise.all([1, 2, 3, 4].map(() => stage.client(ticket)));
    const [[entered], refused] = [
      answers.filter((answer) => 'socket' in answer),
      answers.filter((answer) => 'status' in answer),
    ];
    assert.deepEqual(
      refused.map(({ status, body }) => [status, body.code, body.detail]),
      Array(3).fill([401, 'unauthenticated', 'The ticket was already used. Request another.']),
    );
    assert.equal(await rejected('replayed'), before + 3);
    assert.equal(entered?.socket.protocol, 'gpuaas.stream.v1');
    entered?.socket.close();
  });

  it('expired and unknown tickets are refused and counted separately', async () => {
    const counts = async () => Promise.all([rejected('expired'), rejected('unknown')]);
    const [expired, unknown] = await counts();
    const { session_id, ticket } = await stage.ticket({ ticket_lives_s: 0 });
    assert.equal(asRefused(await stage.client(ticket)).status, 401);
    assert.equal(asRefused(await stage.client('x'.repeat(43))).status, 401);
    assert.deepEqual(await counts(), [(expired ?? 0) + 1, (unknown ?? 0) + 1]);
    assert.equal((await stage.row(session_id)).state, 'ticketed');
  });

  it('a page of a foreign origin is refused without using up the ticket; our own page is accepted', async () => {
    const { ticket } = await stage.ticket();
    for (const origin of ['https://evil.example', 'null', `${at.test.app.deps.config.public_url}.evil.example`]) {
      const { status, body } = asRefused(await stage.client(ticket, { origin }));
      assert.deepEqual([status, body.code], [403, 'permission_denied']);
    }
    const [origin = ''] = at.test.app.deps.config.gateway.origins;
    const client = asEnd(await stage.client(ticket, { origin }));
    await client.word('session');
    client.socket.close();
  });

  it('other paths, other protocols and non-upgrade requests are refused', async () => {
    const { ticket } = await stage.ticket();
    assert.equal(asRefused(await stage.client(ticket, { path: '/v1/streams' })).status, 404);
    assert.equal(asRefused(await stage.client(ticket, { path: `/v1/stream/${ticket}` })).status, 404);
    assert.equal(await plainRequest(`${at.gateway.url}/v1/stream`), 404);
    const status = await new Promise((resolve) => {
      const socket = new WebSocket(`${at.gateway.url}/v1/stream`, ['gpuaas.stream.v1']);
      socket.on('error', () => {});
      socket.on('unexpected-response', (_, response) => resolve(response.statusCode));
    });
    assert.equal(status, 401);
  });

  it('a refused client that stays connected is disconnected', async () => {
    const { hostname, port } = new URL(at.gateway.url);
    const upgrade = 'connection: upgrade\r\nupgrade: websocket\r\n';
    for (const head of [
      `GET /v1/nothing HTTP/1.1\r\nhost: a\r\n${upgrade}`,
      'GET /v1/stream HTTP/1.1\r\nhost: a\r\n',
    ]) {
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
      socket.on('error', () => {});
      let said = '';
      socket.on('data', (data) => {
        said += data.toString();
      });
      socket.write(`${head}\r\n`);
      await once(socket, 'end');
      assert.match(said, /^HTTP\/1.1 404 /);
      await until('the session has ended', () => {
        if (socket.writable) socket.write('x');
        return socket.destroyed;
      });
    }
  });

  it('a client that lost access after the ticket was issued is refused, and the row states why', async () => {
    const other = await at.stage();
    const { session_id, ticket } = await other.ticket();
    await at.channel.change("update users set state = 'disabled' where id = $1", [other.user.me.id]);
    const { status, body } = asRefused(await other.client(ticket));
    assert.deepEqual([status, body.detail], [403, 'The account that opened the session is disabled or deleted.']);
    assert.equal((await other.row(session_id)).end_reason, 'revoked');
    const tasks = await at.channel.rows('select id from node_tasks where node_id = $1 and kind = $2', [
      other.agent.node_id,
      'stream.open',
    ]);
    assert.deepEqual(tasks, []);
  });

  it('a host reaches only sessions that wait for it, with its own certificate and path', async () => {
    const { session_id, ticket } = await stage.ticket();
    const client = asEnd(await stage.client(ticket));
    const other = await at.stage();
    const asOther = asRefused(await stage.host(session_id, { agent: other.agent }));
    const inItsName = asRefused(await stage.host(session_id, { agent: other.agent, node_id: stage.agent.node_id }));
    const elsewhere = asRefused(await stage.host(mintId('ses')));
    assert.deepEqual(
      [asOther, inItsName, elsewhere].map(({ status, body }) => [status, body.detail]),
      [
        [404, 'No such session waiting on this gateway.'],
        [403, 'The certificate belongs to another node.'],
        [404, 'No such session waiting on this gateway.'],
      ],
    );
    const audit = await at.channel.rows<{ actor_id: string }>(
      "select actor_id from audit_logs where action = 'node.connect' and target_id = $1",
      [stage.agent.node_id],
    );
    assert.deepEqual(audit, [{ actor_id: other.agent.node_id }]);
    const host = asEnd(await stage.host(session_id));
    assert.equal(asRefused(await stage.host(session_id)).status, 409);
    host.say({ type: 'ready' });
    await client.word('ready');
    client.socket.close();
    await host.closed();
    assert.equal(asRefused(await stage.host(session_id)).status, 404);
  });

  it('a host without a certificate is refused', async () => {
    const path = `/internal/v1/nodes/${stage.agent.node_id}/streams/${mintId('ses')}`;
    const status = await new Promise((resolve) => {
      const socket = new WebSocket(`${at.gateway.agent_url}${path}`, ['gpuaas.stream.v1'], { agent: anyone() });
      socket.on('error', () => {});
      socket.on('unexpected-response', (_, response) => resolve(response.statusCode));
    });
    assert.equal(status, 403);
  });

  it('a client that disconnects while its ticket is redeemed leaves a closed row', async () => {
    const { session_id, ticket } = await stage.ticket();
    const socket = new WebSocket(`${at.gateway.url}/v1/stream`, ['gpuaas.stream.v1', `gpuaas.ticket.${ticket}`]);
    socket.on('error', () => {});
    await at.test.db.database.write({ tenant_id: '*', principal_id: '' }, async (tx) => {
      await tx.query('select id from terminal_sessions where id = $1 for update', [session_id]);
      // The statement that redeems the ticket waits for this lock.
      await until('it is being taken', async () => {
        const waiting = await at.channel.rows('select 1 as one from pg_locks where not granted');
        return waiting.length > 0;
      });
      socket.terminate();
    });
    await until('it is closed', async () => (await stage.row(session_id)).end_reason === 'client_disconnected');
    assert.equal(at.gateway.registry.find(session_id), undefined);
  });
});

describe('the limits of a gateway', () => {
  it('refuse clients that guess tickets and, without using up the ticket, excess sessions', async (t) => {
    const closers: (() => Promise<void>)[] = [];
    t.after(async () => {
      for (const close of closers) await close();
    });
    const hook = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
    const { gateway } = readConfig({
      DATABASE_URL: 'postgresql://unused',
      GPUAAS_GATEWAY_PORT: '0',
      GPUAAS_GATEWAY_AGENT_PORT: '0',
      GPUAAS_GATEWAY_SESSIONS_MAX: '1',
      GPUAAS_PLATFORM_KEY: Buffer.alloc(32).toString('base64'),
    });
    const at = await joinedGateway(hook, { gateway, anonymous_rate_limit_per_minute: 3, trust_proxy: 'loopback' });
    const stage = await at.stage();
    const open = await stage.session();
    const { ticket } = await stage.ticket();
    assert.equal(asRefused(await stage.client(ticket)).status, 503);
    open.client.socket.close();
    await until('there is room', () => at.gateway.registry.size() === 0);
    for (let guess = 0; guess < 3; guess++) assert.equal(asRefused(await stage.client('y'.repeat(43))).status, 401);
    const limited = asRefused(await stage.client(ticket));
    assert.deepEqual([limited.status, limited.body.retryable], [429, true]);
    // Behind a trusted proxy the address is the client's own.
    const status = await new Promise((resolve) => {
      const socket = new WebSocket(`${at.gateway.url}/v1/stream`, ['gpuaas.stream.v1', `gpuaas.ticket.${ticket}`], {
        headers: { 'x-forwarded-for': '198.51.100.7' },
      });
      socket.on('error', () => {});
      socket.on('open', () => {
        resolve('open');
        socket.close();
      });
    });
    assert.equal(status, 'open');
  });
});
