/**
 * One direction of a session: bytes sent and not acknowledged yet. Sending far beyond the window, or acknowledging what
 * was never sent, is a protocol error.
 */
import { STREAM_ACK_BYTES, STREAM_WINDOW_BYTES } from '@gpuaas/contract/stream';

/** Data in transit at the same time as an acknowledgement. */
const UNACKNOWLEDGED_MAX = STREAM_WINDOW_BYTES + STREAM_ACK_BYTES;

export type Window = Readonly<{
  /** False when the sender exceeded its credit, or sends after its own end. */
  send(bytes: number): boolean;
  /** False for more than was sent. */
  acknowledge(bytes: number): boolean;
  /** End of data in this direction; false when repeated. */
  finish(): boolean;
  isFinished(): boolean;
  total(): number;
}>;

export const createWindow = (): Window => {
  let total = 0;
  let unacknowledged = 0;
  let isFinished = false;
  return {
    send: (bytes) => {
      total += bytes;
      unacknowledged += bytes;
      return !isFinished && unacknowledged <= UNACKNOWLEDGED_MAX;
    },
    acknowledge: (bytes) => {
      unacknowledged -= bytes;
      return unacknowledged >= 0;
    },
    finish: () => {
      const isFirst = !isFinished;
      isFinished = true;
      return isFirst;
    },
    isFinished: () => isFinished,
    total: () => total,
  };
};
