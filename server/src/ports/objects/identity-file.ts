/**
 * The identity file: changes of identities, one JSON line each, beside the heads file and outside the database. It holds
 * IDs and no secret. Its lines are not signed; the signed heads count the rows that it must explain. A full file is renamed,
 * and the next is continued; all of them are read.
 */
import { type FileHandle, rename } from 'node:fs/promises';
import { fullName, listFull, openForAppend, ROTATE_BYTES, readAll, writeAll } from './rotated-file.ts';

/** An audit row, by its place in its chain. What else a line holds is the caller's. */
type Placed = Readonly<{ chain: string; sequence: number }>;

export type IdentityFile<Change extends Placed> = Readonly<{
  /** Flushed to disk. One writer at a time is the caller's duty. */
  append(changes: readonly Change[]): Promise<void>;
  /** All changes; a line that a crash left half-written is skipped. */
  read(): Promise<Change[]>;
}>;

export const identityFileOf = (headsFile: string): string => `${headsFile}.identities`;

const parse = <Change extends Placed>(line: string): Change | null => {
  try {
    const value = JSON.parse(line) as Change;
    return typeof value.chain === 'string' && Number.isSafeInteger(value.sequence) ? value : null;
  } catch {
    return null;
  }
};

const endsWithNewline = async (handle: FileHandle, size: number): Promise<boolean> => {
  if (size === 0) return true;
  const last = Buffer.alloc(1);
  await handle.read(last, 0, 1, size - 1);
  return last[0] === 0x0a;
};

/** A full one gets the number after those that are full. */
const rotate = async (file: string, handle: FileHandle): Promise<FileHandle> => {
  await handle.close();
  await rename(file, fullName(file, (await listFull(file)).length + 1));
  return openForAppend(file);
};

export const createIdentityFile = <Change extends Placed>(
  file: string,
  rotateBytes: number = ROTATE_BYTES,
): IdentityFile<Change> => ({
  append: async (changes) => {
    if (changes.length === 0) return;
    let handle = await openForAppend(file);
    try {
      if ((await handle.stat()).size >= rotateBytes) handle = await rotate(file, handle);
      const { size } = await handle.stat();
      const start = (await endsWithNewline(handle, size)) ? '' : '\n';
      await writeAll(
        handle,
        Buffer.from(start + changes.map((change) => `${JSON.stringify(change)}\n`).join('')),
        size,
      );
      await handle.datasync();
    } finally {
      await handle.close();
    }
  },
  read: async () => {
    const found: Change[] = [];
    for await (const line of readAll(file)) {
      const change = parse<Change>(line.toString('utf8'));
      if (change !== null) found.push(change);
    }
    return found;
  },
});
