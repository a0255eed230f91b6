/**
 * Writes the log lines of this process to the database. Logging never waits for it: lines go into a bounded queue,
 * which drops the oldest when the database cannot keep up and logs how many. Reads that succeeded are not stored:
 * clients poll. Standard output has every line in any case.
 */

import { randomUUID } from 'node:crypto';
import { type Loop, type LoopWatch, redactFields, redactText } from '@gpuaas/kit';
import { type Database, PLATFORM } from '../db/client.ts';
import { insertLogLines, keepLogPartitions, type LogLineRow } from '../db/log-line.ts';
import { isRoutineRead } from '../domain/trace-entry.ts';

export type LogSink = Readonly<{
  /** A line as the logger writes it. */
  take(line: string): void;
  /** Starts writing the queued and all later lines to the database. */
  start(options: Readonly<{ database: Database; days: number; loops?: LoopWatch }>): void;
  /** Writes the rest once, and ends. */
  stop(): Promise<void>;
  /** Lines that were dropped so far. */
  dropped(): number;
}>;

const QUEUE_MAX = 10_000;
const BATCH_MAX = 500;
const INTERVAL_MS = 500;
/** Below `info` nothing is kept; the level is the first field of a line. */
const TOO_LOW = /^\{"level":"(?:trace|debug)"/;
const MESSAGE_MAX = 4_096;
const FIELDS_BYTES_MAX = 16_384;

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const HOST_ROLES = ['platform_control', 'app_control', 'worker_compute'] as const;

type QueuedLine = Readonly<{ line: string; number: number }>;

const toRow = ({ line, number }: QueuedLine, origin: string): LogLineRow | undefined => {
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const { level, timestamp, service, host_role, host_name, message, correlation_id, error_code, node_id, ...rest } =
    parsed;
  const fields = redactFields(rest);
  return {
    logged_at: textOf(timestamp) ?? new Date().toISOString(),
    service: textOf(service) ?? 'gpuaas',
    host_role: HOST_ROLES.find((role) => role === host_role) ?? 'platform_control',
    host_name: textOf(host_name) ?? '',
    node_id: textOf(node_id),
    level: textOf(level) ?? 'info',
    message: redactText(textOf(message) ?? '').slice(0, MESSAGE_MAX),
    correlation_id: textOf(correlation_id),
    error_code: textOf(error_code),
    fields: JSON.stringify(fields).length > FIELDS_BYTES_MAX ? { is_truncated: true } : fields,
    origin,
    number,
  };
};

/** Readers must know that some lines are missing. */
const droppedRow = (like: LogLineRow, dropped: number, number: number): LogLineRow => ({
  ...like,
  level: 'warn',
  node_id: null,
  correlation_id: null,
  error_code: null,
  message: 'log lines dropped: storage too slow',
  fields: { dropped },
  number,
});

export const createLogSink = (): LogSink => {
  const origin = randomUUID();
  let queue: QueuedLine[] = [];
  let next = 0;
  let dropped = 0;
  let droppedReported = 0;
  let target: Readonly<{ database: Database; days: number }> | undefined;
  let hasPartitions = false;
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> | undefined;
  let watch: Loop | undefined;

  const flush = async (): Promise<void> => {
    while (target !== undefined && queue.length > 0) {
      const { database, days } = target;
      const batch = queue.slice(0, BATCH_MAX);
      const last = batch.at(-1)?.number ?? 0;
      const lost = dropped - droppedReported;
      const rows = batch.flatMap((taken) => toRow(taken, origin) ?? []).filter((row) => !isRoutineRead(row));
      const first = rows[0];
      if (lost > 0 && first !== undefined) rows.push(droppedRow(first, lost, next++));
      await database.write(PLATFORM, async (tx) => {
        // Before the first line: a day whose lines are in the default partition cannot get its own.
        if (!hasPartitions) await keepLogPartitions(tx, days);
        if (rows.length > 0) await insertLogLines(tx, rows);
      });
      hasPartitions = true;
      droppedReported += lost;
      // During the write, newer lines may have pushed the oldest out of the queue.
      queue = queue.filter((taken) => taken.number > last);
    }
  };
  // A failure is not logged here: that would be one more line that cannot be written.
  const run = (): Promise<void> => {
    flushing ??= (watch === undefined ? flush() : watch.turn(flush))
      .catch(() => {})
      .finally(() => {
        flushing = undefined;
      });
    return flushing;
  };

  return {
    take: (line) => {
      if (TOO_LOW.test(line)) return;
      if (queue.length >= QUEUE_MAX) {
        // Many together, so that a full queue does not cost a copy per line.
        queue = queue.slice(BATCH_MAX);
        dropped += BATCH_MAX;
      }
      queue.push({ line, number: next++ });
    },
    start: ({ loops, ...options }) => {
      target = options;
      watch = loops?.add('store-log-lines', INTERVAL_MS);
      timer = setInterval(() => void run(), INTERVAL_MS);
      timer.unref();
    },
    stop: async () => {
      clearInterval(timer);
      await run();
      watch?.end();
      target = undefined;
    },
    dropped: () => dropped,
  };
};
