import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Duplex, duplexPair } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import ssh2 from 'ssh2';
import type { Target } from './target.ts';
import { createSessionKey, HELD_BYTES_MAX, openShell } from './terminal.ts';

/** Internals of a channel in the library. */
type Wire = Readonly<{
  channelData(id: number, data: Buffer): void;
  channelExtData(id: number, data: Buffer, type: number): void;
  channelEOF(id: number): void;
  channelWindowAdjust(id: number, bytes: number): void;
}>;
type Inside = Readonly<{ outgoing: { id: number }; _client: { _protocol: Wire } }>;
type Hostile = Readonly<{ id: number; wire: Wire; socket: Duplex; client: Duplex; target: Target }>;

/** A server under the tenant's control, the connection to it, and the shell that was opened last. */
const serve = async () => {
  const { private_key, authorized } = await createSessionKey();
  const host_key = authorized.split(' ').slice(-2).join(' ');
  const [client, socket] = duplexPair();
  const shell = Promise.withResolvers<Inside>();
  const server = new ssh2.Server({ hostKeys: [private_key] }, (peer) => {
    peer.on('error', () => undefined);
    peer.on('authentication', (ctx) => ctx.accept());
    peer.on('session', (accept) => {
      const session = accept();
      session.on('pty', (yes) => yes());
      session.on('shell', (yes) => shell.resolve(yes() as unknown as Inside));
    });
  });
  server.injectSocket(Object.assign(socket, { remoteAddress: '127.0.0.1', remotePort: 1 }) as never);
  return { client, socket, host_key, shell: shell.promise };
};

const askShell = async (client: Duplex, host_key: string): Promise<Target> =>
  openShell(
    { socket: client, username: 'u', key: await createSessionKey(), host_key, cols: 80, rows: 24 },
    AbortSignal.timeout(60_000),
  );

/** A shell on a server that violates the protocol. */
const openHostile = async (t: TestContext): Promise<Hostile> => {
  const { client, socket, host_key, shell } = await serve();
  const target = await askShell(client, host_key);
  t.after(() => {
    target.close();
    socket.destroy();
  });
  const { outgoing, _client } = await shell;
  return { id: outgoing.id, wire: _client._protocol, socket, client, target };
};

describe('the key of a session', () => {
  it('is valid every time', async () => {
    for (let at = 0; at < 1_500; at++) {
      const { private_key, authorized } = await createSessionKey();
      assert.ok(!(ssh2.utils.parseKey(private_key) instanceof Error));
      assert.equal(authorized.split(' ').at(-1)?.length, 68);
    }
  });
});

describe('a shell on a hostile server', { timeout: 120_000 }, () => {
  it('is cut off when it sends more than the window while the client does not read', async (t) => {
    const { id, wire, client, target } = await openHostile(t);
    const gone = once(client, 'close');
    let most = 0;
    client.on('data', () => {
      most = Math.max(most, target.output.readableLength);
    });
    const chunk = Buffer.alloc(32_000, 'x');
    for (let sent = 0; sent < 4 * HELD_BYTES_MAX; sent += chunk.length) wire.channelData(id, chunk);
    await gone;
    assert.ok(most < HELD_BYTES_MAX + 128 * 1024, `${most} bytes were held`);
  });

  it('always ends when it is closed here', async (t) => {
    for (const say of [
      ({ id, wire }: Hostile) => wire.channelEOF(id),
      ({ id, wire }: Hostile) => wire.channelData(id, Buffer.alloc(30_000)),
      () => undefined,
    ]) {
      const hostile = await openHostile(t);
      say(hostile);
      await new Promise((resolve) => setImmediate(resolve));
      const { target } = hostile;
      const read = (async () => {
        for await (const chunk of target.output.iterator({ destroyOnReturn: false })) void chunk;
      })().catch(() => undefined);
      await new Promise((resolve) => setImmediate(resolve));
      target.close();
      await read;
      assert.equal(await target.exit, null);
    }
  });

  it('fails with a message for another host key, and at whatever moment the server disconnects', async () => {
    for (const isKnown of [true, false])
      for (let turns = 0; turns < 12; turns++) {
        const { client, socket, host_key } = await serve();
        const other = (await createSessionKey()).authorized.split(' ').slice(-2).join(' ');
        const asked = askShell(client, isKnown ? host_key : other).then(
          (target) => target.close(),
          (error: unknown) => error,
        );
        for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
        socket.end();
        const error = await asked;
        if (!isKnown) assert.ok(error instanceof Error);
        socket.destroy();
      }
  });

  it('is closed if the expected host key has an unknown type', async () => {
    const { client, socket } = await serve();
    await assert.rejects(askShell(client, 'no-such-kind AAAA'));
    assert.equal(client.destroyed, true);
    socket.destroy();
  });

  it('ends without an exit status when the server closes its side', async (t) => {
    const { socket, target } = await openHostile(t);
    socket.end();
    for await (const chunk of target.output) void chunk;
    assert.equal(await target.exit, null);
  });

  it('is not blocked by output on standard error', async (t) => {
    const { id, wire, target } = await openHostile(t);
    const chunk = Buffer.alloc(32_000, 'x');
    for (let at = 0; at < 30; at++) wire.channelExtData(id, chunk, 1);
    wire.channelData(id, Buffer.from('hello'));
    const [said] = (await once(target.output, 'data')) as [Buffer];
    assert.equal(said.toString(), 'hello');
    const { stderr } = target.output as unknown as { stderr: { readableLength: number } };
    assert.equal(stderr.readableLength, 0);
  });

  it('is not written to faster than it reads, whatever window it claims', async (t) => {
    const { id, wire, socket, client, target } = await openHostile(t);
    wire.channelWindowAdjust(id, 2 ** 30);
    await new Promise((resolve) => setImmediate(resolve));
    socket.pause();
    let written = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const typing = (async () => {
      while (!client.destroyed && written < 4 * HELD_BYTES_MAX) {
        await target.write(chunk);
        written += chunk.length;
      }
    })().catch(() => undefined);
    const turns = 2 * ((4 * HELD_BYTES_MAX) / chunk.length);
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(written < HELD_BYTES_MAX, `${written} bytes were taken that no client reads`);
    target.close();
    await typing;
  });
});
