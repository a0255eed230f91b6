/** Atomic files that survive power loss: written to a temporary file, synced, then renamed. */
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

export const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

const writeOnce = async (path: string, text: string, mode: number): Promise<void> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const beside = `${path}.new`;
  try {
    const handle = await open(beside, 'w', mode);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(beside, path);
  } catch (err) {
    await rm(beside, { force: true }).catch(() => {});
    throw err;
  }
  await syncFolder(dirname(path));
};

/** The last pending write of each file, by path. */
const writers = new Map<string, Promise<void>>();

/** Concurrent writes of one file are serialized: they share one temporary name, and the last one wins. */
export const writeDurably = async (path: string, text: string, mode = 0o600): Promise<void> => {
  const before = writers.get(path);
  const own = (before ?? Promise.resolve()).catch(() => undefined).then(() => writeOnce(path, text, mode));
  writers.set(path, own);
  try {
    await own;
  } finally {
    if (writers.get(path) === own) writers.delete(path);
  }
};

/** Undefined if the file does not exist; any other read error is thrown. */
export const readIfThere = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, 'utf8');
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw err;
  }
};
