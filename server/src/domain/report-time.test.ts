import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FUTURE_REPORT, isFromFuture } from './report-time.ts';

test('a report is from the future when its clock is more than 5 minutes ahead', () => {
  const now = new Date('2026-01-01T00:00:00Z');
  assert.equal(isFromFuture({ observed_at: '2025-12-31T00:00:00Z' }, now), false);
  assert.equal(isFromFuture({ observed_at: '2026-01-01T00:05:00Z' }, now), false);
  assert.equal(isFromFuture({ observed_at: '2026-01-01T00:05:00.001Z' }, now), true);
  assert.equal(
    FUTURE_REPORT,
    'The report time differs from the server time by more than 5 minutes. Correct the clock of the host.',
  );
});
