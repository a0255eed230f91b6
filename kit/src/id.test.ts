import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mintId } from './id.ts';

test('ids have the grammar of the contract and sort by creation time', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('org', 'evt', 'alc'),
      fc.nat(2 ** 40),
      fc.integer({ min: 1, max: 1_000_000 }),
      (prefix, at, later) => {
        const [first, second] = [mintId(prefix, at), mintId(prefix, at + later)];
        assert.match(first, /^[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}$/);
        assert.ok(first < second);
      },
    ),
  );
});

test('ids of one millisecond do not repeat', () => {
  assert.equal(new Set(Array.from({ length: 20_000 }, () => mintId('tst', 1))).size, 20_000);
});
