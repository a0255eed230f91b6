/**
 * One WebSocket of a session. It is read only while its data can be passed on: the windows bound the waiting bytes, and
 * this bounds the messages, so that a megabyte sent byte by byte costs no more than one sent at once.
 */
import { STREAM_WINDOW_BYTES } from '@gpuaas/contract/stream';
import type { WebSocket } from 'ws';

export type LegEvents = Readonly<{
  onMessage(data: Buffer, isBinary: boolean): void;
  /** `isProtocol`: it violated the WebSocket protocol. */
  onClose(code: number, isProtocol: boolean): void;
  /** The send queue is too long, or no longer. */
  onFull(isFull: boolean): void;
}>;

export type Leg = Readonly<{
  send(data: Buffer | string): void;
  /** Stops reading for a named reason; reading resumes when no reason is left. */
  hold(why: string): void;
  release(why: string): void;
  /** Closes after everything sent, and disconnects when that takes too long. */
  close(code: number, reason: string, withinMs: number): void;
  /** Sends a ping; false when the last two were not answered. */
  ask(): boolean;
}>;

const MESSAGES_HIGH = 2_048;
const MESSAGES_LOW = 512;
const PINGS_MAX = 2;
/** More unread bytes than the windows allow: the peer sends pings and does not read the pongs. */
const UNREAD_MAX = 2 * STREAM_WINDOW_BYTES;

export const createLeg = (socket: WebSocket, events: LegEvents): Leg => {
  const holds = new Set<string>();
  let unsent = 0;
  let isFull = false;
  let asked = 0;
  let isProtocol = false;
  let cutting: NodeJS.Timeout | undefined;

  const sent = (): void => {
    unsent -= 1;
    if (!isFull || unsent > MESSAGES_LOW) return;
    isFull = false;
    events.onFull(false);
  };

  socket.on('message', (data, isBinary) => {
    asked = 0;
    events.onMessage(data as Buffer, isBinary);
  });
  socket.on('pong', () => {
    asked = 0;
  });
  socket.on('ping', (data) => {
    if (socket.readyState === socket.OPEN && socket.bufferedAmount < UNREAD_MAX) socket.pong(data);
  });
  socket.on('error', (err: NodeJS.ErrnoException) => {
    isProtocol ||= err.code?.startsWith('WS_ERR_') === true;
  });
  socket.on('close', (code) => {
    clearTimeout(cutting);
    events.onClose(code, isProtocol);
  });

  return {
    send: (data) => {
      if (socket.readyState !== socket.OPEN) return;
      unsent += 1;
      socket.send(data, { binary: typeof data !== 'string' }, sent);
      if (isFull || unsent <= MESSAGES_HIGH) return;
      isFull = true;
      events.onFull(true);
    },
    hold: (why) => {
      holds.add(why);
      socket.pause();
    },
    release: (why) => {
      if (!holds.delete(why) || holds.size > 0) return;
      asked = 0;
      socket.resume();
    },
    close: (code, reason, withinMs) => {
      // Its own close frame must be read.
      holds.clear();
      socket.resume();
      if (socket.readyState === socket.CLOSED) return;
      socket.close(code, reason);
      cutting = setTimeout(() => socket.terminate(), withinMs);
    },
    ask: () => {
      // A paused peer cannot answer.
      if (holds.size > 0) return true;
      if (asked >= PINGS_MAX) return false;
      asked += 1;
      if (socket.readyState === socket.OPEN) socket.ping();
      return true;
    },
  };
};
