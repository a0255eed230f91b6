/**
 * One direction of a session: bytes sent and not acknowledged yet. Sending far beyond the window, or acknowledging what
 * was never sent, is a protocol error.
 */
import { STREAM_ACK_BYTES, STREAM_WINDOW_BYTES } from '@gpuaas/contract/stream';

/** What was on its way when an acknowledgement was. */
const UNACKNOWLEDGED_MAX = STREAM_WINDOW_BYTES + STREAM_ACK_BYTES;

export type Window = Readonly<{
  /** False when the sender went beyond its credit, or sends behind its own end. */
  send(bytes: number): boolean;
  /** False for more than was sent. */
  acknowledge(bytes: number): boolean;
  /** Nothing more comes this way; false when that was said before. */
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
