import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentsConfirm, type ClockFacts, type ClockReading, clockStepMs, judgeClock } from './clock-guard.ts';

const HOUR = 3_600_000;
const at = (database_ms: number, monotonic_ms: number, took_ms = 0): ClockReading => ({
  database_ms,
  before_ms: monotonic_ms,
  after_ms: monotonic_ms + took_ms,
});
const nobody = { known: 4, expected: 4, reported: 0, agreeing: 0 };
const guard = { seen_ms: 0, is_held: false, version: 1 };
const judge = (over: Partial<ClockFacts>) =>
  judgeClock({ guard, now: at(0, 0), trusted: undefined, agents: nobody, ...over });
const trusted = { reading: at(0, 0), version: 1 };

test('only what the time of the process cannot explain is a step', () => {
  assert.equal(clockStepMs(at(0, 0), at(2_000, 2_000)), 0);
  assert.equal(clockStepMs(at(0, 0, 500), at(2_000, 1_800, 900)), 0, 'a slow reading explains it');
  assert.equal(clockStepMs(at(0, 0), at(HOUR, 2_000)), HOUR - 2_000);
  assert.equal(clockStepMs(at(HOUR, 0), at(0, 2_000)), -HOUR - 2_000);
});

test('a step ahead of more than five minutes holds; a smaller one and a step back do not', () => {
  assert.deepEqual(judge({ now: at(6 * HOUR, 0), trusted }), {
    kind: 'hold',
    step_ms: 6 * HOUR,
    reason: 'The clock of the database stepped 6 hours ahead.',
  });
  assert.deepEqual(judge({ now: at(300_000, 0), trusted }), { kind: 'trusted', step_ms: 300_000 });
  assert.deepEqual(judge({ now: at(-HOUR, 0), trusted }), { kind: 'trusted', step_ms: -HOUR });
});

test('a new process accepts the first time ever and a short pause; a longer one holds', () => {
  assert.deepEqual(judge({ guard: undefined, now: at(HOUR, 0) }), { kind: 'trusted', step_ms: 0 });
  assert.equal(judge({ now: at(240_000, 0) }).kind, 'trusted');
  assert.deepEqual(judge({ now: at(HOUR / 2, 0) }), {
    kind: 'hold',
    step_ms: HOUR / 2,
    reason: 'The clock of the database moved 30 minutes while no worker checked it.',
  });
});

test('a hold ends when agents agree or the clock returns, and a confirmed time is not held again', () => {
  const held = { ...guard, is_held: true, version: 2 };
  const now = at(6 * HOUR, 0);
  assert.deepEqual(judge({ guard: held, now, trusted }), { kind: 'held' });
  assert.deepEqual(judge({ guard: held, now }), { kind: 'held' });
  const agents = { known: 4, expected: 4, reported: 3, agreeing: 2 };
  assert.deepEqual(judge({ guard: held, now, trusted, agents }), { kind: 'end', by: 'agents' });
  assert.deepEqual(judge({ guard: held, now: at(1_000, 1_000), trusted }), { kind: 'end', by: 'clock' });
  assert.deepEqual(judge({ guard: { ...guard, version: 3 }, now, trusted }), { kind: 'trusted', step_ms: 0 });
});

test('agents confirm when enough reported and most of them agree; without hosts nothing is to protect', () => {
  const confirm = (expected: number, reported: number, agreeing: number, known = expected) =>
    agentsConfirm({ known, expected, reported, agreeing });
  assert.deepEqual([confirm(0, 0, 0), confirm(1, 1, 1), confirm(2, 1, 1), confirm(40, 3, 2)], Array(4).fill(true));
  assert.deepEqual([confirm(1, 0, 0), confirm(40, 2, 2), confirm(40, 4, 2), confirm(3, 1, 1)], Array(4).fill(false));
  assert.deepEqual(
    [confirm(1, 1, 1, 40), confirm(0, 0, 0, 40)],
    [true, false],
    'hosts that were offline are not waited for',
  );
});
