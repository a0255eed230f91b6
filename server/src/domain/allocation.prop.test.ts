import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ALLOCATION_STATES, ENDED_ALLOCATION_STATES } from '@gpuaas/contract';
import fc from 'fast-check';
import { assertReached } from '../../../tools/test/reached.ts';
import {
  type AllocationState,
  allocationMoves,
  BILLING,
  billingEffect,
  isInCustody,
  isReleasable,
  OCCUPYING_ALLOCATION_STATES,
  STARTING_ALLOCATION_STATES,
  STATE_DEADLINE_S,
  sourcesOf,
} from './allocation.ts';

/** Any history: at each state one of its transitions, until a final state or the maximum length. */
const life = fc.array(fc.nat(), { maxLength: 30 }).map((choices) => {
  const path: AllocationState[] = ['requested'];
  for (const choice of choices) {
    const moves: readonly AllocationState[] = allocationMoves[path.at(-1) ?? 'requested'];
    const next = moves[choice % Math.max(1, moves.length)];
    if (next === undefined) break;
    path.push(next);
  }
  return path;
});

test('in every history time is charged exactly while active: opened on entry, closed on exit, at most once', () => {
  const seen = { opened: 0, closed: 0 };
  fc.assert(
    fc.property(life, (path) => {
      let open = false;
      let opened = 0;
      for (const [index, state] of path.entries()) {
        const before = path[index - 1];
        const effect = before === undefined ? 'none' : billingEffect(before, state);
        assert.notEqual(effect, undefined, `${before} -> ${state} has an effect`);
        if (effect === 'open') {
          assert.equal(open, false, 'two records are never open at once');
          open = true;
          opened += 1;
          seen.opened += 1;
        }
        if (effect === 'close') {
          assert.equal(open, true, 'only an open record closes');
          open = false;
          seen.closed += 1;
        }
        assert.equal(open, state === 'active');
      }
      assert.ok(opened <= 1, 'what was released is never active again');
    }),
    { numRuns: 500 },
  );
  assertReached(seen);
});

test('every state is one of a launch, of an allocation that occupies its host, or an end', () => {
  const parts = [...STARTING_ALLOCATION_STATES, ...OCCUPYING_ALLOCATION_STATES, ...ENDED_ALLOCATION_STATES];
  assert.deepEqual(parts.toSorted(), ALLOCATION_STATES.toSorted());
});

test('a transition that is not listed does not exist', () => {
  fc.assert(
    fc.property(fc.constantFrom(...ALLOCATION_STATES), fc.constantFrom(...ALLOCATION_STATES), (from, to) => {
      const isListed = (allocationMoves[from] as readonly string[]).includes(to);
      assert.equal(billingEffect(from, to) !== undefined, isListed);
      assert.equal(sourcesOf(to).includes(from), isListed);
    }),
  );
});

test('a release is accepted in every state that is not final', () => {
  for (const state of ALLOCATION_STATES) {
    assert.equal(isReleasable(state), state !== 'released' && state !== 'failed', state);
  }
});

test('every state that must be left has a deadline', () => {
  const open = ALLOCATION_STATES.filter((state) => STATE_DEADLINE_S[state] !== null);
  assert.deepEqual(open, ['requested', 'provisioning', 'releasing', 'failed', 'release_failed']);
});

test('the table in doc/architecture/allocation-states.md equals the table in the code', () => {
  const text = readFileSync(new URL('../../../doc/architecture/allocation-states.md', import.meta.url), 'utf8');
  const rows = text
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, from]) => (ALLOCATION_STATES as readonly string[]).includes(from ?? ''));
  assert.deepEqual(Object.fromEntries(rows.map(([, from, to, billing]) => [`${from} -> ${to}`, billing])), BILLING);
});

test('claims wait for a wipe proof from the end of use until the allocation is released', () => {
  assert.deepEqual(ALLOCATION_STATES.filter(isInCustody), ['releasing', 'failed', 'release_failed']);
});
