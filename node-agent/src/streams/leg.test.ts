import assert from 'node:assert/strict';
import { PassThrough, Readable, Writable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { STREAM_MESSAGE_BYTES_MAX, STREAM_WINDOW_BYTES } from '@gpuaas/contract/stream';
import { mintId } from '@gpuaas/kit';
import { startStreamGateway, type TestSession } from '../../test/stream-gateway.ts';
import { carry } from './carry.ts';
import { createOpenGateway } from './gateway.ts';
import { createLeg, type Leg } from './leg.ts';
import type { Target } from './target.ts';

const connect = async (t: TestContext): Promise<{ leg: Leg; client: TestSession }> => {
  const gateway = await startStreamGateway();
  t.after(gateway.close);
  const id = mintId('terminal_session');
  const coming = gateway.expect(id);
  const open = createOpenGateway(await gateway.connection(), 'test');
  const leg = createLeg(await open(gateway.url, id, AbortSignal.timeout(60_000)));
  return { leg, client: await coming };
};

const targetOf = (more: Partial<Target>): Target => ({
  output: new PassThrough(),
  write: async () => undefined,
  end: () => undefined,
  resize: () => undefined,
  exit: Promise.resolve(null),
  ends_with_output: false,
  close: () => undefined,
  ...more,
});

/** Sends as much as is accepted, and counts it. */
const spring = (bytes: number) => {
  const counted = { taken: 0 };
  const output = new Readable({
    highWaterMark: 256 * 1024,
    read() {
      if (counted.taken >= bytes) return void this.push(null);
      const chunk = Buffer.alloc(Math.min(100_000, bytes - counted.taken), counted.taken % 251);
      counted.taken += chunk.length;
      this.push(chunk);
    },
  });
  return { output, counted };
};

/** Resolves when everything pending has happened: the event loop was idle for some turns. */
const settled = async (of: () => unknown): Promise<void> => {
  for (let same = 0, last = of(); same < 50; ) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    const now = of();
    same = now === last ? same + 1 : 0;
    last = now;
  }
};

