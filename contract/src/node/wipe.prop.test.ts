import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertReached } from '../../../tools/test/reached.ts';
import { WIPE_METHODS } from './candidate.ts';
import { meetsLevel, WIPE_LEVELS, wipeLevelOf } from './wipe.ts';

const level = fc.constantFrom(...WIPE_LEVELS);
const method = fc.constantFrom(...WIPE_METHODS);

test('every method has a level, and a stronger method never a lower one', () => {
  const counts = { stronger: 0, weaker: 0 };
  fc.assert(
    fc.property(method, method, (a, b) => {
      const [high, low] = [wipeLevelOf(a), wipeLevelOf(b)];
      assert.ok(high !== null && low !== null);
      // Methods are listed strongest first.
      const isStronger = WIPE_METHODS.indexOf(a) <= WIPE_METHODS.indexOf(b);
      counts[isStronger ? 'stronger' : 'weaker']++;
      if (isStronger) assert.ok(meetsLevel(high, low));
    }),
  );
  assertReached(counts, 10);
});

test('a method that meets a level meets every lower level and its own', () => {
  const counts = { chains: 0, equals: 0, unmet: 0 };
  fc.assert(
    fc.property(level, level, level, (have, asked, lower) => {
      assert.ok(meetsLevel(have, have));
      if (!meetsLevel(have, asked)) {
        counts.unmet++;
        return;
      }
      if (meetsLevel(asked, lower)) {
        counts.chains++;
        assert.ok(meetsLevel(have, lower));
      }
      if (meetsLevel(asked, have)) {
        counts.equals++;
        assert.equal(have, asked);
      }
    }),
  );
  assertReached(counts, 10);
  assert.deepEqual([meetsLevel('clear', 'purge'), meetsLevel('purge', 'clear')], [false, true]);
});

test('an unknown method has no level and meets none', () => {
  fc.assert(
    fc.property(fc.string(), level, (unknown, asked) => {
      fc.pre(!(WIPE_METHODS as readonly string[]).includes(unknown));
      assert.equal(meetsLevel(wipeLevelOf(unknown), asked), false);
    }),
  );
  for (const word of ['constructor', '__proto__', 'toString']) assert.equal(wipeLevelOf(word), null);
});
