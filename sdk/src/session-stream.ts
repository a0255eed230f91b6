/**
 * A session with an allocation: bytes both ways through the gateway, over the WebSocket that browsers and Node have.
 *
 *   const stream = await connect(client, { project_id, allocation_id, kind: 'terminal', cols: 80, rows: 24 });
 *   if (stream.session.notice) show(stream.session.notice);
 *   for await (const bytes of stream.bytes) await draw(bytes);   // acknowledged when the loop requests more
 *   const { reason, message, exit_code } = await stream.closed;
 *
 * A WebSocket does not report why it was refused, so an error before the session names the possible causes.
 */
import type { TerminalTicket } from './api.gen.ts';
import type { Client } from './client.ts';
import { GpuaasError } from './error.ts';
import {
  type ClientMessage,
  type GatewayMessage,
  type HostMessage,
  SESSION_CLOSE_CODES,
  SESSION_END_REASONS,
  type SessionEndReason,
  type SessionKind,
  STREAM_PROTOCOL,
  TICKET_PROTOCOL_PREFIX,
} from './stream.gen.ts';
import { createReceiveQueue, createSendWindow } from './stream-window.ts';

export type SessionInfo = Extract<GatewayMessage, { type: 'session' }>;

/** `connection_lost`: no reason was received; the network or the gateway disconnected. */
export type StreamEnd = Readonly<{
  reason: SessionEndReason | 'connection_lost';
  /** A sentence for people. */
  message: string;
  /** The exit code of the program, if it ended normally. */
  exit_code: number | null;
  signal: string | null;
}>;

export type SessionStream = Readonly<{
  session: SessionInfo;
  /** The other end is connected. Rejects if it never was. Earlier writes are buffered for it. */
  ready: Promise<void>;
  /** The output of the other end, readable once. Bytes count as consumed when the next are requested. */
  bytes: AsyncIterable<Uint8Array>;
  /** Resolves when the bytes are sent; waits while the other end accepts none. Discards them in a read-only session. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the writes; the other direction stays open. A second call does nothing. */
  end(): Promise<void>;
  resize(cols: number, rows: number): void;
  /** Disconnects. */
  close(): void;
  /** Never rejects. Earlier output may still be read. */
  closed: Promise<StreamEnd>;
}>;

export type OpenStreamOptions = Readonly<{
  ticket: Pick<TerminalTicket, 'ticket' | 'url'>;
  WebSocket?: typeof globalThis.WebSocket;
  signal?: AbortSignal | undefined;
  /** How long the gateway may take to respond. */
  openTimeoutMs?: number;
}>;

const OPEN_TIMEOUT_MS = 20_000;
/** A generic close code has no meaning of its own. */
const NORMAL = 1000;

const refused = (url: string): string =>
  `The gateway at ${new URL(url).host} did not open the session: the ticket was used already or is older than 30 ` +
  'seconds, this address may not connect to it, or it cannot be reached. Try again.';

const lost = 'The connection to the gateway was lost. Connect again.';

/** A message of the gateway or the host, or null if it is invalid. Unknown ones are for newer clients. */
const messageOf = (text: string): HostMessage | GatewayMessage | null => {
  try {
    const message: unknown = JSON.parse(text);
    return typeof message === 'object' && message !== null && 'type' in message
      ? (message as HostMessage | GatewayMessage)
      : null;
  } catch {
    return null;
  }
};

/** If the message was lost and only the close code arrived. */
const reasonOf = (code: number): SessionEndReason | undefined =>
  code === NORMAL ? undefined : SESSION_END_REASONS.find((reason) => SESSION_CLOSE_CODES[reason] === code);

const settled = <T>() => {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  // A caller that does not await it gets no unhandled rejection.
  promise.catch(() => undefined);
  return { promise, resolve, reject };
};

const cells = (count: number): number => Math.min(1000, Math.max(1, Math.trunc(count) || 1));

