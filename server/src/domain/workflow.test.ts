import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  cancelRefusal,
  isHeldAtBoundary,
  isLive,
  type Plan,
  type RunFacts,
  retryRefusal,
  type StepResult,
  settle,
  WORKERS_KILLED_MAX,
  WORKERS_LOST_MAX,
  workflowMoves,
} from './workflow.ts';

const facts: RunFacts = {
  step: 'boot',
  attempt: 1,
  workers_lost: 0,
  workers_killed: 0,
  winding: null,
  cancel_requested: false,
  cancel_reason: null,
  overdue: false,
  state_detail: null,
};
const plan: Plan = { onCancel: null, onDeadline: null, onFailure: null, attemptsMax: 3, retryDelayMs: (n) => n * 100 };
const failure: StepResult = { kind: 'error', reason: 'Step boot failed.', detail: 'ECONNREFUSED' };
const outcomes = (move: ReturnType<typeof settle>) => move.entries.map((entry) => `${entry.step} ${entry.outcome}`);

test('a successful step starts the next one with its first attempt already counted', () => {
  const move = settle({ ...facts, attempt: 3 }, plan, { kind: 'next', step: 'check' });
  assert.deepEqual([move.state, move.step, move.attempt], ['running', 'check', 1]);
});

test('a failed and handled step continues, or ends the run with its reason, and the timeline records it', () => {
  const move = settle(facts, plan, { kind: 'next', step: 'check', failed: 'No boot.' });
  assert.deepEqual([move.state, move.step, outcomes(move)], ['running', 'check', ['boot failed']]);
  assert.equal(move.entries[0]?.detail, 'No boot.');
  const end = settle(facts, plan, { kind: 'done', failed: 'No boot.' });
  assert.deepEqual([end.state, end.reason, outcomes(end)], ['done', 'No boot.', ['boot failed']]);
});

test('a failed step waits for its backoff and keeps its count', () => {
  const move = settle({ ...facts, attempt: 2 }, plan, failure);
  assert.deepEqual([move.state, move.attempt, move.wake], ['waiting', 2, { kind: 'retry', ms: 200 }]);
  assert.equal(move.reason, 'Step boot failed. It is being retried (attempt 2 of 3).');
});

test('the last failed attempt is stuck with a plain reason and the error as detail', () => {
  const move = settle({ ...facts, attempt: 3 }, plan, failure);
  assert.deepEqual([move.state, move.step], ['stuck', 'boot']);
  assert.equal(move.reason, 'Step boot did not succeed in 3 attempts.');
  assert.equal(move.detail, 'ECONNREFUSED');
  // Where the step gave no detail, its reason is used.
  assert.equal(settle({ ...facts, attempt: 3 }, plan, { ...failure, detail: null }).detail, 'Step boot failed.');
});

test('a run that lost its worker again and again is stuck without another attempt and without cleanup', () => {
  const lost = { ...facts, workers_lost: WORKERS_LOST_MAX - 1, workers_killed: WORKERS_KILLED_MAX - 1 };
  assert.equal(isHeldAtBoundary(lost), false);
  assert.equal(isHeldAtBoundary({ ...lost, workers_lost: WORKERS_LOST_MAX }), true);
  const deadly = { ...facts, workers_lost: 5, workers_killed: WORKERS_KILLED_MAX };
  assert.equal(isHeldAtBoundary(deadly), true);
  const move = settle(deadly, { ...plan, onFailure: 'cleanUp' }, { kind: 'boundary' });
  assert.deepEqual([move.state, outcomes(move)], ['stuck', ['boot stuck']]);
  assert.match(move.reason ?? '', /worker process stopped 5 times while it ran step boot/);
});

test('a failure step takes over once when attempts run out', () => {
  const withStep = { ...plan, onFailure: 'cleanUp' };
  const move = settle({ ...facts, attempt: 3 }, withStep, failure);
  assert.deepEqual(
    [move.state, move.step, move.winding, move.extend_deadline],
    ['running', 'cleanUp', 'failure', true],
  );
  const again = settle({ ...facts, step: 'cleanUp', attempt: 3, winding: 'failure' }, withStep, failure);
  assert.equal(again.state, 'stuck');
});

test('cancellation stops the run between steps, after the step outcome is recorded', () => {
  const move = settle({ ...facts, cancel_requested: true }, plan, { kind: 'next', step: 'check' });
  assert.deepEqual([move.state, move.step, outcomes(move)], ['cancelled', 'check', ['boot next', 'check cancelled']]);
});

