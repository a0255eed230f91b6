import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  cleanupSeconds,
  EXPECTED_ENTRIES_MAX,
  EXPECTED_STEP_S,
  expectedEntries,
  expectedSentence,
  type HeldNode,
  type HoldingClaim,
  nextExpected,
} from './expected-capacity.ts';

const NOW = Date.parse('2026-11-15T10:00:00.000Z');
const CLEANUP = { gpu_slice: 300, baremetal: 600 };
const SHAPES = ['gpu_slice', 'baremetal'] as const;
const at = (minutes: number): string => new Date(NOW + minutes * 60_000).toISOString();

const aClaim = (facts: Partial<HoldingClaim> = {}): HoldingClaim => ({
  slots: [0, 1],
  shape: 'gpu_slice',
  state: 'active',
  is_protected: false,
  release_at: at(60),
  release_requested_at: null,
  is_left: false,
  ...facts,
});
const aNode = (facts: Partial<HeldNode> = {}): HeldNode => ({
  gpu_count: 8,
  capacity_mode: 'flexible',
  is_held: false,
  is_validated: true,
  free_gpus: 6,
  fit_slots: [0, 1, 2, 3, 4, 5, 6, 7],
  claims: [aClaim()],
  ...facts,
});
const slices = (...nodes: HeldNode[]) => expectedEntries(nodes, 'gpu_slice', NOW, CLEANUP);
const whole = (...nodes: HeldNode[]) => expectedEntries(nodes, 'baremetal', NOW, CLEANUP);

const minute = fc.integer({ min: -200, max: 4_000 });
const claim: fc.Arbitrary<HoldingClaim> = fc.record({
  slots: fc.option(fc.subarray([0, 1, 2, 3, 4, 5, 6, 7])),
  shape: fc.constantFrom(...SHAPES),
  state: fc.constantFrom('requested', 'active', 'releasing', 'release_failed'),
  is_protected: fc.boolean(),
  release_at: fc.option(minute.map(at)),
  release_requested_at: fc.option(minute.map(at)),
  is_left: fc.boolean(),
});
const node: fc.Arbitrary<HeldNode> = fc.record({
  gpu_count: fc.constant(8),
  capacity_mode: fc.constantFrom('slice', 'baremetal', 'flexible'),
  is_held: fc.boolean(),
  is_validated: fc.boolean(),
  free_gpus: fc.integer({ min: 0, max: 8 }),
  fit_slots: fc.subarray([0, 1, 2, 3, 4, 5, 6, 7]),
  claims: fc.array(claim, { maxLength: 4 }),
});

test('an allocation with a maximum duration is expected after its cleanup, by the next quarter of an hour', () => {
  assert.deepEqual(slices(aNode()), [{ at: at(75), kind: 'release', gpus: 2, largest: 8 }]);
  const running = aClaim({ state: 'releasing', release_at: null, release_requested_at: at(-1) });
  assert.deepEqual(slices(aNode({ claims: [running] })), [{ at: at(15), kind: 'cleanup', gpus: 2, largest: 8 }]);
});

test('nothing is expected of an allocation that is protected, has no end, or whose cleanup takes longer than usual', () => {
  for (const facts of [
    { is_protected: true },
    { release_at: null },
    { state: 'releasing', release_requested_at: at(-6) },
    { state: 'release_failed', release_requested_at: at(0) },
    { state: 'requested' },
    { is_left: true },
  ])
    assert.deepEqual([...slices(aNode({ claims: [aClaim(facts)] })), ...whole(aNode({ claims: [aClaim(facts)] }))], []);
});

test('claims of one node that end together are one entry', () => {
  const claims = [aClaim(), aClaim({ slots: [2, 3, 4], release_at: at(61) })];
  assert.deepEqual(slices(aNode({ claims, free_gpus: 3 })), [{ at: at(75), kind: 'release', gpus: 5, largest: 8 }]);
});

test('the entries of one node are in the order of their times, however its claims are', () => {
  const claims = [90, 0, 60].map((minutes, slot) => aClaim({ slots: [slot], release_at: at(minutes) }));
  for (const inOrder of [claims, claims.toReversed()])
    assert.deepEqual(
      slices(aNode({ claims: inOrder })).map((entry) => entry.at),
      [at(15), at(75), at(105)],
    );
});

