import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countCpus } from './cpu-list.ts';

test('the CPUs of a list are counted: ranges with both ends, and single ones', () => {
  assert.deepEqual(['', '7', '0-55', '0-55,112-167', '0,2,4-5'].map(countCpus), [0, 1, 56, 112, 4]);
});
