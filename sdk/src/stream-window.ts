/**
 * Credit for the bytes of a session, per direction. A sender may have `STREAM_WINDOW_BYTES` in flight without
 * acknowledgement; a receiver acknowledges bytes only after its reader consumed them. So a slow reader slows the other
 * end down, and this end never buffers more than one window.
 */
import { STREAM_ACK_BYTES, STREAM_MESSAGE_BYTES_MAX, STREAM_WINDOW_BYTES } from './stream.gen.ts';

export type SendWindow = Readonly<{
  /** How many bytes may be sent now, at most `wanted`; waits until it is at least one. One caller at a time. */
  take(wanted: number): Promise<number>;
  /** The other end acknowledged bytes. False if it acknowledged more than were sent. */
  acknowledge(bytes: number): boolean;
  /** Ends any wait, now or later, with this error. */
  fail(err: Error): void;
}>;

export const createSendWindow = (): SendWindow => {
  let room = STREAM_WINDOW_BYTES;
  let failure: Error | undefined;
  let wake: (() => void) | undefined;
  const notified = () => {
    wake?.();
    wake = undefined;
  };
  return {
    take: async (wanted) => {
      while (room === 0 && failure === undefined)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      if (failure !== undefined) throw failure;
      const taken = Math.min(room, wanted, STREAM_MESSAGE_BYTES_MAX);
      room -= taken;
      return taken;
    },
    acknowledge: (bytes) => {
      if (!Number.isInteger(bytes) || bytes < 1 || room + bytes > STREAM_WINDOW_BYTES) return false;
      room += bytes;
      notified();
      return true;
    },
    fail: (err) => {
      failure ??= err;
      notified();
    },
  };
};

export type ReceiveQueue = Readonly<{
  /** False if the other end exceeded the window. */
  push(bytes: Uint8Array): boolean;
  /** End of stream; buffered data may still be read. */
  end(): void;
  /** Each part is acknowledged when the next one is requested, so that a busy reader requests no more. */
  bytes: AsyncIterable<Uint8Array>;
}>;

export const createReceiveQueue = (acknowledge: (bytes: number) => void): ReceiveQueue => {
  const parts: Uint8Array[] = [];
  let unacknowledged = 0;
  let taken = 0;
  let ended = false;
  let wake: (() => void) | undefined;
  const notified = () => {
    wake?.();
    wake = undefined;
  };
  const consumed = (bytes: number) => {
    taken += bytes;
    if (taken < STREAM_ACK_BYTES || ended) return;
    unacknowledged -= taken;
    acknowledge(taken);
    taken = 0;
  };
  async function* read(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const part = parts.shift();
      if (part !== undefined) {
        yield part;
        consumed(part.byteLength);
      } else if (ended) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  return {
    push: (bytes) => {
      if (ended || bytes.byteLength === 0) return true;
      unacknowledged += bytes.byteLength;
      if (unacknowledged > STREAM_WINDOW_BYTES) return false;
      parts.push(bytes);
      notified();
      return true;
    },
    end: () => {
      ended = true;
      notified();
    },
    bytes: { [Symbol.asyncIterator]: read },
  };
};
