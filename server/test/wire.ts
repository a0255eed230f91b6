/** Raw HTTP over a socket: for requests that no client library would send. */
import { connect, type Socket } from 'node:net';

export type RawResponse = Readonly<{ status: number; head: string; text: string; ms: number }>;

const parse = (text: string, ms: number): RawResponse => ({
  status: Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0),
  head: text.split('\r\n\r\n')[0] ?? '',
  text: text.split('\r\n\r\n').slice(1).join('\r\n\r\n'),
  ms,
});

export type Wire = Readonly<{
  socket: Socket;
  /** The received data until the server closed, or until `done` accepts it. */
  answer(done?: (text: string) => boolean): Promise<RawResponse>;
}>;

export const dial = (url: string): Wire => {
  const { hostname, port } = new URL(url);
  const started = performance.now();
  const socket = connect(Number(port), hostname);
  let text = '';
  let ended = false;
  const watchers = new Set<() => void>();
  const tell = () => {
    for (const watcher of watchers) watcher();
  };
  socket.setEncoding('utf8');
  // These tests provoke a server that disconnects while the client still writes.
  socket.on('error', () => {});
  socket.on('data', (chunk: string) => {
    text += chunk;
    tell();
  });
  socket.on('close', () => {
    ended = true;
    tell();
  });
  return {
    socket,
    answer: (done = () => false) =>
      new Promise((resolve) => {
        const look = () => {
          if (!ended && !done(text)) return;
          watchers.delete(look);
          resolve(parse(text, performance.now() - started));
        };
        watchers.add(look);
        look();
      }),
  };
};

/** A complete response with a body of its declared length, so that an open connection need not be waited for. */
const isWhole = (text: string): boolean => {
  const [head, ...rest] = text.split('\r\n\r\n');
  if (rest.length === 0) return false;
  const length = Number(/^content-length: (\d+)$/im.exec(head ?? '')?.[1] ?? 'NaN');
  return Buffer.byteLength(rest.join('\r\n\r\n')) >= length;
};

/** Sends these bytes and returns the first response. */
export const say = async (url: string, bytes: string | Buffer): Promise<RawResponse> => {
  const wire = dial(url);
  wire.socket.write(bytes);
  const answer = await wire.answer(isWhole);
  wire.socket.destroy();
  return answer;
};

/** Header lines and body of one request; Host and Connection headers are added. */
export const message = (line: string, headers: readonly string[], body: string | Buffer = ''): Buffer =>
  Buffer.concat([
    Buffer.from(
      [`${line} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers, '', ''].join('\r\n'),
      'latin1',
    ),
    Buffer.isBuffer(body) ? body : Buffer.from(body),
  ]);
