/**
 * What is really on a disk: its first and last 16 MiB, samples at random places between them, and a scan for signatures.
 * A small disk is read whole. Erased reads as zeros or, on some drives, as ones; every other byte counts as left.
 */
import { createHash, randomInt } from 'node:crypto';
import type { DiskEvidence } from '@gpuaas/contract/node';
import type { OpenDisk } from '../host/host.ts';

export type ReadBack = Pick<DiskEvidence, 'bytes_read_back' | 'bytes_not_erased' | 'samples' | 'signatures_left'>;
type Range = Readonly<{ offset: number; length: number }>;

const END_BYTES = 16 * 1024 * 1024;
const SAMPLE_BYTES = 64 * 1024;
const SAMPLE_COUNT = 32;
const READ_BYTES = 1024 * 1024;
const ALIGNED_BYTES = 4096;

/** Within the disk, without overlap of the two ends. */
export const rangesOf = (size: number, random: (max: number) => number = randomInt): readonly Range[] => {
  if (size <= 2 * END_BYTES) return size === 0 ? [] : [{ offset: 0, length: size }];
  const last = Math.floor((size - END_BYTES) / ALIGNED_BYTES) * ALIGNED_BYTES;
  const room = Math.floor((last - END_BYTES - SAMPLE_BYTES) / ALIGNED_BYTES);
  const samples =
    room <= 0
      ? [{ offset: END_BYTES, length: last - END_BYTES }].filter((range) => range.length > 0)
      : Array.from({ length: SAMPLE_COUNT }, () => ({
          offset: END_BYTES + random(room) * ALIGNED_BYTES,
          length: SAMPLE_BYTES,
        })).toSorted((a, b) => a.offset - b.offset);
  return [{ offset: 0, length: END_BYTES }, ...samples, { offset: last, length: size - last }];
};

const ZEROS = Buffer.alloc(READ_BYTES);
const ONES = Buffer.alloc(READ_BYTES, 0xff);

const bytesLeft = (found: Buffer): number => {
  if (found.equals(ZEROS.subarray(0, found.length)) || found.equals(ONES.subarray(0, found.length))) return 0;
  let left = 0;
  for (const byte of found) if (byte !== 0 && byte !== 0xff) left += 1;
  // Zeros and ones mixed within one read are a pattern, and a pattern is data.
  return Math.max(left, 1);
};

export const readBack = async (disk: OpenDisk): Promise<ReadBack> => {
  const samples: DiskEvidence['samples'] = [];
  let read = 0;
  let left = 0;
  for (const range of rangesOf(disk.size_bytes)) {
    const hash = createHash('sha256');
    for (let done = 0; done < range.length; ) {
      const found = await disk.read(range.offset + done, Math.min(READ_BYTES, range.length - done));
      if (found.length === 0) break;
      hash.update(found);
      left += bytesLeft(found);
      done += found.length;
      read += found.length;
    }
    samples.push({ ...range, sha256: hash.digest('hex') });
  }
  return { bytes_read_back: read, bytes_not_erased: left, samples, signatures_left: [...(await disk.signatures())] };
};

/** Whether everything that was to be read was. */
export const isWhole = (found: ReadBack): boolean =>
  found.bytes_read_back > 0 && found.bytes_read_back === found.samples.reduce((sum, each) => sum + each.length, 0);
