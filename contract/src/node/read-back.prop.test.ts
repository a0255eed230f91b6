import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertReached } from '../../../tools/test/reached.ts';
import { READ_BACK, readBackFloor, readBackGap } from './read-back.ts';

const MIB = 1024 * 1024;
const size = fc.oneof(fc.integer({ min: 1, max: 80 * MIB }), fc.integer({ min: 80 * MIB, max: 64 * 1024 ** 4 }));

/** Exactly the minimum: a sample at the start of each range. */
const least = (bytes: number) => readBackFloor(bytes).map((range) => ({ offset: range.offset, length: range.bytes }));

test('the minimum samples span the disk from first to last byte in order, and reading them is sufficient', () => {
  const counts = { small: 0, large: 0 };
  fc.assert(
    fc.property(size, (bytes) => {
      const floor = readBackFloor(bytes);
      let at = 0;
      for (const range of floor) {
        assert.equal(range.offset, at);
        assert.ok(range.bytes > 0 && range.bytes <= range.length);
        at += range.length;
      }
      assert.equal(at, bytes);
      assert.equal(readBackGap(bytes, least(bytes)), null);
      counts[bytes <= 32 * MIB ? 'small' : 'large']++;
      if (bytes <= 32 * MIB)
        assert.deepEqual(least(bytes), [{ offset: 0, length: bytes }], 'a small disk is read whole');
    }),
  );
  assertReached(counts, 5);
});

test('one byte less than the minimum, anywhere, is not sufficient', () => {
  fc.assert(
    fc.property(size, fc.nat(), fc.boolean(), (bytes, which, isAtEnd) => {
      const samples = least(bytes);
      const place = which % samples.length;
      const { offset, length } = samples[place] ?? { offset: 0, length: 1 };
      const shorter = isAtEnd ? { offset, length: length - 1 } : { offset: offset + 1, length: length - 1 };
      assert.match(readBackGap(bytes, samples.with(place, shorter)) ?? '', /Too little/);
      assert.match(readBackGap(bytes, samples.toSpliced(place, 1)) ?? '', /Too little/);
    }),
  );
});

test('reading one region any number of times does not replace another region', () => {
  const bytes = 1024 ** 4;
  const half = Array.from({ length: 512 }, (_, n) => ({ offset: n * MIB, length: MIB }));
  assert.match(readBackGap(bytes, half) ?? '', /Too little/);
  const twice = least(bytes).map((one, n, all) => (n === 5 ? (all[4] ?? one) : one));
  assert.match(readBackGap(bytes, twice) ?? '', /Too little/, 'what was read twice counts once');
});

test('order and overlap of samples do not matter, and reading more never invalidates the check', () => {
  fc.assert(
    fc.property(size, fc.nat(), fc.nat(), (bytes, from, count) => {
      const extra = { offset: from % bytes, length: Math.min(count, bytes - (from % bytes)) };
      assert.equal(readBackGap(bytes, [...least(bytes), extra].toReversed()), null);
    }),
  );
});

test('no samples, a disk without a size, and samples outside the disk are never sufficient', () => {
  assert.match(readBackGap(4096, []) ?? '', /Too little/);
  assert.match(readBackGap(0, []) ?? '', /no size/);
  assert.match(readBackGap(4096, [{ offset: 0, length: 8192 }]) ?? '', /outside/);
  assert.match(readBackGap(4096, [{ offset: -1, length: 4096 }]) ?? '', /outside/);
});

test('a large disk is read at both ends and in every region', () => {
  const floor = readBackFloor(7_681_501_126_656);
  assert.equal(floor.length, READ_BACK.region_count + 2);
  assert.equal(
    floor.reduce((sum, { bytes }) => sum + bytes, 0),
    34 * MIB,
  );
});
