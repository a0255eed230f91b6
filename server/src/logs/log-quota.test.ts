import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLogQuota } from './log-quota.ts';

const clockAt = (text: string) => {
  let now = Date.parse(text);
  return {
    now: () => new Date(now),
    set: (next: string) => {
      now = Date.parse(next);
    },
  };
};

describe('the log of a node', () => {
  it('is full after a number of lines: the rest of the day is dropped, reported once, and counted afterwards', () => {
    const clock = clockAt('2026-11-15T10:00:00Z');
    const quota = createLogQuota(clock, { lines: 3, bytes: 1000 });
    assert.deepEqual(quota.take('a', [1, 1]), { kept: 2, is_first_drop: false, dropped_before: 0 });
    assert.deepEqual(quota.take('a', [1, 1, 1]), { kept: 1, is_first_drop: true, dropped_before: 0 });
    assert.deepEqual(quota.take('a', [1]), { kept: 0, is_first_drop: false, dropped_before: 0 });
    assert.deepEqual(quota.take('b', [1]), { kept: 1, is_first_drop: false, dropped_before: 0 });
    clock.set('2026-11-16T00:00:00Z');
    assert.deepEqual(quota.take('a', [1]), { kept: 1, is_first_drop: false, dropped_before: 3 });
    assert.deepEqual(quota.take('a', [1]), { kept: 1, is_first_drop: false, dropped_before: 0 });
  });

  it('is full after a number of bytes, and a smaller line after a dropped one is dropped too', () => {
    const quota = createLogQuota(clockAt('2026-11-15T10:00:00Z'), { lines: 100, bytes: 1000 });
    assert.deepEqual(quota.take('a', [900, 200, 50]), { kept: 1, is_first_drop: true, dropped_before: 0 });
    assert.equal(quota.take('a', [10]).kept, 0);
  });
});
