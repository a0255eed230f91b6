/**
 * The recording of a terminal as an asciicast: header, output and window sizes. Input is not recorded, so a password
 * without echo is not either. Data is stored in parts as it arrives. A session that cannot be recorded is closed, and
 * so is one that exceeds the maximum size: endless output must not fill the database.
 */
import { StringDecoder } from 'node:string_decoder';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const compress = promisify(gzip);

export type Recorder = Readonly<{
  output(bytes: Buffer): void;
  resize(cols: number, rows: number): void;
  /** Stores the rest; resolves when it is stored or has failed. */
  end(): Promise<void>;
}>;

export type RecorderOptions = Readonly<{
  cols: number;
  rows: number;
  nowMs: () => number;
  keep(part: number, content: Buffer): Promise<void>;
  /** The storage queue is too long, or no longer. */
  onBehind(isBehind: boolean): void;
  /** A part could not be stored: no later part will be. */
  onFailure(err: unknown): void;
  /** It reached its maximum size: nothing more is stored. */
  onFull(): void;
  bytes_max?: number;
}>;

/** As stored. Hours of ordinary work need a few of these. */
const RECORDING_BYTES_MAX = 64 * 1024 * 1024;

const PART_BYTES = 64 * 1024;
const PART_MS = 1_500;
const BEHIND_BYTES = 1024 * 1024;

export const createRecorder = (options: RecorderOptions): Recorder => {
  const { nowMs, bytes_max = RECORDING_BYTES_MAX } = options;
  const startedMs = nowMs();
  const decoder = new StringDecoder('utf8');
  let lines: string[] = [];
  let size = 0;
  let unkept = 0;
  let kept = 0;
  let part = 0;
  let isDone = false;
  let isBehind = false;
  let timer: NodeJS.Timeout | undefined;
  let keeping: Promise<void> = Promise.resolve();

  const setBehind = (): void => {
    const next = !isDone && unkept > BEHIND_BYTES;
    if (next === isBehind) return;
    isBehind = next;
    options.onBehind(next);
  };

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (lines.length === 0 || isDone) return keeping;
    const text = lines.join('');
    const bytes = size;
    const number = part;
    lines = [];
    size = 0;
    part += 1;
    keeping = keeping.then(async () => {
      if (isDone) return;
      try {
        const content = await compress(text);
        await options.keep(number, content);
        kept += content.length;
        if (kept > bytes_max) {
          isDone = true;
          options.onFull();
        }
      } catch (err) {
        isDone = true;
        options.onFailure(err);
      }
      unkept -= bytes;
      setBehind();
    });
    return keeping;
  };

  const write = (line: unknown): void => {
    if (isDone) return;
    const text = `${JSON.stringify(line)}\n`;
    lines.push(text);
    size += text.length;
    unkept += text.length;
    setBehind();
    if (size >= PART_BYTES) void flush();
    else timer ??= setTimeout(() => void flush(), PART_MS);
  };

  const seconds = (): number => Math.round(nowMs() - startedMs) / 1000;

  write({ version: 2, width: options.cols, height: options.rows, timestamp: Math.floor(startedMs / 1000) });
  return {
    output: (bytes) => {
      // A character split at the end of a message waits for the rest.
      const text = decoder.write(bytes);
      if (text !== '') write([seconds(), 'o', text]);
    },
    resize: (cols, rows) => write([seconds(), 'r', `${cols}x${rows}`]),
    end: () => {
      const rest = decoder.end();
      if (rest !== '') write([seconds(), 'o', rest]);
      return flush();
    },
  };
};
