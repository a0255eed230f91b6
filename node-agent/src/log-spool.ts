/**
 * Log lines waiting to be sent: numbered within one start of the agent, in segments of at most one batch, on disk if
 * there is a directory. The spool is bounded; during a long outage the oldest lines are dropped and counted. It never
 * throws: a host that cannot log still works.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LogLine } from '@gpuaas/contract/node';

export type Segment = Readonly<{ start_id: string; first_number: number; lines: readonly LogLine[] }>;

export type LogSpool = Readonly<{
  add(line: LogLine): void;
  /** The oldest lines that were not shipped. */
  next(): Segment | undefined;
  done(segment: Segment): void;
  dropped(): number;
  /** Writes what is still in memory to the disk. */
  flush(): Promise<void>;
}>;

const LINES_MAX = 500;
const BYTES_MAX = 1024 * 1024;

type Held = { start_id: string; first_number: number; lines: LogLine[]; bytes: number; unwritten: string };

const parseSegment = (folder: string, name: string): Held | undefined => {
  const match = /^([A-Za-z0-9_-]+)\.(\d+)\.jsonl$/.exec(name);
  if (match === null) return undefined;
  const text = readFileSync(join(folder, name), 'utf8');
  const lines: LogLine[] = [];
  for (const line of text.split('\n').slice(0, -1)) {
    try {
      lines.push(JSON.parse(line) as LogLine);
    } catch {
      // An incomplete line ends what can be numbered with certainty.
      break;
    }
  }
  return {
    start_id: match[1] ?? '',
    first_number: Number(match[2]),
    lines,
    bytes: text.length,
    unwritten: '',
  };
};

export const createLogSpool = (
  options: Readonly<{ start_id: string; folder: string | null; bytes_max?: number }>,
): LogSpool => {
  const bytesMax = options.bytes_max ?? 16 * 1024 * 1024;
  const segments: Held[] = [];
  let number = 0;
  let droppedCount = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  const pathOf = (segment: Pick<Held, 'start_id' | 'first_number'>): string | undefined =>
    options.folder === null
      ? undefined
      : join(options.folder, `${segment.start_id}.${String(segment.first_number).padStart(10, '0')}.jsonl`);

  const remove = (segment: Held): void => {
    segment.unwritten = '';
    const path = pathOf(segment);
    if (path !== undefined) rmSync(path, { force: true });
  };

  const bound = (): void => {
    let total = segments.reduce((sum, segment) => sum + segment.bytes, 0);
    while (total > bytesMax && segments.length > 1) {
      const oldest = segments.shift();
      if (oldest === undefined) return;
      total -= oldest.bytes;
      droppedCount += oldest.lines.length;
      remove(oldest);
    }
  };

  if (options.folder !== null) {
    try {
      mkdirSync(options.folder, { recursive: true, mode: 0o700 });
      for (const name of readdirSync(options.folder).sort()) {
        const segment = parseSegment(options.folder, name);
        if (segment === undefined) continue;
        if (segment.lines.length === 0) remove(segment);
        else segments.push(segment);
      }
      bound();
    } catch {
      // Lines of earlier starts are lost; those of this start are in memory.
    }
  }

  const write = async (): Promise<void> => {
    for (const segment of segments) {
      const path = pathOf(segment);
      const text = segment.unwritten;
      if (path === undefined || text === '') continue;
      segment.unwritten = '';
      // On a full disk the lines stay in memory and are shipped from there.
      await appendFile(path, text, { mode: 0o600 }).catch(() => {});
      if (!segments.includes(segment)) remove(segment);
    }
  };
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(write);
    return writing;
  };

  return {
    add: (line) => {
      const text = `${JSON.stringify(line)}\n`;
      let segment = segments.at(-1);
      const isOurs = segment?.start_id === options.start_id;
      if (segment === undefined || !isOurs || segment.lines.length >= LINES_MAX || segment.bytes > BYTES_MAX) {
        segment = { start_id: options.start_id, first_number: number, lines: [], bytes: 0, unwritten: '' };
        segments.push(segment);
      }
      segment.lines.push(line);
      segment.bytes += text.length;
      if (options.folder !== null) {
        segment.unwritten += text;
        timer ??= setTimeout(() => void flush(), 200).unref();
      }
      number += 1;
      bound();
    },
    next: () => {
      const segment = segments[0];
      return segment === undefined
        ? undefined
        : { start_id: segment.start_id, first_number: segment.first_number, lines: [...segment.lines] };
    },
    done: (shipped) => {
      const segment = segments[0];
      if (segment?.start_id !== shipped.start_id || segment.first_number !== shipped.first_number) return;
      const rest = segment.lines.slice(shipped.lines.length);
      segments.shift();
      remove(segment);
      if (rest.length === 0) return;
      const text = rest.map((line) => `${JSON.stringify(line)}\n`).join('');
      const next: Held = {
        start_id: segment.start_id,
        first_number: segment.first_number + shipped.lines.length,
        lines: rest,
        bytes: text.length,
        unwritten: '',
      };
      segments.unshift(next);
      const path = pathOf(next);
      if (path === undefined) return;
      try {
        writeFileSync(path, text, { mode: 0o600 });
      } catch {
        next.unwritten = text;
      }
    },
    dropped: () => droppedCount,
    flush,
  };
};
