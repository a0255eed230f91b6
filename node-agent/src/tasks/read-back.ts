/**
 * Reads a disk back after a wipe: both ends, a sample at a random place of each region between them, and a scan for
 * signatures. The contract defines the amounts.
 *
 * Two rules define what counts as wiped. `blank`: zeros or, on some disks, ones; any other byte counts as left. It
 * applies to every method. `changed`: a cryptographic erase destroys the key, and the disk may then return random
 * content. That content must be new: the same places are read before the wipe, and each block afterwards must be blank,
 * or differ from before and be incompressible. Kept data fails the first test, moved data the second.
 */
import { createHash, type Hash, randomInt } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { type DiskEvidence, type DiskRange, readBackFloor, readBackGap } from '@gpuaas/contract/node';
import type { OpenDisk } from '../host/host.ts';

export type ReadBack = Pick<DiskEvidence, 'bytes_read_back' | 'bytes_not_erased' | 'samples' | 'signatures_left'> &
  Readonly<{ rule: 'blank' | 'changed'; blocks_changed: number }>;
type Range = DiskRange;
/** The content of the sampled places before the wipe, block by block. */
export type Before = Readonly<{ ranges: readonly Range[]; blocks: ReadonlyMap<number, string> }>;

const READ_BYTES = 1024 * 1024;
const AHEAD = 4;
const BLOCK_BYTES = 4096;
/** Random data does not compress. */
const RANDOM_RATIO = 0.99;

/** The places to read: as much as the contract demands, at an unpredictable place in each region. */
export const rangesOf = (size: number, random: (max: number) => number = randomInt): readonly Range[] =>
  readBackFloor(size)
    .filter(({ length }) => length > 0)
    .map(({ offset, length, bytes }) => {
      // Direct reads start at a sector boundary.
      if (bytes === length) {
        const start = Math.floor(offset / BLOCK_BYTES) * BLOCK_BYTES;
        return { offset: start, length: offset + length - start };
      }
      const first = Math.ceil(offset / BLOCK_BYTES);
      const last = Math.floor((offset + length - bytes) / BLOCK_BYTES);
      return { offset: (first + random(last - first + 1)) * BLOCK_BYTES, length: bytes };
    });

const ZEROS = Buffer.alloc(READ_BYTES);
const ONES = Buffer.alloc(READ_BYTES, 0xff);
const isZero = (found: Buffer): boolean => found.equals(ZEROS.subarray(0, found.length));
const isBlank = (found: Buffer): boolean => isZero(found) || found.equals(ONES.subarray(0, found.length));
const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64');

const bytesLeft = (found: Buffer): number => {
  let left = 0;
  for (const byte of found) if (byte !== 0 && byte !== 0xff) left += 1;
  // Zeros and ones mixed within one read are a pattern, and a pattern is data.
  return Math.max(left, 1);
};

/** Of the blocks that are not blank, those that are unchanged or look like data. */
const checkRandom = (found: Buffer, offset: number, before: Before): Readonly<{ left: number; changed: number }> => {
  const changed: Buffer[] = [];
  let left = 0;
  for (let at = 0; at < found.length; at += BLOCK_BYTES) {
    const block = found.subarray(at, at + BLOCK_BYTES);
    if (isBlank(block)) continue;
    if (before.blocks.get(offset + at) === hashOf(block)) left += block.length;
    else changed.push(block);
  }
  const noise = Buffer.concat(changed);
  const isRandom = deflateRawSync(noise, { level: 1 }).length >= noise.length * RANDOM_RATIO;
  return isRandom ? { left, changed: changed.length } : { left: left + noise.length, changed: 0 };
};

/** Reads a few pieces ahead, so that the disk works while earlier pieces are checked. */
async function* piecesOf(disk: OpenDisk, ranges: readonly Range[]) {
  const pieces = ranges.flatMap((range, index) =>
    Array.from({ length: Math.ceil(range.length / READ_BYTES) }, (_, n) => ({
      index,
      offset: range.offset + n * READ_BYTES,
      length: Math.min(READ_BYTES, range.length - n * READ_BYTES),
    })),
  );
  const ahead: Promise<Buffer>[] = [];
  const readNext = (n: number): void => {
    const piece = pieces[n];
    if (piece === undefined) return;
    const bytes = disk.read(piece.offset, piece.length);
    bytes.catch(() => undefined);
    ahead.push(bytes);
  };
  for (let n = 0; n < AHEAD; n++) readNext(n);
  for (const [n, piece] of pieces.entries()) {
    const bytes = await ahead.shift();
    readNext(n + AHEAD);
    if (bytes !== undefined) yield { ...piece, bytes };
  }
}

const zeroHashes = new Map<number, string>();

/** The hash of a range. Zeros are only counted: the hash of a number of zeros is computed once. */
const createRangeHash = () => {
  let zeros = 0;
  let hash: Hash | undefined;
  const feedZeros = (into: Hash): Hash => {
    for (; zeros > 0; zeros -= Math.min(zeros, READ_BYTES)) into.update(ZEROS.subarray(0, Math.min(zeros, READ_BYTES)));
    return into;
  };
  return {
    add: (bytes: Buffer, areZeros: boolean): void => {
      if (areZeros && hash === undefined) zeros += bytes.length;
      else {
        hash ??= feedZeros(createHash('sha256'));
        hash.update(bytes);
      }
    },
    end: (): string => {
      if (hash !== undefined) return hash.digest('hex');
      const length = zeros;
      const known = zeroHashes.get(length) ?? feedZeros(createHash('sha256')).digest('hex');
      zeroHashes.set(length, known);
      return known;
    },
  };
};

export const readBefore = async (disk: OpenDisk): Promise<Before> => {
  const ranges = rangesOf(disk.size_bytes);
  const blocks = new Map<number, string>();
  for await (const { offset, bytes } of piecesOf(disk, ranges))
    for (let at = 0; at < bytes.length; at += BLOCK_BYTES)
      blocks.set(offset + at, hashOf(bytes.subarray(at, at + BLOCK_BYTES)));
  return { ranges, blocks };
};

/** With the earlier content given, new random data counts as wiped. */
export const readBack = async (disk: OpenDisk, before?: Before): Promise<ReadBack & Readonly<{ is_zero: boolean }>> => {
  const ranges = before?.ranges ?? rangesOf(disk.size_bytes);
  const hashes = ranges.map(createRangeHash);
  let read = 0;
  let left = 0;
  let changed = 0;
  let areZeros = true;
  for await (const { index, offset, bytes } of piecesOf(disk, ranges)) {
    const isZeroPiece = isZero(bytes);
    hashes[index]?.add(bytes, isZeroPiece);
    read += bytes.length;
    if (isZeroPiece) continue;
    areZeros = false;
    if (isBlank(bytes)) continue;
    if (before === undefined) left += bytesLeft(bytes);
    else {
      const judged = checkRandom(bytes, offset, before);
      left += judged.left;
      changed += judged.changed;
    }
  }
  return {
    bytes_read_back: read,
    bytes_not_erased: left,
    samples: ranges.map((range, index) => ({ ...range, sha256: hashes[index]?.end() ?? '' })),
    signatures_left: [...(await disk.signatures())],
    rule: changed > 0 ? 'changed' : 'blank',
    blocks_changed: changed,
    is_zero: areZeros && read > 0,
  };
};

/** Whether everything was read that the contract requires for a disk of this size. */
export const isWhole = (found: ReadBack, sizeBytes: number): boolean =>
  found.bytes_read_back === found.samples.reduce((sum, each) => sum + each.length, 0) &&
  readBackGap(sizeBytes, found.samples) === null;