test('a whole node is expected when the last of its claims ends, and only if the end of each is known', () => {
  const later = aClaim({ slots: [2], state: 'releasing', release_requested_at: at(0) });
  assert.deepEqual(whole(aNode({ claims: [aClaim(), later] })), [{ at: at(75), kind: 'release', gpus: 8, largest: 8 }]);
  assert.deepEqual(whole(aNode({ claims: [aClaim(), aClaim({ release_at: null })] })), []);
  assert.deepEqual(whole(aNode({ capacity_mode: 'slice' })), []);
});

test('slots that nothing could launch on are not expected', () => {
  assert.deepEqual(slices(aNode({ fit_slots: [1, 5] })), [{ at: at(75), kind: 'release', gpus: 1, largest: 7 }]);
  for (const facts of [{ fit_slots: [5] }, { is_held: true }, { is_validated: false }])
    assert.deepEqual(slices(aNode(facts)), [], JSON.stringify(facts));
});

test('every time is in the future, on a quarter of an hour, in order and once per kind, whatever the fleet', () => {
  fc.assert(
    fc.property(fc.array(node, { maxLength: 6 }), fc.constantFrom(...SHAPES), (nodes, shape) => {
      const entries = expectedEntries(nodes, shape, NOW, CLEANUP);
      assert.ok(entries.length <= EXPECTED_ENTRIES_MAX);
      const keys = entries.map((entry) => `${entry.at} ${entry.kind}`);
      assert.deepEqual(keys, [...new Set(keys)].sort());
      for (const entry of entries) {
        assert.ok(Date.parse(entry.at) > NOW);
        assert.equal(Date.parse(entry.at) % (EXPECTED_STEP_S * 1_000), 0);
        assert.ok(entry.gpus >= 1 && entry.gpus <= nodes.length * 8 * 4);
        assert.deepEqual(Object.keys(entry).sort(), ['at', 'gpus', 'kind', 'largest'], 'no name and no id');
      }
    }),
  );
});

test('more nodes never make it later or less', () => {
  fc.assert(
    fc.property(fc.array(node, { maxLength: 4 }), node, fc.constantFrom(...SHAPES), (nodes, more, shape) => {
      const first = (all: readonly HeldNode[]) =>
        nextExpected([expectedEntries(all, shape, NOW, CLEANUP)], 1, new Date(NOW).toISOString());
      const [before, after] = [first(nodes), first([...nodes, more])];
      if (before === null) return;
      assert.ok(after !== null && after.at <= before.at);
      if (after.at === before.at && after.kind === before.kind) assert.ok(after.gpus >= before.gpus);
    }),
  );
});

test('the next one is the first that is still ahead and large enough, with all pools together', () => {
  const one = [
    { at: at(15), kind: 'cleanup', gpus: 1, largest: 1 },
    { at: at(30), kind: 'release', gpus: 4, largest: 4 },
  ] as const;
  const other = [{ at: at(30), kind: 'release', gpus: 2, largest: 2 }] as const;
  assert.deepEqual(nextExpected([one, other], 1, at(0)), { at: at(15), kind: 'cleanup', gpus: 1 });
  assert.deepEqual(nextExpected([one, other], 2, at(0)), { at: at(30), kind: 'release', gpus: 6 });
  assert.deepEqual(nextExpected([one, other], 1, at(15)), { at: at(30), kind: 'release', gpus: 6 });
  assert.equal(nextExpected([one, other], 8, at(0)), null);
  assert.equal(nextExpected([], 1, at(0)), null);
});

test('a cleanup takes what recent ones took, and the declared time of steps that have no history', () => {
  const declared = cleanupSeconds('gpu_slice', {});
  assert.equal(declared, 315);
  assert.equal(cleanupSeconds('gpu_slice', { 'slice.cleanup': 40.2, 'node.cleanup': 9_000 }), 56);
});

test('the sentence counts, and says why', () => {
  assert.equal(
    expectedSentence({ gpus: 1, at: at(30), kind: 'cleanup' }),
    '1 more GPU is expected by 2026-11-15 10:30 UTC, when a cleanup completes.',
  );
  assert.match(expectedSentence({ gpus: 2, at: at(30), kind: 'release' }), /^2 more GPUs are .* maximum duration\.$/);
});
