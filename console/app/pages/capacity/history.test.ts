import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seriesOf, sinceOf, spanOf } from './history.ts';

test('an unknown time range defaults to one day', () => {
  assert.equal(spanOf('7 d').ms, 604_800_000);
  assert.equal(spanOf('soon').name, '1 d');
});

test('the start of the range is rounded to the minute, so that a repeated query is the same', () => {
  const now = Date.parse('2026-11-15T12:00:30Z');
  assert.equal(sinceOf(spanOf('1 d'), now), '2026-11-14T12:00:00.000Z');
  assert.equal(sinceOf(spanOf('1 d'), now + 20_000), sinceOf(spanOf('1 d'), now));
});

test('each value of a sample becomes its own line in the chart', () => {
  const sample = (hour: number, active_gpus: number) => ({
    sampled_at: `2026-11-15T0${hour}:00:00Z`,
    region_name: 'r',
    gpu_model: 'H200',
    delivered_gpus: 16,
    healthy_gpus: 15,
    reserved_gpus: 9,
    active_gpus,
    free_gpus: 6,
  });
  const { times, lines } = seriesOf([sample(1, 4), sample(2, 8)]);
  assert.deepEqual(times, [Date.parse('2026-11-15T01:00:00Z') / 1000, Date.parse('2026-11-15T02:00:00Z') / 1000]);
  assert.deepEqual(lines[3], [4, 8]);
});
