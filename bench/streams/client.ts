/**
 * Thousands of minimal event streams in one process: a connection each, one prepared request, and the received data is
 * dropped. `open` returns when all streams have begun, `close` when all connections have ended.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';

export type StreamsFile = Readonly<{ port: string; project_id: string; tokens: readonly string[]; each: number }>;

/** Connections opened concurrently. */
const RAMP = 16;

const { port, project_id, tokens, each } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as StreamsFile;
let sockets: Socket[] = [];

const fail = (message: string): never => {
  process.stderr.write(`${message}\n`);
  process.exit(1);
};

const open = (token: string): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: Number(port) });
    sockets.push(socket);
    let text = '';
    const begun = (chunk: Buffer): void => {
      text += chunk.toString('latin1');
      if (!text.includes(': connected')) return;
      if (!text.startsWith('HTTP/1.1 200 ')) fail(`a stream was refused: ${text}`);
      socket.off('data', begun).resume();
      resolve();
    };
    socket.on('data', begun);
    socket.once('error', (err) => fail(`a connection failed: ${err.message}`));
    socket.once('end', () => fail(`the server ended a stream: ${text}`));
    socket.write(
      `GET /api/v1/projects/${project_id}/events/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`,
    );
  });

const openAll = async (): Promise<void> => {
  const callers = tokens.flatMap((token) => Array<string>(each).fill(token)).values();
  await Promise.all(
    Array.from({ length: RAMP }, async () => {
      for (const token of callers) await open(token);
    }),
  );
};

const closeAll = async (): Promise<void> => {
  const gone = sockets.map((socket) => once(socket, 'close'));
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await Promise.all(gone);
};

process.on('message', (message: 'open' | 'close') => {
  (message === 'open' ? openAll() : closeAll()).then(
    () => process.send?.({}),
    (err: unknown) => fail(String(err)),
  );
});
process.channel?.ref();
process.on('disconnect', () => process.exit(0));
