import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aNode, onlyFree, slots } from '../test/fleet.ts';
import { fragmentation, fragmentationLine } from './fragmentation.ts';

const sliced = (id: string, ...free: readonly number[]) => aNode({ id, occupancy: 'sliced', slots: onlyFree(...free) });

test('reports the node that becomes empty after the fewest moves', () => {
  const nodes = [sliced('nod_c', 0, 1, 2, 3, 4, 5), sliced('nod_b', 2, 3, 4, 5, 6, 7), sliced('nod_a', 0)];
  const found = fragmentation(nodes);
  assert.deepEqual(found, {
    free_gpus: 13,
    largest_set: 4,
    whole_nodes: 0,
    drain: { node_id: 'nod_b', gpus_to_move: 2 },
  });
  assert.equal(
    fragmentationLine(found),
    'free 13, largest set 4; draining nod_b would free a whole node (2 GPUs to move)',
  );
});

test('omits a node that would still be unhealthy, unwiped or unapproved after a drain', () => {
  const broken = aNode({ id: 'nod_a', slots: slots({ 0: { status: 'in_use' }, 1: { status: 'quarantined' } }) });
  assert.equal(fragmentation([broken]).drain, null);
  const cleaning = aNode({ id: 'nod_b', slots: slots({ 0: { status: 'in_use' }, 1: { status: 'cleaning' } }) });
  assert.deepEqual(fragmentation([broken, cleaning]).drain, { node_id: 'nod_b', gpus_to_move: 1 });
  assert.match(fragmentationLine(fragmentation([broken, cleaning])), /\(1 GPU to move\)$/);
});

test('omits nodes without placements, and empty nodes need no drain', () => {
  const nodes = [
    aNode({ id: 'nod_a', state: 'offline' }),
    aNode({ id: 'nod_b', health: 'unknown' }),
    aNode({ id: 'nod_c', occupancy: 'exclusive' }),
    aNode({ id: 'nod_d', slots: [] }),
    aNode({ id: 'nod_e' }),
  ];
  const found = fragmentation(nodes);
  assert.deepEqual(found, { free_gpus: 8, largest_set: 8, whole_nodes: 1, drain: null });
  assert.equal(fragmentationLine(found), 'free 8, largest set 8');
});
