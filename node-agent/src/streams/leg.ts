/**
 * The host's leg of a session. At most one window of bytes is in flight per direction: sending waits for
 * acknowledgements, and received data is acknowledged when the target has taken it. So neither a slow client nor a slow
 * guest makes the agent buffer more than a window, and a peer that exceeds it is disconnected.
 */
import {
  type ClientMessage,
  type HostMessage,
  STREAM_ACK_BYTES,
  STREAM_MESSAGE_BYTES_MAX,
  STREAM_WINDOW_BYTES,
} from '@gpuaas/contract/stream';
import type { RawData, WebSocket } from 'ws';
import { clientMessageMismatch } from '../schemas.ts';
import { createInbound, type InboundEvents } from './inbound.ts';

export type Leg = Readonly<{
  /** False: the leg is closed. */
  send(bytes: Buffer): Promise<boolean>;
  sendMessage(message: HostMessage): void;
  /** From now on received data is passed on; until then up to one window of it waits. */
  deliverTo(events: InboundEvents): void;
  /** Sent and received, in bytes. */
  counts(): Readonly<{ sent: number; received: number }>;
  /** Queued messages are still sent. */
  close(): void;
  /** Resolves when the connection is closed. */
  closed: Promise<void>;
}>;

const PING_MS = 20_000;
const MISSES_MAX = 2;
/** How long the other end may take to confirm a close. */
const CLOSE_MS = 5_000;
const PROTOCOL_ERROR = 1002;
const DONE = 1000;

const bufferOf = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? Buffer.from(data) : data;

const messageOf = (text: string): ClientMessage | null => {
  try {
    const message: unknown = JSON.parse(text);
    return clientMessageMismatch(message) === null ? (message as ClientMessage) : null;
  } catch {
    return null;
  }
};

export const createLeg = (socket: WebSocket): Leg => {
  const gone = Promise.withResolvers<void>();
  let isOpen = true;
  let sent = 0;
  let acknowledged = 0;
  let received = 0;
  let taken = 0;
  let lastAck = 0;
  let waiting: (() => void) | undefined;

  const wake = (): void => {
    waiting?.();
    waiting = undefined;
  };
  const sendMessage = (message: HostMessage): void => {
    if (isOpen) socket.send(JSON.stringify(message));
  };
  const endWith = (code: number): void => {
    if (!isOpen) return;
    isOpen = false;
    wake();
    socket.close(code);
    const timer = setTimeout(() => socket.terminate(), CLOSE_MS);
    void gone.promise.then(() => clearTimeout(timer));
  };
  const acknowledge = (bytes: number): void => {
    taken += bytes;
    if (taken - lastAck < STREAM_ACK_BYTES) return;
    sendMessage({ type: 'ack', bytes: taken - lastAck });
    lastAck = taken;
  };
  const inbound = createInbound(acknowledge);

  const takeBytes = (chunk: Buffer): void => {
    received += chunk.length;
    if (received - lastAck > STREAM_WINDOW_BYTES + STREAM_MESSAGE_BYTES_MAX) endWith(PROTOCOL_ERROR);
    else inbound.bytes(chunk);
  };
  const takeAck = (bytes: number): void => {
    acknowledged += bytes;
    if (acknowledged > sent) endWith(PROTOCOL_ERROR);
    else wake();
  };
  const takeMessage = (message: ClientMessage): void => {
    if (message.type === 'eof') inbound.eof();
    else if (message.type === 'ack') takeAck(message.bytes);
    else inbound.resize(message.cols, message.rows);
  };

  let misses = 0;
  const touch = (): void => {
    misses = 0;
  };
  const pinger = setInterval(() => {
    if (misses >= MISSES_MAX) return socket.terminate();
    misses += 1;
    if (isOpen) socket.ping();
  }, PING_MS).unref();

  socket.on('ping', touch);
  socket.on('pong', touch);
  socket.on('message', (data, isBinary) => {
    touch();
    if (!isOpen) return;
    if (isBinary) return takeBytes(bufferOf(data));
    const message = messageOf(bufferOf(data).toString('utf8'));
    if (message === null) endWith(PROTOCOL_ERROR);
    else takeMessage(message);
  });
  socket.on('error', () => undefined);
  socket.once('close', () => {
    isOpen = false;
    clearInterval(pinger);
    wake();
    gone.resolve();
  });
  if (socket.readyState === socket.CLOSED) {
    isOpen = false;
    clearInterval(pinger);
    gone.resolve();
  } else socket.resume();

  const sendPart = async (bytes: Buffer): Promise<number> => {
    while (isOpen && sent - acknowledged >= STREAM_WINDOW_BYTES)
      await new Promise<void>((resolve) => {
        waiting = resolve;
      });
    if (!isOpen) return 0;
    const room = STREAM_WINDOW_BYTES - (sent - acknowledged);
    const part = bytes.subarray(0, Math.min(room, STREAM_MESSAGE_BYTES_MAX));
    sent += part.length;
    socket.send(part);
    return part.length;
  };

  return {
    send: async (bytes) => {
      for (let at = 0; at < bytes.length; ) {
        const length = await sendPart(bytes.subarray(at));
        if (length === 0) return false;
        at += length;
      }
      return isOpen;
    },
    sendMessage,
    deliverTo: inbound.deliverTo,
    counts: () => ({ sent, received }),
    close: () => endWith(DONE),
    closed: gone.promise,
  };
};
