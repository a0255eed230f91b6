import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approvalRefusal } from './quota-request.ts';

test('an approval only ever raises the limit', () => {
  assert.equal(approvalRefusal(1, 2), null);
  for (const [current, granted] of [
    [2, 2],
    [3, 2],
    [null, 2],
  ] as const)
    assert.match(approvalRefusal(current, granted) ?? '', /Reject the request/);
});
