import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { openValve } from './valve.ts';

/** A valve before a server that returns every byte. */
const echo = async (t: Readonly<{ after(fn: () => void): void }>) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const valve = await openValve({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  const open: Socket[] = [];
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
    void valve.close();
  });
  const connect = async (): Promise<Socket> => {
    const socket = createConnection(valve.port, '127.0.0.1');
    socket.on('error', () => {});
    open.push(socket);
    await once(socket, 'connect');
    return socket;
  };
  return { valve, connect };
};

const send = async (socket: Socket, text: string): Promise<string> => {
  const answer = once(socket, 'data');
  socket.write(text);
  return String((await answer)[0]);
};

test('a silent valve keeps what was sent until it is no longer silent', async (t) => {
  const { valve, connect } = await echo(t);
  const socket = await connect();
  assert.equal(await send(socket, 'one'), 'one');
  valve.setSilent(true);
  let answered = '';
  socket.on('data', (bytes) => {
    answered += String(bytes);
  });
  socket.write('two');
  // A later connection is silent too, and is accepted.
  await connect();
  assert.equal(answered, '');
  const arrives = once(socket, 'data');
  valve.setSilent(false);
  await arrives;
  assert.equal(answered, 'two');
});

test('a valve that refuses ends what is open and every new connection, until it no longer does', async (t) => {
  const { valve, connect } = await echo(t);
  const socket = await connect();
  assert.equal(await send(socket, 'one'), 'one');
  const ended = once(socket, 'close');
  valve.setRefusing(true);
  await ended;
  await once(await connect(), 'close');
  valve.setRefusing(false);
  assert.equal(await send(await connect(), 'two'), 'two');
});

test('the response to a commit is lost once, with its connection', async (t) => {
  const { valve, connect } = await echo(t);
  const socket = await connect();
  valve.loseNextCommit();
  assert.equal(await send(socket, 'SELECT\0'), 'SELECT\0');
  const ended = once(socket, 'close');
  socket.write('COMMIT\0');
  await ended;
  assert.equal(await send(await connect(), 'COMMIT\0'), 'COMMIT\0');
});
