/**
 * Reads past the page cache. A direct read wants memory, offset and length on the boundaries of the device's blocks;
 * the memory of a WebAssembly instance begins on a page, which a Buffer's need not.
 */
import type { FileHandle } from 'node:fs/promises';
import { HostError } from '../host.ts';

const BLOCK = 4096;
const PAGE = 65_536;
const CHUNK = 16 * PAGE;

/** Node has it; the types of the platform's own globals do not. */
type PageMemory = new (size: Readonly<{ initial: number }>) => Readonly<{ buffer: ArrayBuffer }>;
const { Memory } = (globalThis as unknown as Readonly<{ WebAssembly: Readonly<{ Memory: PageMemory }> }>).WebAssembly;

export const directReader = (
  handle: FileHandle,
  sizeBytes: number,
): ((offset: number, length: number) => Promise<Buffer>) => {
  const aligned = Buffer.from(new Memory({ initial: CHUNK / PAGE }).buffer);
  let last: Promise<unknown> = Promise.resolve();
  const read = async (offset: number, length: number): Promise<Buffer> => {
    if (offset < 0 || length < 0 || offset + length > sizeBytes)
      throw new HostError('host_error', `Bytes ${offset} to ${offset + length} are outside of the disk.`);
    const out = Buffer.allocUnsafe(length);
    let done = 0;
    while (done < length) {
      const at = offset + done;
      const start = at - (at % BLOCK);
      const want = Math.min(CHUNK, Math.ceil((offset + length - start) / BLOCK) * BLOCK);
      const { bytesRead } = await handle.read(aligned, 0, want, start).catch((error: unknown) => {
        throw new HostError('host_error', `The disk could not be read at byte ${start}.`, { cause: error });
      });
      const usable = Math.min(bytesRead - (at - start), length - done);
      if (usable <= 0) throw new HostError('host_error', `The disk gave nothing at byte ${at}.`);
      aligned.copy(out, done, at - start, at - start + usable);
      done += usable;
    }
    return out;
  };
  // One buffer serves all reads, so they take turns.
  return (offset, length) => {
    const next = last.then(
      () => read(offset, length),
      () => read(offset, length),
    );
    last = next.catch(() => undefined);
    return next;
  };
};
