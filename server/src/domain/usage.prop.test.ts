import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { costSince, costSoFar, monthStart, usageCost } from './usage.ts';

const HOUR = 3_600_000_000n;
const usage = fc.record({
  gpu_count: fc.integer({ min: 1, max: 64 }),
  gpu_hourly_price_minor: fc.integer({ min: 0, max: 1_000_000 }),
});
const micros = fc.bigInt({ min: 0n, max: 10n * 365n * 24n * HOUR });

test('cost is GPUs x price x hours to the cent, rounded half up once', () => {
  const slice = { gpu_count: 1, gpu_hourly_price_minor: 450 };
  assert.equal(usageCost(slice, HOUR), 450n);
  assert.equal(usageCost({ ...slice, gpu_count: 8 }, 24n * HOUR), 86_400n);
  assert.equal(usageCost(slice, 0n), 0n);
  // 4 seconds are exactly half a cent; a microsecond less is not.
  assert.equal(usageCost(slice, 4_000_000n), 1n);
  assert.equal(usageCost(slice, 3_999_999n), 0n);
  assert.equal(usageCost(slice, 12_000_000n), 2n);
});

test('time that runs backwards costs nothing', () => {
  fc.assert(fc.property(usage, micros, (use, time) => usageCost(use, -time) === 0n));
});

test('more time never costs less', () => {
  fc.assert(fc.property(usage, micros, micros, (use, a, b) => usageCost(use, a + b) >= usageCost(use, a)));
});

test('two parts cost as much as the whole, within one cent of rounding', () => {
  fc.assert(
    fc.property(usage, micros, micros, (use, a, b) => {
      const apart = usageCost(use, a) + usageCost(use, b) - usageCost(use, a + b);
      assert.ok(apart >= -1n && apart <= 1n, `${apart}`);
    }),
  );
});

test('the cost is within half a cent of the exact value, and a tie rounds up', () => {
  fc.assert(
    fc.property(usage, micros, (use, time) => {
      const exact2 = 2n * BigInt(use.gpu_count) * BigInt(use.gpu_hourly_price_minor) * time;
      const gap = 2n * HOUR * usageCost(use, time) - exact2;
      assert.ok(gap > -HOUR && gap <= HOUR);
    }),
  );
});

test('a closed record has its closing cost, an open one its cost until now', () => {
  const row = { gpu_count: 2, gpu_hourly_price_minor: 450, started_at: '2026-01-01T00:00:00.000Z' };
  const now = Date.parse('2026-01-01T02:00:00.000Z');
  assert.equal(costSoFar({ ...row, cost_minor: null }, now), 1_800);
  assert.equal(costSoFar({ ...row, cost_minor: 7 }, now), 7);
  assert.equal(costSoFar({ ...row, cost_minor: null }, now - 3 * 3_600_000), 0);
});

test('a month begins with its first moment in UTC', () => {
  const ms = fc.integer({ min: 0, max: Date.UTC(2100, 0) });
  fc.assert(
    fc.property(ms, (now) => {
      const start = new Date(monthStart(now));
      assert.equal(start.toISOString().slice(0, 7), new Date(now).toISOString().slice(0, 7));
      assert.equal(start.toISOString().slice(7), '-01T00:00:00.000Z');
    }),
  );
});

test('the monthly parts of a record add up to its cost, and one that began in the month counts as listed', () => {
  const day = 24 * 3_600_000;
  const begin = Date.UTC(2026, 0, 15, 3, 7, 11, 13);
  fc.assert(
    fc.property(
      usage,
      fc.array(fc.integer({ min: 1, max: 90 * day }), { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      (use, gaps, isClosed) => {
        let at = begin;
        const cuts = gaps.map((gap) => (at += gap));
        const end = cuts.at(-1) ?? begin;
        const open = { ...use, started_at: new Date(begin).toISOString(), cost_minor: null };
        const record = { ...open, cost_minor: isClosed ? costSoFar(open, end) : null };
        assert.equal(costSince(record, begin - day, end), costSoFar(record, end));
        const parts = cuts.map((cut, n) => costSince(n === cuts.length - 1 ? record : open, cuts[n - 1] ?? begin, cut));
        assert.equal(
          parts.reduce((sum, part) => sum + part, 0),
          costSoFar(record, end),
        );
      },
    ),
  );
});

test('a record that closed within the rounding of an instant costs nothing after it', () => {
  const record = { gpu_count: 1, gpu_hourly_price_minor: 450, started_at: '2026-01-31T23:00:00.000Z', cost_minor: 449 };
  assert.equal(costSince(record, Date.UTC(2026, 1), Date.UTC(2026, 1, 2)), 0);
});
