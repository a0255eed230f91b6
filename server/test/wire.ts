/** HTTP by hand over a socket: for requests that no client library would agree to send. */
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
  /** What came until the server closed, or until `done` is satisfied with it. */
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
  // A server that hangs up while we still write is what these tests provoke.
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

/** A whole answer with a body of the length it promised, so that an open connection need not be waited for. */
const isWhole = (text: string): boolean => {
  const [head, ...rest] = text.split('\r\n\r\n');
  if (rest.length === 0) return false;
  const length = Number(/^content-length: (\d+)$/im.exec(head ?? '')?.[1] ?? 'NaN');
  return Buffer.byteLength(rest.join('\r\n\r\n')) >= length;
};

/** Sends these bytes and gives the first answer. */
export const say = async (url: string, bytes: string | Buffer): Promise<RawResponse> => {
  const wire = dial(url);
  wire.socket.write(bytes);
  const answer = await wire.answer(isWhole);
  wire.socket.destroy();
  return answer;
};

/** Header lines and body of one request; the host and an end to the connection are added. */
export const message = (line: string, headers: readonly string[], body: string | Buffer = ''): Buffer =>
  Buffer.concat([
    Buffer.from(
      [`${line} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers, '', ''].join('\r\n'),
      'latin1',
    ),
    Buffer.isBuffer(body) ? body : Buffer.from(body),
  ]);
