import assert from 'node:assert/strict';
import { createHash, randomInt } from 'node:crypto';
import { test } from 'node:test';
import { readBackGap } from '@gpuaas/contract/node';
import fc from 'fast-check';
import type { OpenDisk } from '../host/host.ts';
import { isWhole, rangesOf, readBack } from './read-back.ts';

const MIB = 1024 * 1024;

test('both ends are read completely, samples lie within the disk, and a small disk is read completely', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 * 1024 * MIB }), fc.constantFrom('first', 'last', 'any'), (size, which) => {
      const place = { first: () => 0, last: (max: number) => max - 1, any: (max: number) => randomInt(max) }[which];
      const ranges = rangesOf(size, place);
      assert.equal(readBackGap(size, ranges), null, 'it is what the contract demands');
      assert.ok(ranges.every((range) => range.offset >= 0 && range.length > 0 && range.offset + range.length <= size));
      const [first] = ranges;
      const last = ranges.at(-1);
      assert.equal(first?.offset, 0);
      assert.equal((last?.offset ?? 0) + (last?.length ?? 0), size, 'the last byte is read');
      assert.ok((first?.length ?? 0) >= Math.min(size, 16 * MIB));
      assert.ok((last?.length ?? 0) >= Math.min(size, 16 * MIB));
      if (size <= 32 * MIB) assert.deepEqual(ranges, [{ offset: 0, length: size }]);
      // Direct reads start at a sector boundary.
      assert.ok(ranges.every((range) => range.offset % 4096 === 0));
    }),
  );
});

const diskOf = (bytes: Buffer, given: Partial<OpenDisk> = {}): OpenDisk => ({
  serial: 'S',
  major_minor: '259:0',
  size_bytes: bytes.length,
  wipe: async () => ({ command_status: 0 }),
  read: async (offset, length) => bytes.subarray(offset, offset + length),
  signatures: async () => [],
  close: async () => undefined,
  ...given,
});

test('zeros and ones count as wiped; any other byte or a mix of both counts as data', async () => {
  const left = async (bytes: Buffer) => (await readBack(diskOf(bytes))).bytes_not_erased;
  assert.equal(await left(Buffer.alloc(3 * MIB)), 0);
  assert.equal(await left(Buffer.alloc(3 * MIB, 0xff)), 0);
  const one = Buffer.alloc(3 * MIB);
  one[2 * MIB + 7] = 1;
  assert.equal(await left(one), 1);
  const pattern = Buffer.alloc(MIB);
  pattern.fill(0xff, 0, 4096);
  assert.ok((await left(pattern)) > 0);
});

test('the hashes are those of the bytes, zero or not', async () => {
  const bytes = Buffer.alloc(36 * MIB);
  bytes.fill('data', 3 * MIB + 5, 3 * MIB + 900);
  bytes.fill('end', 35 * MIB, 36 * MIB);
  for (const each of [bytes, Buffer.alloc(36 * MIB)])
    for (const { offset, length, sha256 } of (await readBack(diskOf(each))).samples)
      assert.equal(
        sha256,
        createHash('sha256')
          .update(each.subarray(offset, offset + length))
          .digest('hex'),
      );
});

test('a disk that returns fewer bytes than requested is not verified', async () => {
  const short = await readBack(diskOf(Buffer.alloc(MIB), { size_bytes: 2 * MIB }));
  assert.equal(isWhole(short, 2 * MIB), false);
  assert.equal(isWhole(await readBack(diskOf(Buffer.alloc(0))), 0), false, 'nothing read is nothing proven');
  const whole = await readBack(diskOf(Buffer.alloc(MIB)));
  assert.deepEqual([isWhole(whole, MIB), isWhole(whole, 2 * MIB)], [true, false]);
});
