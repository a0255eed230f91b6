/**
 * A simulated disk: a sparse file. Cloning writes real bytes to it, wiping discards them and reads the whole disk back,
 * so the evidence of a wipe is what was found, not what was intended.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';

const SIZE_BYTES = 16 * 1024 * 1024;
const BLOCK_BYTES = 1024 * 1024;
/** Where an image and its user leave data: at the start, in the middle and at the very end. */
const WRITTEN_AT = [0, SIZE_BYTES / 2 + 4096, SIZE_BYTES - 65_536];

const pathOf = (dir: string, serial: string): string => join(dir, `${serial.replaceAll(/[^A-Za-z0-9._-]/g, '_')}.img`);

const withDisk = async <T>(
  dir: string,
  serial: string,
  fn: (disk: Awaited<ReturnType<typeof open>>) => Promise<T>,
): Promise<T> => {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  // Made if it is not there: a disk is never absent, only empty.
  await (await open(pathOf(dir, serial), 'a', 0o600)).close();
  const disk = await open(pathOf(dir, serial), 'r+');
  try {
    return await fn(disk);
  } finally {
    await disk.close();
  }
};

/** Writing twice is writing once more: the disk is a tenant's afterwards either way. */
export const writeImage = (dir: string, serial: string): Promise<void> =>
  withDisk(dir, serial, async (disk) => {
    await disk.truncate(SIZE_BYTES);
    for (const at of WRITTEN_AT) await disk.write(randomBytes(65_536), 0, 65_536, at);
    await disk.sync();
  });

export const discard = (dir: string, serial: string): Promise<void> =>
  withDisk(dir, serial, async (disk) => {
    await disk.truncate(0);
    await disk.truncate(SIZE_BYTES);
    await disk.sync();
  });

export type ReadBack = Readonly<{ bytes_read_back: number; bytes_not_erased: number }>;

export const readBack = (dir: string, serial: string): Promise<ReadBack> =>
  withDisk(dir, serial, async (disk) => {
    const block = Buffer.alloc(BLOCK_BYTES);
    const empty = Buffer.alloc(BLOCK_BYTES);
    let read = 0;
    let left = 0;
    for (;;) {
      const { bytesRead } = await disk.read(block, 0, BLOCK_BYTES, read);
      if (bytesRead === 0) return { bytes_read_back: read, bytes_not_erased: left };
      const found = block.subarray(0, bytesRead);
      if (!found.equals(empty.subarray(0, bytesRead))) for (const byte of found) left += byte === 0 ? 0 : 1;
      read += bytesRead;
    }
  });
