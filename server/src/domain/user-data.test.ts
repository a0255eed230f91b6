import assert from 'node:assert/strict';
import { test } from 'node:test';
import { userDataProblem } from './user-data.ts';

test('user data may have 65,536 bytes, counted as UTF-8', () => {
  assert.equal(userDataProblem('é'.repeat(32_768)), null);
  assert.equal(userDataProblem(`${'é'.repeat(32_768)}x`), 'is larger than 65536 bytes');
});

test('user data with an unpaired surrogate is refused', () => {
  assert.equal(userDataProblem('\ud800'), 'is not text');
});
