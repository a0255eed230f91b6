/**
 * The content of a simulated disk: a sparse file, created at the first write. Unwritten or discarded parts read as
 * zeros, like a wiped disk.
 */
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';

export type Block = Readonly<{
  size_bytes: number;
  read(offset: number, length: number): Promise<Buffer>;
  write(offset: number, bytes: Uint8Array): Promise<void>;
  /** Discards every byte; reads return zeros afterwards. */
  erase(): Promise<void>;
}>;

const isMissing = (err: unknown): boolean => err instanceof Error && 'code' in err && err.code === 'ENOENT';

export const openBlock = (dir: string, serial: string, sizeBytes: number): Block => {
  const folder = join(dir, 'disks');
  const file = join(folder, `${serial}.img`);

  const withFile = async <T>(flags: string, work: (handle: FileHandle) => Promise<T>): Promise<T> => {
    await using handle = await open(file, flags);
    return await work(handle);
  };

  return {
    size_bytes: sizeBytes,
    read: async (offset, length) => {
      const bytes = Buffer.alloc(Math.max(0, Math.min(length, sizeBytes - offset)));
      try {
        await withFile('r', (handle) => handle.read(bytes, 0, bytes.length, offset));
      } catch (err) {
        if (!isMissing(err)) throw err;
      }
      return bytes;
    },
    write: async (offset, bytes) => {
      const put = (handle: FileHandle) => handle.write(bytes, 0, bytes.length, offset);
      try {
        await withFile('r+', put);
      } catch (err) {
        if (!isMissing(err)) throw err;
        await mkdir(folder, { recursive: true });
        // Two concurrent first writes both create the file, and neither truncates it.
        await withFile('a', (handle) => handle.truncate(sizeBytes));
        await withFile('r+', put);
      }
    },
    erase: async () => {
      try {
        await withFile('r+', async (handle) => {
          await handle.truncate(0);
          await handle.truncate(sizeBytes);
        });
      } catch (err) {
        if (!isMissing(err)) throw err;
      }
    },
  };
};
