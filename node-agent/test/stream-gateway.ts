/**
 * A gateway as an agent sees it: TLS with client certificates, one WebSocket for each session, and a client behind it
 * that respects the windows unless it is set to be slow. It does not use the agent's code.
 */
import 'reflect-metadata';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  type ClientMessage,
  type HostMessage,
  STREAM_ACK_BYTES,
  STREAM_MESSAGE_BYTES_MAX,
  STREAM_PROTOCOL,
  STREAM_WINDOW_BYTES,
} from '@gpuaas/contract/stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { type Authority, createAuthority, issue, newKeys, pemOfKey } from './platform.ts';

const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const HOUR_MS = 3600_000;
export const NODE_ID = 'nod_01jtest0000000000000000001';

export type Pair = Readonly<{ key: string; cert: string }>;
export const serverPair = async (authority: Authority, name: string): Promise<Pair> => {
  const keys = await newKeys();
  const san = [{ type: /^[\d.]+$/.test(name) ? ('ip' as const) : ('dns' as const), value: name }];
  const cert = await issue(authority, keys.publicKey, { san, usage: SERVER_AUTH, lifeMs: HOUR_MS });
  return { key: await pemOfKey(keys.privateKey), cert: cert.toString('pem') };
};
export const clientPair = async (authority: Authority): Promise<Pair> => {
  const keys = await newKeys();
  const san = [{ type: 'url' as const, value: `spiffe://gpuaas/node/${NODE_ID}` }];
  const cert = await issue(authority, keys.publicKey, { san, usage: CLIENT_AUTH, lifeMs: HOUR_MS });
  return { key: await pemOfKey(keys.privateKey), cert: cert.toString('pem') };
};

/** The client's end of one session. */
export class TestSession {
  readonly words: HostMessage[] = [];
  readonly parts: Buffer[] = [];
  received = 0;
  sent = 0;
  acknowledged = 0;
  /** False: nothing is acknowledged until it is true again. */
  isReading = true;
  isClosed = false;
  closeCode = 0;
  readonly #socket: WebSocket;
  readonly #waiting = new Set<() => void>();
  #unread = 0;
  #largest = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) {
        this.parts.push(data);
        this.received += data.length;
        this.#largest = Math.max(this.#largest, data.length);
        this.#unread += data.length;
        this.#acknowledge();
      } else {
        const word = JSON.parse(data.toString('utf8')) as HostMessage;
        this.words.push(word);
        if (word.type === 'ack') this.acknowledged += word.bytes;
      }
      this.#wake();
    });
    socket.on('close', (code) => {
      this.isClosed = true;
      this.closeCode = code;
      this.#wake();
    });
    socket.on('error', () => undefined);
  }
  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }
  #acknowledge(): void {
    if (!this.isReading || this.#unread < STREAM_ACK_BYTES) return;
    this.say({ type: 'ack', bytes: this.#unread });
    this.#unread = 0;
  }
  read(): void {
    this.isReading = true;
    this.#acknowledge();
  }
  get largest(): number {
    return this.#largest;
  }
  get text(): string {
    return Buffer.concat(this.parts).toString('utf8');
  }
  /** Starts again with what is shown. */
  clear(): void {
    this.parts.splice(0);
  }
  say(word: ClientMessage): void {
    this.#socket.send(JSON.stringify(word));
  }
  /** Ignores the windows. */
  push(bytes: Buffer): void {
    this.#socket.send(bytes);
    this.sent += bytes.length;
  }
  async send(bytes: Buffer | string): Promise<void> {
    const all = Buffer.from(bytes as string);
    for (let at = 0; at < all.length; ) {
      await this.until(() => this.sent - this.acknowledged < STREAM_WINDOW_BYTES || this.isClosed);
      const room = Math.min(STREAM_WINDOW_BYTES - (this.sent - this.acknowledged), STREAM_MESSAGE_BYTES_MAX);
      this.push(all.subarray(at, at + room));
      at += room;
    }
  }
  word<T extends HostMessage['type']>(type: T): Extract<HostMessage, { type: T }> | undefined {
    return this.words.find((word): word is Extract<HostMessage, { type: T }> => word.type === type);
  }
  until(is: (session: TestSession) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (is(this)) resolve();
        else if (this.isClosed) reject(new Error(`it closed: ${JSON.stringify(this.words)} ${this.text.slice(-500)}`));
        else return;
        this.#waiting.delete(look);
      };
      this.#waiting.add(look);
      look();
    });
  }
  /** Until this was shown since the last `clear`. */
  shows(what: RegExp): Promise<void> {
    return this.until(() => what.test(this.text));
  }
  terminate(): void {
    this.#socket.terminate();
  }
  close(): void {
    this.#socket.close(1000);
  }
}

export const startStreamGateway = async (given: Readonly<{ name?: string }> = {}) => {
  const authority = await createAuthority('gpuaas test CA');
  const server = createServer({
    ...(await serverPair(authority, given.name ?? '127.0.0.1')),
    ca: authority.pem,
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
  });
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: STREAM_MESSAGE_BYTES_MAX,
    handleProtocols: (offered) => (offered.has(STREAM_PROTOCOL) ? STREAM_PROTOCOL : false),
  });
  const awaited = new Map<string, (session: TestSession) => void>();
  server.on('upgrade', (request, socket, head) => {
    const tell = awaited.get(request.url ?? '');
    awaited.delete(request.url ?? '');
    if (tell === undefined) return socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n');
    sockets.handleUpgrade(request, socket, head, (leg) => tell(new TestSession(leg)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    authority,
    url: `wss://127.0.0.1:${port}`,
    /** The control plane's data that the agent has. */
    connection: async (trusts = authority, own = authority) => {
      const { key, cert } = await clientPair(own);
      return {
        node_id: NODE_ID,
        identity: () => ({
          node_id: NODE_ID,
          private_key_pem: key,
          certificate_pem: cert,
          not_after: '',
          renew_after: '',
        }),
        trust: () => ({ version: '1', ca_bundle_pem: trusts.pem, task_signers: [] }) as never,
      };
    },
    /** The agent's leg of this session, once it connects. */
    expect: (sessionId: string): Promise<TestSession> =>
      new Promise((resolve) => {
        awaited.set(`/internal/v1/nodes/${NODE_ID}/streams/${sessionId}`, resolve);
      }),
    close: async () => {
      for (const leg of sockets.clients) leg.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
export type StreamGateway = Awaited<ReturnType<typeof startStreamGateway>>;
