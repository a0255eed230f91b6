import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { sessionWord, startGateway } from '../test/gateway.ts';
import { GpuaasError } from './error.ts';
import { connect, openStream } from './session-stream.ts';
import { STREAM_ACK_BYTES, STREAM_MESSAGE_BYTES_MAX, STREAM_WINDOW_BYTES } from './stream.gen.ts';

const open = async (t: TestContext, more: Parameters<typeof sessionWord>[0] = {}) => {
  const gateway = await startGateway(t);
  const opening = openStream({ ticket: { url: gateway.url, ticket: 'secret-1' } });
  const leg = await gateway.next();
  leg.say(sessionWord(more));
  const stream = await opening;
  t.after(() => stream.close());
  return { stream, leg };
};

const size = (parts: readonly Uint8Array[]): number => parts.reduce((sum, part) => sum + part.byteLength, 0);

test('the ticket is sent as a subprotocol and is in no URL', async (t) => {
  const { stream, leg } = await open(t, { notice: 'This session is recorded.' });
  assert.deepEqual(leg.protocols, ['gpuaas.stream.v1', 'gpuaas.ticket.secret-1']);
  assert.equal(stream.session.notice, 'This session is recorded.');
  assert.equal(leg.path, '/v1/stream');
});

test('bytes pass both ways, each direction ends separately, and the exit code comes with the close', async (t) => {
  const { stream, leg } = await open(t);
  leg.say({ type: 'ready' });
  await stream.ready;
  await stream.write(Buffer.from('ls\n'));
  await stream.end();
  await stream.end();
  stream.resize(132, 0);
  await leg.until(() => leg.words.length === 2);
  assert.deepEqual(leg.words, [{ type: 'eof' }, { type: 'resize', cols: 132, rows: 1 }]);
  assert.equal(String(Buffer.concat(leg.received)), 'ls\n');
  leg.send(Buffer.from('a.txt\n'));
  leg.say({ type: 'exit', code: 3, signal: null });
  leg.say({ type: 'closed', reason: 'ended', message: 'The shell ended.' });
  const parts: Uint8Array[] = [];
  for await (const bytes of stream.bytes) parts.push(bytes);
  assert.equal(String(Buffer.concat(parts)), 'a.txt\n');
  assert.deepEqual(await stream.closed, { reason: 'ended', message: 'The shell ended.', exit_code: 3, signal: null });
});

test('at most one window is in flight, in messages within the size limit', async (t) => {
  const { stream, leg } = await open(t);
  const whole = Buffer.alloc(STREAM_WINDOW_BYTES * 2 + 5, 7);
  const writing = stream.write(whole).then(() => 'written');
  await leg.until(() => size(leg.received) === STREAM_WINDOW_BYTES);
  // Everything that the client has queued is sent before it answers this.
  const { promise: pong, resolve } = Promise.withResolvers<void>();
  leg.socket.once('pong', () => resolve());
  leg.socket.ping();
  await pong;
  assert.equal(size(leg.received), STREAM_WINDOW_BYTES);
  assert.ok(leg.received.every(({ byteLength }) => byteLength <= STREAM_MESSAGE_BYTES_MAX));
  leg.say({ type: 'ack', bytes: STREAM_WINDOW_BYTES });
  await leg.until(() => size(leg.received) === STREAM_WINDOW_BYTES * 2);
  leg.say({ type: 'ack', bytes: 10 });
  assert.equal(await writing, 'written');
  await leg.until(() => size(leg.received) === whole.byteLength);
});

test('bytes are acknowledged only after they were consumed', async (t) => {
  const { stream, leg } = await open(t);
  const part = Buffer.alloc(STREAM_ACK_BYTES / 4, 1);
  for (let sent = 0; sent < 8; sent++) leg.send(part);
  const reader = stream.bytes[Symbol.asyncIterator]();
  for (let taken = 0; taken < 4; taken++) await reader.next();
  stream.resize(1, 1);
  await leg.until(() => leg.words.some(({ type }) => type === 'resize'));
  assert.ok(!leg.words.some(({ type }) => type === 'ack'), 'the fourth part is still in hand');
  await reader.next();
  await leg.until(() => leg.words.some(({ type }) => type === 'ack'));
  assert.deepEqual(leg.words.at(-1), { type: 'ack', bytes: STREAM_ACK_BYTES });
});

