/** A gateway for tests: accepts sessions one after the other and passes each to the test, which plays the host. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  type ClientMessage,
  type GatewayMessage,
  type HostMessage,
  type SessionKind,
  STREAM_PROTOCOL,
} from '../src/stream.gen.ts';

export type Leg = Readonly<{
  protocols: readonly string[];
  /** As requested by the client. */
  path: string;
  socket: WebSocket;
  say(word: HostMessage | GatewayMessage): void;
  send(bytes: Uint8Array): void;
  /** Received bytes, in order. */
  received: Buffer[];
  words: ClientMessage[];
  /** Resolves when the condition holds; checked whenever something arrives. */
  until(isTrue: () => boolean): Promise<void>;
}>;

export type TestGateway = Readonly<{ url: string; next(): Promise<Leg> }>;

export const sessionWord = (more: Partial<Extract<GatewayMessage, { type: 'session' }>> = {}): GatewayMessage => ({
  type: 'session',
  session_id: 'ses_01k9zv3m8q4t6w2x5y7r0s1n1a',
  kind: 'terminal' satisfies SessionKind,
  is_writable: true,
  is_recorded: false,
  notice: null,
  expires_at: '2026-11-15T22:03:21.000Z',
  ...more,
});

const legOf = (socket: WebSocket, path: string, offered: string): Leg => {
  const received: Buffer[] = [];
  const words: ClientMessage[] = [];
  const came = new EventTarget();
  socket.on('message', (data, isBinary) => {
    if (isBinary) received.push(data as Buffer);
    else words.push(JSON.parse(String(data)) as ClientMessage);
    came.dispatchEvent(new Event('something'));
  });
  socket.on('close', () => came.dispatchEvent(new Event('something')));
  return {
    protocols: offered.split(/, */),
    path,
    socket,
    received,
    words,
    say: (word) => socket.send(JSON.stringify(word)),
    send: (bytes) => socket.send(bytes),
    until: async (isTrue) => {
      while (!isTrue()) await new Promise((resolve) => came.addEventListener('something', resolve, { once: true }));
    },
  };
};

export const startGateway = async (t: TestContext): Promise<TestGateway> => {
  const server = new WebSocketServer({
    host: '127.0.0.1',
    port: 0,
    handleProtocols: (offered) => (offered.has(STREAM_PROTOCOL) ? STREAM_PROTOCOL : false),
  });
  await once(server, 'listening');
  t.after(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  const waiting: Leg[] = [];
  const asked: ((leg: Leg) => void)[] = [];
  server.on('connection', (socket, request) => {
    const leg = legOf(socket, request.url ?? '', request.headers['sec-websocket-protocol'] ?? '');
    const first = asked.shift();
    if (first === undefined) waiting.push(leg);
    else first(leg);
  });
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/v1/stream`,
    next: async () => waiting.shift() ?? new Promise((resolve) => asked.push(resolve)),
  };
};