describe('the agent side of a session', () => {
  it('carries bytes both ways in order, and both ends of stream', async (t) => {
    const { leg, client } = await connect(t);
    const output = new PassThrough();
    const written: Buffer[] = [];
    const target = targetOf({
      output,
      write: async (bytes) => void written.push(bytes),
      end: () => output.end('good bye'),
    });
    const carried = carry(leg, target, { is_writable: true });
    output.write('hello');
    await client.shows(/^hello$/);
    const sent = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 253));
    await client.send(sent);
    client.say({ type: 'eof' });
    await client.until(() => client.isClosed);
    await carried;
    assert.ok(Buffer.concat(written).equals(sent));
    assert.equal(client.text, 'hellogood bye');
    assert.deepEqual([client.words[0]?.type, client.words.at(-1)?.type], ['ready', 'eof']);
    assert.equal(client.closeCode, 1000);
  });

  it('reads at most one window from a target while the client does not read, and the rest afterwards', async (t) => {
    const { leg, client } = await connect(t);
    client.isReading = false;
    const total = 20 * STREAM_WINDOW_BYTES;
    const { output, counted } = spring(total);
    const carried = carry(leg, targetOf({ output, ends_with_output: true }), { is_writable: true });
    await client.until(() => client.received >= STREAM_WINDOW_BYTES);
    await settled(() => counted.taken);
    assert.equal(client.received, STREAM_WINDOW_BYTES);
    assert.ok(counted.taken < STREAM_WINDOW_BYTES + 1024 * 1024, `${counted.taken} bytes were taken`);
    client.read();
    await client.until(() => client.isClosed);
    await carried;
    assert.equal(client.received, total);
    assert.ok(client.largest <= STREAM_MESSAGE_BYTES_MAX);
    assert.equal(client.words.at(-1)?.type, 'eof');
  });

  it('acknowledges only bytes that the target accepted, so that a slow target slows the client', async (t) => {
    const { leg, client } = await connect(t);
    const waiting: (() => void)[] = [];
    const sink = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => void waiting.push(done) });
    const write = (bytes: Buffer) =>
      new Promise<void>((resolve, reject) => sink.write(bytes, (error) => (error ? reject(error) : resolve())));
    const carried = carry(leg, targetOf({ write }), { is_writable: true });
    const sending = client.send(Buffer.alloc(3 * STREAM_WINDOW_BYTES));
    await client.until(() => client.sent === STREAM_WINDOW_BYTES);
    await settled(() => client.sent);
    assert.deepEqual([client.sent, client.acknowledged], [STREAM_WINDOW_BYTES, 0]);
    assert.equal(leg.counts().received, STREAM_WINDOW_BYTES);
    const drain = setInterval(() => {
      for (const done of waiting.splice(0)) done();
    }, 0);
    t.after(() => clearInterval(drain));
    await sending;
    await client.until(() => client.acknowledged >= 2 * STREAM_WINDOW_BYTES);
    client.terminate();
    await leg.closed;
    leg.close();
    void carried;
  });

  it('disconnects a client that exceeds the window, acknowledges unsent bytes or sends invalid messages', async (t) => {
    for (const wrong of [
      (client: TestSession) => {
        for (let at = 0; at < 40; at++) client.push(Buffer.alloc(STREAM_MESSAGE_BYTES_MAX));
      },
      (client: TestSession) => client.say({ type: 'ack', bytes: 1 }),
      (client: TestSession) => client.say({ type: 'resize', cols: 0, rows: 5 }),
      (client: TestSession) => client.say('x' as never),
    ]) {
      const { leg, client } = await connect(t);
      wrong(client);
      await client.until(() => client.isClosed);
      assert.equal(client.closeCode, 1002);
      await leg.closed;
      assert.ok(leg.counts().received <= STREAM_WINDOW_BYTES + 2 * STREAM_MESSAGE_BYTES_MAX);
    }
  });

  it('closes the target at once when the client disconnects, whatever is in progress', async (t) => {
    const { leg, client } = await connect(t);
    client.isReading = false;
    const closed = Promise.withResolvers<void>();
    const { output } = spring(10 * STREAM_WINDOW_BYTES);
    const carried = carry(leg, targetOf({ output, close: () => closed.resolve() }), { is_writable: true });
    await client.until(() => client.received >= STREAM_WINDOW_BYTES);
    client.terminate();
    await closed.promise;
    await carried;
    assert.equal(await leg.send(Buffer.from('late')), false);
  });

  it('resizes a program also while it reads nothing, and returns its exit status', async (t) => {
    const { leg, client } = await connect(t);
    const output = new PassThrough();
    const sizes: number[][] = [];
    const never = new Promise<void>(() => undefined);
    const target = targetOf({
      output,
      write: () => never,
      resize: (cols, rows) => {
        sizes.push([cols, rows]);
        output.end('bye');
      },
      exit: Promise.resolve({ code: null, signal: 'KILL' }),
      ends_with_output: true,
    });
    const carried = carry(leg, target, { is_writable: true });
    await client.send('typed');
    client.say({ type: 'resize', cols: 132, rows: 43 });
    await client.until(() => client.isClosed);
    await carried;
    assert.deepEqual(sizes, [[132, 43]]);
    assert.deepEqual(client.words.slice(1), [{ type: 'eof' }, { type: 'exit', code: null, signal: 'KILL' }]);
  });

  it('buffers pending input in a few blocks, however many messages carried it', async (t) => {
    const { leg, client } = await connect(t);
    const first = Promise.withResolvers<void>();
    const written: Buffer[] = [];
    const sizes: number[][] = [];
    const write = async (bytes: Buffer): Promise<void> => {
      written.push(Buffer.from(bytes));
      if (written.length === 1) await first.promise;
    };
    const messages = 20_000;
    for (let at = 0; at < messages; at++) {
      client.push(Buffer.alloc(0));
      client.push(Buffer.from([at % 251]));
      client.say({ type: 'resize', cols: 80, rows: 1 + (at % 100) });
    }
    client.push(Buffer.alloc(STREAM_MESSAGE_BYTES_MAX, 'x'));
    client.say({ type: 'eof' });
    await settled(() => leg.counts().received);
    const ended = Promise.withResolvers<void>();
    const resize = (cols: number, rows: number) => void sizes.push([cols, rows]);
    void carry(leg, targetOf({ write, resize, end: ended.resolve }), { is_writable: true });
    first.resolve();
    await ended.promise;
    const all = Buffer.concat(written);
    assert.equal(all.length, messages + STREAM_MESSAGE_BYTES_MAX);
    assert.ok(all.subarray(0, messages).every((byte, at) => byte === at % 251));
    assert.ok(written.length <= 4, `${written.length} writes`);
    assert.deepEqual(sizes, [[80, 100]]);
    client.terminate();
    await leg.closed;
  });

  it('discards input of a read-only session and keeps acknowledging it', async (t) => {
    const { leg, client } = await connect(t);
    let written = 0;
    const write = async (bytes: Buffer): Promise<void> => {
      written += bytes.length;
    };
    void carry(leg, targetOf({ write }), { is_writable: false });
    await client.send(Buffer.alloc(3 * STREAM_WINDOW_BYTES));
    await client.until(() => client.acknowledged >= 2 * STREAM_WINDOW_BYTES);
    assert.equal(written, 0);
    client.terminate();
    await leg.closed;
  });
});
