/**
 * Reads that bypass the page cache. A direct read needs memory, offset and length aligned to the device's blocks. The
 * memory of a WebAssembly instance starts on a page, which a Buffer's may not. A few pieces of it are shared by reads,
 * so that a disk can process several at a time.
 */
import type { FileHandle } from 'node:fs/promises';
import { HostError } from '../host.ts';

const BLOCK = 4096;
const PAGE = 65_536;
const CHUNK = 16 * PAGE;
const AT_ONCE = 4;
/** Shared by all readers of zeros: read data is never modified. */
const ZEROS = Buffer.alloc(CHUNK);

/** Node.js has it, but it is missing in the types. */
type PageMemory = new (size: Readonly<{ initial: number }>) => Readonly<{ buffer: ArrayBuffer }>;
const { Memory } = (globalThis as unknown as Readonly<{ WebAssembly: Readonly<{ Memory: PageMemory }> }>).WebAssembly;

/** Lends pieces of aligned memory; a caller waits if none is free. */
const createBufferPool = () => {
  const { buffer } = new Memory({ initial: (CHUNK * AT_ONCE) / PAGE });
  const free: Buffer[] = Array.from({ length: AT_ONCE }, (_, n) => Buffer.from(buffer, n * CHUNK, CHUNK));
  const waiting: ((piece: Buffer) => void)[] = [];
  return async <T>(use: (piece: Buffer) => Promise<T>): Promise<T> => {
    const piece = free.pop() ?? (await new Promise<Buffer>((resolve) => void waiting.push(resolve)));
    try {
      return await use(piece);
    } finally {
      const next = waiting.shift();
      if (next === undefined) free.push(piece);
      else next(piece);
    }
  };
};

/** One for all disks, created at the first read. */
let lend: ReturnType<typeof createBufferPool> | undefined;

export const directReader = (
  handle: FileHandle,
  sizeBytes: number,
): ((offset: number, length: number) => Promise<Buffer>) => {
  return async (offset, length) => {
    if (offset < 0 || length < 0 || offset + length > sizeBytes)
      throw new HostError('host_error', `Bytes ${offset} to ${offset + length} are beyond the end of the disk.`);
    lend ??= createBufferPool();
    return lend(async (aligned) => {
      let out: Buffer | undefined;
      for (let done = 0; done < length; ) {
        const at = offset + done;
        const start = at - (at % BLOCK);
        const want = Math.min(CHUNK, Math.ceil((offset + length - start) / BLOCK) * BLOCK);
        const { bytesRead } = await handle.read(aligned, 0, want, start).catch((error: unknown) => {
          throw new HostError('host_error', `The disk could not be read at byte ${start}.`, { cause: error });
        });
        const usable = Math.min(bytesRead - (at - start), length - done);
        if (usable <= 0) throw new HostError('host_error', `The disk returned no data at byte ${at}.`);
        const bytes = aligned.subarray(at - start, at - start + usable);
        // A wiped disk is all zeros, so a shared block of zeros replaces copies.
        if (usable === length && bytes.equals(ZEROS.subarray(0, usable))) return ZEROS.subarray(0, usable);
        out ??= Buffer.allocUnsafe(length);
        bytes.copy(out, done);
        done += usable;
      }
      return out ?? ZEROS.subarray(0, 0);
    });
  };
};