export const openStream = ({ ticket, signal, ...options }: OpenStreamOptions): Promise<SessionStream> => {
  const Socket = options.WebSocket ?? globalThis.WebSocket;
  const socket = new Socket(ticket.url, [STREAM_PROTOCOL, `${TICKET_PROTOCOL_PREFIX}${ticket.ticket}`]);
  socket.binaryType = 'arraybuffer';

  const opened = settled<SessionStream>();
  const ready = settled<void>();
  const closed = settled<StreamEnd>();
  const sending = createSendWindow();
  const send = (message: ClientMessage) => {
    if (socket.readyState === Socket.OPEN) socket.send(JSON.stringify(message));
  };
  const receiving = createReceiveQueue((bytes) => send({ type: 'ack', bytes }));
  let session: SessionInfo | undefined;
  let exit: Readonly<{ code: number | null; signal: string | null }> | undefined;
  let over = false;
  let ended: Promise<void> | undefined;
  /** Writes are serialized, and the end of stream follows the last. */
  let written: Promise<void> = Promise.resolve();

  const finish = (reason: StreamEnd['reason'], message: string, cause?: unknown) => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    const err = new GpuaasError('network', message, { retryable: true, cause });
    opened.reject(signal?.aborted ? signal.reason : err);
    ready.reject(err);
    sending.fail(err);
    receiving.end();
    closed.resolve({ reason, message, exit_code: exit?.code ?? null, signal: exit?.signal ?? null });
    socket.close(reason === 'protocol_error' ? SESSION_CLOSE_CODES.protocol_error : NORMAL);
  };
  const abort = () => finish('client_disconnected', 'Left.');
  const timer = setTimeout(
    () => finish('connection_lost', refused(ticket.url)),
    options.openTimeoutMs ?? OPEN_TIMEOUT_MS,
  );

  const write = async (bytes: Uint8Array): Promise<void> => {
    for (let at = 0; at < bytes.byteLength; ) {
      const size = await sending.take(bytes.byteLength - at);
      // Sending makes its own copy.
      socket.send(bytes.subarray(at, at + size) as Uint8Array<ArrayBuffer>);
      at += size;
    }
  };
  const afterWrites = (next: () => Promise<void> | void): Promise<void> => {
    const done = written.then(next);
    written = done.catch(() => undefined);
    return done;
  };

  const open = (message: SessionInfo): void => {
    session = message;
    clearTimeout(timer);
    opened.resolve({
      session: message,
      ready: ready.promise,
      bytes: receiving.bytes,
      write: message.is_writable ? (bytes) => afterWrites(() => write(bytes)) : async () => undefined,
      end: () => {
        ended ??= afterWrites(() => send({ type: 'eof' }));
        return ended;
      },
      resize: (cols, rows) => send({ type: 'resize', cols: cells(cols), rows: cells(rows) }),
      close: abort,
      closed: closed.promise,
    });
  };

  const receive = (message: HostMessage | GatewayMessage): void => {
    if (message.type === 'session') open(message);
    else if (message.type === 'ready') ready.resolve();
    else if (message.type === 'eof') receiving.end();
    else if (message.type === 'exit') exit = message;
    else if (message.type === 'failed') finish('unreachable', message.message);
    else if (message.type === 'closed') finish(message.reason, message.message);
    else if (message.type === 'ack' && !sending.acknowledge(message.bytes))
      finish('protocol_error', 'The other end acknowledged more than was sent.');
  };

  socket.addEventListener('message', ({ data }) => {
    if (over) return;
    if (typeof data === 'string') {
      const message = messageOf(data);
      if (message === null) finish('protocol_error', 'The gateway sent an unknown message.');
      else receive(message);
    } else if (!receiving.push(new Uint8Array(data as ArrayBuffer)))
      finish('protocol_error', 'The other end sent more than there was room for.');
  });
  socket.addEventListener('close', ({ code, reason }) =>
    finish(reasonOf(code) ?? 'connection_lost', reason || (session === undefined ? refused(ticket.url) : lost)),
  );
  // A close follows each error, but not in every runtime if the connection was never established.
  socket.addEventListener('error', () => finish('connection_lost', session === undefined ? refused(ticket.url) : lost));
  signal?.addEventListener('abort', abort);
  if (signal?.aborted) abort();
  return opened.promise;
};

export type ConnectOptions = Readonly<{
  project_id: string;
  allocation_id: string;
  kind: SessionKind;
  /** Of a forward. */
  port?: number | undefined;
  cols?: number | undefined;
  rows?: number | undefined;
  WebSocket?: typeof globalThis.WebSocket;
  signal?: AbortSignal | undefined;
}>;

/** Requests a ticket and opens its session. */
export const connect = async (
  client: Pick<Client, 'terminalTicketCreate'>,
  { project_id, allocation_id, kind, port, cols, rows, signal, ...options }: ConnectOptions,
): Promise<SessionStream> => {
  const ticket = await client.terminalTicketCreate(
    { params: { project_id, allocation_id }, body: { kind, port, cols, rows } },
    { signal },
  );
  return openStream({ ticket, signal, ...options });
};