test('a peer that exceeds its window, or acknowledges unsent bytes, ends the session', async (t) => {
  const over = await open(t);
  for (let sent = 0; sent <= STREAM_WINDOW_BYTES; sent += STREAM_MESSAGE_BYTES_MAX)
    over.leg.send(Buffer.alloc(STREAM_MESSAGE_BYTES_MAX));
  assert.equal((await over.stream.closed).reason, 'protocol_error');
  const { stream, leg } = await open(t);
  leg.say({ type: 'ack', bytes: 1 });
  assert.equal((await stream.closed).reason, 'protocol_error');
});

test('a write waiting for window space fails with the reason why the session ended', async (t) => {
  const { stream, leg } = await open(t);
  const writing = stream.write(Buffer.alloc(STREAM_WINDOW_BYTES + 1));
  await leg.until(() => size(leg.received) === STREAM_WINDOW_BYTES);
  leg.say({ type: 'closed', reason: 'revoked', message: 'Your role was taken away.' });
  await assert.rejects(writing, /Your role was taken away/);
  assert.equal((await stream.closed).reason, 'revoked');
});

test('input of a read-only session is not sent', async (t) => {
  const { stream, leg } = await open(t, { is_writable: false });
  await stream.write(Buffer.from('rm -rf /\n'));
  await stream.end();
  await leg.until(() => leg.words.length === 1);
  assert.deepEqual(leg.received, []);
});

test('an unreachable target is reported with its own message, and ready rejects', async (t) => {
  const { stream, leg } = await open(t);
  leg.say({ type: 'failed', message: 'Nothing listens on port 8888.' });
  await assert.rejects(stream.ready, /Nothing listens on port 8888/);
  assert.equal((await stream.closed).reason, 'unreachable');
});

test('a broken connection is reported as lost, with the close reason if there is one', async (t) => {
  const first = await open(t);
  first.leg.socket.terminate();
  assert.equal((await first.stream.closed).reason, 'connection_lost');
  const second = await open(t);
  second.leg.socket.close(4008, 'The gateway is being restarted.');
  assert.deepEqual(await second.stream.closed, {
    reason: 'gateway_stopped',
    message: 'The gateway is being restarted.',
    exit_code: null,
    signal: null,
  });
});

test('unknown messages of a newer gateway are ignored', async (t) => {
  const { stream, leg } = await open(t);
  leg.socket.send('{"type":"news","more":1}');
  leg.say({ type: 'ready' });
  await stream.ready;
  leg.socket.send('no word');
  assert.equal((await stream.closed).reason, 'protocol_error');
});

test('a refused upgrade is an error that names the possible causes', async (t) => {
  const server = createServer().on('upgrade', (_, socket) => socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/v1/stream`;
  await assert.rejects(openStream({ ticket: { url, ticket: 'used' } }), (err) => {
    assert.ok(err instanceof GpuaasError && err.code === 'network' && err.retryable);
    assert.match(err.message, /the ticket was used already/);
    return true;
  });
});

test('an aborted session ends as closed by its client', async (t) => {
  const gateway = await startGateway(t);
  const controller = new AbortController();
  const client = {
    terminalTicketCreate: async () => ({
      session_id: 'ses_1',
      ticket: 'x',
      url: gateway.url,
      expires_at: '2026-11-15T22:03:21.000Z',
      kind: 'forward' as const,
      is_writable: true,
      notice: null,
    }),
  };
  const target = { project_id: 'prj_1', allocation_id: 'alc_1', kind: 'forward' as const, port: 80 };
  const opening = connect(client, { ...target, signal: controller.signal });
  (await gateway.next()).say(sessionWord({ kind: 'forward' }));
  const stream = await opening;
  controller.abort(new Error('enough'));
  assert.equal((await stream.closed).reason, 'client_disconnected');
  const aborted = connect(client, { ...target, signal: AbortSignal.abort(new Error('before')) });
  await assert.rejects(aborted, /before/);
  await turn();
});
