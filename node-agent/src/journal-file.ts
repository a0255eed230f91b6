/**
 * An append-only file of JSON lines that survives kill -9, power loss and a full disk. A resolved `append` is on disk;
 * a rejected one is not there, not even in part. Concurrent lines share one sync. After a failed write the file is
 * truncated to its last good end. After a failed sync the content on disk is unknown, so the next write replaces the
 * whole file from memory.
 */
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './control-plane/durable.ts';
import { HostError } from './host/host.ts';

export type JournalFs = Readonly<{ open: typeof open }>;

export type JournalFile = Readonly<{
  size(): number;
  /** `onDisk` runs as soon as the lines are written, before anything else is. */
  append(lines: readonly string[], onDisk: () => void): Promise<void>;
  /** Replaces the whole content by the result of `choose`, or leaves it unchanged. */
  rewrite(choose: (lines: readonly string[]) => readonly string[]): Promise<void>;
  read(): Promise<readonly string[]>;
  close(): Promise<void>;
}>;

const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS'];

const hostErrorOf = (err: unknown): HostError => {
  const code = (err as NodeJS.ErrnoException).code ?? '';
  return FULL.includes(code)
    ? new HostError('no_space', `The journal of this host cannot be written (${code}): free space, then try again.`, {
        cause: err,
      })
    : new HostError('host_error', `The journal of this host cannot be written (${code || String(err)}).`, {
        cause: err,
      });
};

/** Everything up to the first invalid line; a valid line after an invalid one means damage, not an incomplete write. */
const wholeLines = (text: string, path: string): { lines: string[]; length: number } => {
  const lines: string[] = [];
  let length = 0;
  let torn: number | undefined;
  for (let start = 0, number = 1; start < text.length; number++) {
    const end = text.indexOf('\n', start);
    const line = end === -1 ? undefined : text.slice(start, end);
    if (line !== undefined && isJson(line)) {
      if (torn !== undefined)
        throw new HostError(
          'host_error',
          `${path} is damaged at line ${torn}: later lines cannot be trusted. Compare the host with the control plane, then move the file away.`,
        );
      lines.push(line);
      length += Buffer.byteLength(line) + 1;
    } else torn ??= number;
    start = end === -1 ? text.length : end + 1;
  }
  return { lines, length };
};

const isJson = (line: string): boolean => {
  try {
    return typeof JSON.parse(line) === 'object';
  } catch {
    return false;
  }
};

export const openJournalFile = async (
  options: Readonly<{ path: string; is_synced: boolean; fs?: JournalFs }>,
): Promise<{ file: JournalFile; lines: readonly string[]; torn_bytes: number }> => {
  const fs = options.fs ?? { open };
  await mkdir(dirname(options.path), { recursive: true, mode: 0o700 });
  const flags = constants.O_RDWR | constants.O_CREAT;
  let handle: FileHandle = await fs.open(options.path, flags, 0o600);
  const text = await handle.readFile('utf8');
  const { lines, length } = wholeLines(text, options.path);
  let size = length;
  let isDoubtful = false;
  const torn = Buffer.byteLength(text) - length;
  if (torn > 0) await handle.truncate(size);
  if (options.is_synced) {
    await handle.sync();
    await syncFolder(dirname(options.path));
  }

  const sync = async (of: FileHandle): Promise<void> => {
    if (options.is_synced) await of.datasync();
  };

  const writeAt = async (of: FileHandle, text: string, position: number): Promise<number> => {
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await of.write(bytes, done, bytes.length - done, position + done);
      done += bytesWritten;
    }
    return bytes.length;
  };

  const current = async (): Promise<readonly string[]> =>
    wholeLines((await readFrom(handle)).subarray(0, size).toString('utf8'), options.path).lines;
  const textOf = (of: readonly string[]): string => of.map((line) => `${line}\n`).join('');

  const replace = async (next: readonly string[]): Promise<void> => {
    const beside = `${options.path}.new`;
    const fresh = await fs.open(beside, 'w+', 0o600).catch((err: unknown) => {
      throw hostErrorOf(err);
    });
    try {
      const length = await writeAt(fresh, textOf(next), 0);
      if (options.is_synced) await fresh.sync();
      await rename(beside, options.path);
      await handle.close().catch(() => {});
      handle = fresh;
      size = length;
      isDoubtful = false;
      if (options.is_synced) await syncFolder(dirname(options.path));
    } catch (err) {
      if (handle !== fresh) {
        await fresh.close().catch(() => {});
        await rm(beside, { force: true }).catch(() => {});
      }
      throw hostErrorOf(err);
    }
  };

  const write = async (next: readonly string[]): Promise<void> => {
    if (isDoubtful) return replace([...(await current()), ...next]);
    let written: number;
    try {
      written = await writeAt(handle, textOf(next), size);
    } catch (err) {
      await handle.truncate(size).catch(() => {
        isDoubtful = true;
      });
      throw hostErrorOf(err);
    }
    try {
      await sync(handle);
    } catch (err) {
      isDoubtful = true;
      await handle.truncate(size).catch(() => {});
      throw hostErrorOf(err);
    }
    size += written;
  };

  const file = serialize({
    write,
    rewrite: async (choose) => replace(choose(await current())),
    read: current,
    size: () => size,
    close: () => handle.close(),
  });
  return { file, lines, torn_bytes: torn };
};

const readFrom = async (handle: FileHandle): Promise<Buffer> => {
  const { size } = await handle.stat();
  const bytes = Buffer.alloc(size);
  let done = 0;
  while (done < size) {
    const { bytesRead } = await handle.read(bytes, done, size - done, done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return bytes.subarray(0, done);
};

type Parts = Readonly<{
  write(lines: readonly string[]): Promise<void>;
  rewrite: JournalFile['rewrite'];
  read(): Promise<readonly string[]>;
  size(): number;
  close(): Promise<void>;
}>;

/** One operation on the file at a time; waiting appends are written together. */
const serialize = (parts: Parts): JournalFile => {
  type Batch = { lines: string[]; onDisk: (() => void)[]; done: Promise<void> };
  let tail: Promise<unknown> = Promise.resolve();
  let waiting: Batch | undefined;
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = tail.then(work);
    tail = turn.catch(() => {});
    return turn;
  };
  const writeBatch = async (batch: Batch): Promise<void> => {
    waiting = undefined;
    await parts.write(batch.lines);
    for (const tell of batch.onDisk) tell();
  };
  return {
    size: parts.size,
    append: (lines, onDisk) => {
      if (waiting === undefined) {
        const batch: Batch = { lines: [], onDisk: [], done: Promise.resolve() };
        waiting = batch;
        batch.done = inTurn(() => writeBatch(batch));
      }
      waiting.lines.push(...lines);
      waiting.onDisk.push(onDisk);
      return waiting.done;
    },
    rewrite: (choose) => inTurn(() => parts.rewrite(choose)),
    read: () => inTurn(parts.read),
    close: () => inTurn(parts.close),
  };
};
