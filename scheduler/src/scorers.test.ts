import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aNode, aSlot, onlyFree, slots } from '../test/fleet.ts';
import { placementIndexRow } from './apply.ts';
import type { SchedulerNode } from './model.ts';
import { bareMetalScoreKey, bestSet, DEFAULT_POLICY, nodeScoreKey, SCORERS, summarise } from './scorers.ts';

const key = (node: SchedulerNode, count: number): number => nodeScoreKey(summarise(node), count) ?? Number.NaN;

/** Each of the nodes is better than the next. */
const inOrder = (count: number, ...nodes: readonly SchedulerNode[]): void => {
  const keys = nodes.map((node) => key(node, count));
  assert.deepEqual(
    keys,
    [...keys].sort((a, b) => a - b),
  );
  assert.equal(new Set(keys).size, keys.length);
};

const sliced = (free: readonly number[], changes: Partial<SchedulerNode> = {}): SchedulerNode =>
  aNode({ occupancy: 'sliced', slots: onlyFree(...free), ...changes });

test('the smallest sufficient set is split first', () => {
  inOrder(1, sliced([0]), sliced([0, 1]), sliced([0, 1, 2, 3]), aNode());
  inOrder(2, sliced([0, 1]), sliced([0, 1, 2, 3]), aNode());
  inOrder(4, sliced([0, 1, 2, 3]), aNode());
});

test('within a node, the buddy of an occupied set is used first', () => {
  const best = bestSet(summarise(sliced([1, 4, 5, 6, 7])), 1, DEFAULT_POLICY);
  assert.equal(best?.set.mask, 0b10);
  const pair = bestSet(summarise(sliced([2, 3, 4, 5, 6, 7])), 2, DEFAULT_POLICY);
  assert.equal(pair?.set.mask, 0b1100);
});

test('sliced nodes rank before empty ones, and empty flexible nodes last', () => {
  inOrder(1, sliced([0, 1, 2, 3]), aNode(), aNode({ capacity_mode: 'flexible' }));
  inOrder(8, aNode(), aNode({ capacity_mode: 'flexible' }));
  inOrder(1, sliced([0]), sliced([0], { capacity_mode: 'flexible' }));
});

test('a node with an unhealthy GPU is not preserved as an empty node', () => {
  inOrder(1, aNode({ slots: slots({ 0: { status: 'quarantined' } }) }), aNode());
});

test('among equal nodes the one with the oldest claim ranks first', () => {
  inOrder(1, sliced([0], { oldest_claim_at_s: 100.5 }), sliced([3], { oldest_claim_at_s: 200 }));
  assert.equal(SCORERS.age.score(summarise(sliced([0], { oldest_claim_at_s: 2 ** 40 })), ZERO), 2 ** 30 - 1);
  assert.equal(SCORERS.age.score(summarise(sliced([0], { oldest_claim_at_s: -5 })), ZERO), 0);
});

const ZERO = { mask: 1, size: 1, partition_id: null };

test('a node with failed launches ranks after every other that fits; more failures rank later', () => {
  inOrder(
    1,
    aNode({ capacity_mode: 'flexible' }),
    sliced([0], { launch_failures: 1 }),
    aNode({ launch_failures: 2 }),
    sliced([0], { launch_failures: 3 }),
  );
  assert.equal(key(sliced([0], { launch_failures: 9 }), 1), key(sliced([0], { launch_failures: 3 }), 1));
  assert.equal(key(sliced([0], { launch_failures: -1 }), 1), key(sliced([0]), 1));
  const whole = (launch_failures: number) => bareMetalScoreKey({ capacity_mode: 'baremetal', launch_failures });
  assert.ok(bareMetalScoreKey({ capacity_mode: 'flexible' }) < whole(1) && whole(1) < whole(2));
});

test('where any set is legal, sets of two, four and eight are preserved by count', () => {
  const any = (free: number): SchedulerNode =>
    sliced(
      Array.from({ length: free }, (_, index) => index),
      { partitions: null },
    );
  inOrder(1, any(1), any(2), any(4));
  assert.equal(key(any(5), 1), key(any(3), 1), 'neither loses a set');
  assert.equal(nodeScoreKey(summarise(any(3)), 4), null);
});

test('a set within one NUMA domain ranks before one across two', () => {
  const across = sliced([], { partitions: null, slots: slots({ 1: { numa_node: 1 } }).slice(0, 2) });
  const within = sliced([], { partitions: null, slots: slots().slice(0, 2) });
  inOrder(2, within, across);
  const scattered = [0, 1, 2, 3, 4, 5].map((index) => aSlot(index, { numa_node: index }));
  assert.equal(SCORERS.numa_span.score(summarise(aNode({ slots: scattered })), { ...ZERO, mask: 0b111111 }), 3);
});

test('a table with very many sets stays within its range of the key', () => {
  const module_ids = [2, 4, 3, 1, 5, 7, 6, 8];
  const partitions = Array.from({ length: 300 }, (_, id) => ({ id: `${id}`, module_ids }));
  const summary = summarise(aNode({ partitions }));
  const best = bestSet(summary, 8, DEFAULT_POLICY);
  assert.equal(best?.set.partition_id, '0', 'equal partitions are distinguished by id');
  assert.equal(SCORERS.fragmentation.score(summary, best.set), 16 ** 4 - 1);
});

test('every key is an integer below 2^53', () => {
  const radix = DEFAULT_POLICY.scorers.reduce((product, name) => product * SCORERS[name].radix, 1);
  assert.ok(radix <= Number.MAX_SAFE_INTEGER + 1);
  assert.ok(Number.isSafeInteger(key(aNode({ capacity_mode: 'flexible', oldest_claim_at_s: 2 ** 32 }), 1)));
});

test('the index row holds the free count, the largest set and a key per count', () => {
  const row = placementIndexRow(sliced([0, 1, 2]));
  assert.equal(row.free_mask, 0b111);
  assert.equal(row.free_gpus, 3);
  assert.equal(row.largest_legal_set, 2);
  assert.deepEqual(
    Object.entries(row.score_keys).map(([count, value]) => [count, value === null]),
    [
      ['1', false],
      ['2', false],
      ['4', true],
      ['8', true],
    ],
  );
});

test('bare metal prefers nodes that can serve nothing else', () => {
  assert.ok(bareMetalScoreKey({ capacity_mode: 'baremetal' }) < bareMetalScoreKey({ capacity_mode: 'flexible' }));
});
