/**
 * Limits how much a node may log in the control plane per day (UTC). Lines above the limit are counted and dropped,
 * which is logged once when it starts and once, with the number, at the end of the day. Each process counts separately
 * and restarts at zero, so the limit is a bound, not an exact quota.
 */
import type { Clock } from '@gpuaas/kit';

export type Verdict = Readonly<{
  /** The number of lines kept, from the first on. */
  kept: number;
  /** These are the first dropped lines of the day. */
  is_first_drop: boolean;
  /** Lines dropped on the day before, reported once. */
  dropped_before: number;
}>;

export type LogQuota = Readonly<{ take(nodeId: string, sizes: readonly number[]): Verdict }>;

export const LOG_LINES_PER_DAY = 100_000;
export const LOG_BYTES_PER_DAY = 64 * 1024 * 1024;
const DAY_MS = 24 * 3_600_000;

type Day = { day: number; lines: number; bytes: number; dropped: number };

export const createLogQuota = (
  clock: Clock,
  max: Readonly<{ lines: number; bytes: number }> = { lines: LOG_LINES_PER_DAY, bytes: LOG_BYTES_PER_DAY },
): LogQuota => {
  // Only nodes with a valid certificate are in here.
  const nodes = new Map<string, Day>();
  return {
    take: (nodeId, sizes) => {
      const day = Math.floor(clock.now().getTime() / DAY_MS);
      const before = nodes.get(nodeId);
      const today = before?.day === day ? before : { day, lines: 0, bytes: 0, dropped: 0 };
      nodes.set(nodeId, today);
      const wasFull = today.dropped > 0;
      let kept = 0;
      for (const size of sizes) {
        if (wasFull || today.lines >= max.lines || today.bytes + size > max.bytes) break;
        today.lines += 1;
        today.bytes += size;
        kept += 1;
      }
      today.dropped += sizes.length - kept;
      return {
        kept,
        is_first_drop: !wasFull && today.dropped > 0,
        dropped_before: before === undefined || before === today ? 0 : before.dropped,
      };
    },
  };
};
