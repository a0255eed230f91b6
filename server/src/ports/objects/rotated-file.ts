/**
 * Files that are only appended to, and renamed when they are full: the next is continued under the same name. Full ones end
 * with a number of fixed width, and all of them are read as one, the oldest first.
 */
import { type FileHandle, mkdir, open, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export const ROTATE_BYTES = 64 * 1024 * 1024;
export const LINE_BYTES_MAX = 16_384;
const NEWLINE = 0x0a;
const DIGITS = 15;

export const fullName = (file: string, number: number): string => `${file}.${String(number).padStart(DIGITS, '0')}`;

/** Full files by their number, which is of fixed width. */
export const listFull = async (file: string): Promise<string[]> => {
  const prefix = `${basename(file)}.`;
  const names = await readdir(dirname(file)).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== 'ENOENT') throw err;
    return [];
  });
  return names
    .filter((name) => name.startsWith(prefix) && new RegExp(`^\\d{${DIGITS}}$`).test(name.slice(prefix.length)))
    .toSorted()
    .map((name) => join(dirname(file), name));
};

/** Undefined when there is no such file. */
export const openIfThere = async (file: string, flags: string): Promise<FileHandle | undefined> => {
  try {
    return await open(file, flags);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
    return undefined;
  }
};

/** Without this a new name of a file may be lost in a power failure. */
const syncNames = async (directory: string): Promise<void> => {
  const folder = await open(directory, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

/** Creates the file where there is none. */
export const openForAppend = async (file: string): Promise<FileHandle> => {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const existing = await openIfThere(file, 'r+');
  if (existing !== undefined) return existing;
  const handle = await open(file, 'wx+', 0o600);
  await syncNames(dirname(file));
  return handle;
};

/** A full file system may take a part. */
export const writeAll = async (handle: FileHandle, bytes: Buffer, offset: number): Promise<void> => {
  for (let done = 0; done < bytes.length; )
    done += (await handle.write(bytes, done, bytes.length - done, offset + done)).bytesWritten;
};

/** Complete lines only. An over-long one is passed on truncated, which matches no signature. */
const readLines = async function* (handle: FileHandle): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of handle.createReadStream({ highWaterMark: 256 * 1024 })) {
    rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
    let start = 0;
    for (let at = rest.indexOf(NEWLINE); at !== -1; at = rest.indexOf(NEWLINE, start)) {
      yield rest.subarray(start, at);
      start = at + 1;
    }
    rest = rest.subarray(start);
    if (rest.length > LINE_BYTES_MAX) rest = rest.subarray(0, LINE_BYTES_MAX);
  }
};

/**
 * The lines of all files. A file may become full meanwhile: the one that is open is read to its end under either name, and
 * a file that was renamed before it could be opened is read first.
 */
export const readAll = async function* (file: string): AsyncGenerator<Buffer> {
  const read = new Set<string>();
  for (;;) {
    for (const full of await listFull(file)) {
      if (read.has(full)) continue;
      read.add(full);
      const handle = await openIfThere(full, 'r');
      if (handle !== undefined) yield* readLines(handle);
    }
    const current = await openIfThere(file, 'r');
    if ((await listFull(file)).every((full) => read.has(full))) {
      if (current !== undefined) yield* readLines(current);
      return;
    }
    await current?.close();
  }
};
