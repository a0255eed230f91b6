import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WIPE_METHODS } from './candidate.ts';
import { meetsLevel, WIPE_LEVELS, wipeLevelOf } from './wipe.ts';

const level = fc.constantFrom(...WIPE_LEVELS);
const method = fc.constantFrom(...WIPE_METHODS);

test('every method has a level, and a stronger method never a lower one', () => {
  fc.assert(
    fc.property(method, method, (a, b) => {
      const [high, low] = [wipeLevelOf(a), wipeLevelOf(b)];
      assert.ok(high !== null && low !== null);
      // Methods are listed strongest first.
      if (WIPE_METHODS.indexOf(a) <= WIPE_METHODS.indexOf(b)) assert.ok(meetsLevel(high, low));
    }),
  );
});

test('a method that meets a level meets every lower level and its own', () => {
  fc.assert(
    fc.property(level, level, level, (have, asked, lower) => {
      assert.ok(meetsLevel(have, have));
      if (meetsLevel(have, asked) && meetsLevel(asked, lower)) assert.ok(meetsLevel(have, lower));
      if (meetsLevel(have, asked) && meetsLevel(asked, have)) assert.equal(have, asked);
    }),
  );
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