test('a cancelled run that cleans up ends cancelled, not done', () => {
  const withStep = { ...plan, onCancel: 'cleanUp' };
  const move = settle({ ...facts, cancel_requested: true }, withStep, { kind: 'wait', ms: 5, reason: 'booting' });
  assert.deepEqual([move.state, move.step, move.winding], ['running', 'cleanUp', 'cancel']);
  const winding = { ...facts, step: 'cleanUp', cancel_requested: true, winding: 'cancel' as const };
  assert.equal(settle(winding, withStep, { kind: 'done' }).state, 'cancelled');
  assert.equal(isHeldAtBoundary(winding), false);
});

test('the deadline makes a run stuck in its step, or sends it to its deadline step', () => {
  const late = { ...facts, overdue: true };
  assert.match(settle(late, plan, failure).reason ?? '', /deadline passed at step boot/);
  assert.equal(settle(late, plan, failure).state, 'stuck');
  const move = settle(late, { ...plan, onDeadline: 'cleanUp' }, { kind: 'next', step: 'check' });
  assert.deepEqual([move.state, move.step, move.winding], ['running', 'cleanUp', 'deadline']);
  assert.equal(settle({ ...late, winding: 'deadline' }, plan, { kind: 'next', step: 'check' }).state, 'stuck');
});

test('a step that ends the run wins over cancellation and deadline', () => {
  const pressed = { ...facts, overdue: true, cancel_requested: true };
  assert.equal(settle(pressed, plan, { kind: 'done' }).state, 'done');
  assert.equal(settle(pressed, plan, { kind: 'stuck', reason: 'no' }).reason, 'no');
});

const anyFacts = fc.record({
  step: fc.constantFrom('boot', 'check', 'cleanUp'),
  attempt: fc.integer({ min: 1, max: 3 }),
  workers_lost: fc.constantFrom(0, 1, 5, WORKERS_LOST_MAX),
  workers_killed: fc.constantFrom(0, 1, WORKERS_KILLED_MAX),
  winding: fc.constantFrom(null, 'cancel', 'deadline', 'failure'),
  cancel_requested: fc.boolean(),
  cancel_reason: fc.constantFrom(null, 'not needed'),
  overdue: fc.boolean(),
  state_detail: fc.constant(null),
});
const anyPlan = fc.record({
  onCancel: fc.constantFrom(null, 'cleanUp'),
  onDeadline: fc.constantFrom(null, 'cleanUp'),
  onFailure: fc.constantFrom(null, 'cleanUp'),
  attemptsMax: fc.constant(3),
  retryDelayMs: fc.constant(() => 10),
});
const anyResult = fc.constantFrom<StepResult>(
  { kind: 'next', step: 'check' },
  { kind: 'wait', ms: 10, reason: 'booting' },
  { kind: 'wait_for_signal', name: 'go', timeout_ms: 10, reason: 'waiting' },
  { kind: 'done' },
  { kind: 'stuck', reason: 'no' },
  failure,
  { kind: 'timeout', reason: 'too slow', detail: null },
);

test('every transition is in the table, waits have a timer, stuck has a reason, the timeline a line', () => {
  fc.assert(
    fc.property(anyFacts, anyPlan, anyResult, (run, anyOf, result) => {
      const move = settle(run, anyOf, result);
      assert.ok((workflowMoves.running as readonly string[]).includes(move.state));
      assert.equal(move.state === 'waiting', move.wake !== null);
      assert.ok(move.state !== 'stuck' || move.reason !== null);
      assert.ok(move.entries.length >= 1);
      // Cleanup is entered at most once: a run that is winding up cannot enter it again.
      assert.ok(run.winding === null || move.winding === run.winding);
      assert.equal(move.extend_deadline, run.winding === null && move.winding !== null);
    }),
  );
});

test('final states are final: only stuck can be left, by a retry or because a later run replaced it', () => {
  for (const [state, moves] of Object.entries(workflowMoves))
    if (!isLive(state as keyof typeof workflowMoves))
      assert.deepEqual([...moves], state === 'stuck' ? ['pending', 'cancelled'] : []);
});

test('only a stuck run is retried, and only a live one cancelled, once', () => {
  for (const state of Object.keys(workflowMoves) as (keyof typeof workflowMoves)[]) {
    assert.equal(retryRefusal({ state }) === null, state === 'stuck');
    assert.equal(cancelRefusal({ state, is_cancelling: false }) === null, isLive(state));
    assert.equal(cancelRefusal({ state, is_cancelling: true })?.is_done, isLive(state));
  }
});

test('a run that was wound down states what ended it', () => {
  const ended = (winding: 'cancel' | 'deadline' | 'failure') => settle({ ...facts, winding }, plan, { kind: 'done' });
  assert.equal(ended('cancel').state, 'cancelled');
  assert.deepEqual([ended('deadline').state, ended('deadline').reason], ['done', 'Cleaned up after its deadline.']);
  assert.deepEqual([ended('failure').state, ended('failure').reason], ['done', 'Cleaned up after a failure.']);
});
