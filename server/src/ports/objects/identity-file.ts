/**
 * The identity file: changes of identities, one JSON line each, beside the heads file and outside the database. It holds
 * IDs and no secret. Its lines are not signed; the signed heads count the rows that it must explain.
 */
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';

/** An audit row, by its place in its chain. */
type IdentityChange = Readonly<{
  chain: string;
  sequence: number;
  at: string;
  action: string;
  target_kind: string | null;
  target_id: string | null;
  actor_id: string | null;
  organization_id: string | null;
}>;

export type IdentityFile = Readonly<{
  /** Flushed to disk. One writer at a time is the caller's duty. */
  append(changes: readonly IdentityChange[]): Promise<void>;
  /** All changes; a line that a crash left half-written is skipped. */
  read(): Promise<IdentityChange[]>;
}>;

export const identityFileOf = (headsFile: string): string => `${headsFile}.identities`;

const parse = (line: string): IdentityChange | null => {
  try {
    const value = JSON.parse(line) as IdentityChange;
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

export const createIdentityFile = (file: string): IdentityFile => ({
  append: async (changes) => {
    if (changes.length === 0) return;
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const handle = await open(file, 'a+', 0o600);
    try {
      const { size } = await handle.stat();
      const start = (await endsWithNewline(handle, size)) ? '' : '\n';
      await handle.appendFile(start + changes.map((change) => `${JSON.stringify(change)}\n`).join(''));
      await handle.datasync();
    } finally {
      await handle.close();
    }
  },
  read: async () => {
    const found: IdentityChange[] = [];
    try {
      for await (const line of createInterface({
        input: createReadStream(file),
        crlfDelay: Number.POSITIVE_INFINITY,
      })) {
        const change = parse(line);
        if (change !== null) found.push(change);
      }
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
    }
    return found;
  },
});
