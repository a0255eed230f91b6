import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SlotMapRow } from '@gpuaas/sdk';
import { flagsOf, needsAttention } from './attention.ts';
import { countFacets, filterNodes, isFiltered } from './filter.ts';
import { readFragmentation } from './fragmentation.ts';
import { gridRows, moveCell } from './grid-rows.ts';
import { byRack } from './rack.ts';
import { numaGroup, TILE_KEY, type Tile, tileLook, tileSentence } from './tile.ts';
import { heldRows } from './use-stable-nodes.ts';

const slot = (slot_index: number, given: Partial<Tile> = {}): Tile => ({
  id: `slt_${slot_index}`,
  slot_index,
  approval: 'approved',
  status: 'available',
  status_reason: null,
  status_since: '2026-11-15T11:00:00Z',
  health: 'ok',
  numa_node: slot_index < 4 ? 0 : 1,
  has_hardware_change: false,
  allocation_id: null,
  wiped_at: null,
  ...given,
});

const node = (name: string, given: Partial<SlotMapRow> = {}): SlotMapRow => ({
  node_id: `nod_${name}`,
  name,
  region_name: 'us-buffalo-1',
  pool_name: 'shared',
  gpu_model: 'H200 SXM',
  gpu_count: 8,
  state: 'active',
  state_reason: null,
  capacity_mode: 'slice',
  occupancy: 'free',
  health: 'ok',
  is_held: false,
  is_connected: true,
  has_hardware_change: false,
  gpu_model_conflict: null,
  unapproved_disks: [],
  reboot_required: false,
  finding_count: 0,
  free_gpus: 8,
  largest_set: 8,
  slots: Array.from({ length: 8 }, (_, index) => slot(index)),
  ...given,
});

test('a tile looks free only if its slot is schedulable', () => {
  assert.equal(tileLook(slot(0), true).word, 'Available');
  assert.equal(tileLook(slot(0), false).tone, 'idle');
  const notFree: Partial<Tile>[] = [
    { approval: 'disabled' },
    { approval: 'needs_reapproval' },
    { health: 'unhealthy' },
    { health: 'unknown' },
    ...(['reserved', 'in_use', 'cleaning', 'cleanup_blocked', 'quarantined'] as const).map((status) => ({ status })),
  ];
  for (const given of notFree) assert.notEqual(tileLook(slot(0, given), true).tone, 'good', JSON.stringify(given));
});

test('every kind of tile differs by glyph and word, not only by color', () => {
  assert.equal(new Set(TILE_KEY.map(({ short }) => short)).size, TILE_KEY.length);
  assert.equal(new Set(TILE_KEY.map(({ glyph, short }) => `${glyph} ${short}`)).size, TILE_KEY.length);
});

test('the tile of a slot in use keeps its status and is marked if something else is wrong', () => {
  const { word, isMarked } = tileLook(slot(0, { status: 'in_use', health: 'unhealthy' }), false);
  assert.deepEqual([word, isMarked], ['In use', true]);
  assert.equal(tileLook(slot(0, { has_hardware_change: true }), true).isMarked, true);
  assert.equal(tileLook(slot(0), true).isMarked, false);
});

test('a tile has a sentence for screen readers', () => {
  const now = Date.parse('2026-11-15T12:00:00Z');
  assert.equal(tileSentence(slot(3, { status: 'in_use' }), true, now), 'Used, slot 3: In use, for 1 h');
  assert.equal(
    tileSentence(
      slot(3, { status: 'in_use', health: 'unhealthy', approval: 'disabled', has_hardware_change: true }),
      true,
      now,
    ),
    'Used, slot 3: In use, Disabled, Unhealthy, hardware differs from approval, for 1 h',
  );
  assert.equal(tileSentence(slot(3, { approval: 'disabled' }), true, now), 'Off, slot 3: Disabled, for 1 h');
});

test('the tiles of two NUMA nodes are separated', () => {
  const { slots } = node('j1u1');
  assert.deepEqual(
    slots.map((_, index) => numaGroup(slots, index)),
    [0, 0, 0, 0, 1, 1, 1, 1],
  );
});

test('conditions that need attention are shown in words, and a hold is not one of them', () => {
  assert.deepEqual(flagsOf(node('a')), []);
  assert.equal(needsAttention(node('a', { is_held: true })), false);
  assert.deepEqual(
    flagsOf(node('a', { is_held: true })).map(({ word }) => word),
    ['held'],
  );
  const troubles: Partial<SlotMapRow>[] = [
    { state: 'offline' },
    { is_connected: false },
    { health: 'unhealthy' },
    { occupancy: 'cleanup_blocked' },
    { slots: [slot(0, { status: 'cleanup_blocked' })] },
    { slots: [slot(0, { status: 'quarantined' })] },
    { slots: [slot(0, { health: 'unhealthy' })] },
    { has_hardware_change: true },
    { gpu_model_conflict: 'Discovery found 8 H100 SXM.' },
    { unapproved_disks: [{ name: 'nvme3n1', serial: 'S3', is_wipe_pending: false }] },
    { finding_count: 2 },
    { reboot_required: true },
    { slots: [], free_gpus: 0 },
    { slots: [], capacity_mode: 'flexible' },
    { health: 'unknown' },
  ];
  const wordsOf = (...pending: boolean[]): unknown =>
    flagsOf(
      node('a', { unapproved_disks: pending.map((is_wipe_pending) => ({ name: 'n', serial: 'S3', is_wipe_pending })) }),
    ).map(({ word }) => word);
  assert.deepEqual(wordsOf(true), ['disk wipe'], 'approved disks wait for their wipe');
  assert.deepEqual(wordsOf(true, false), ['disk approval']);
  for (const given of troubles) assert.equal(needsAttention(node('a', given)), true, JSON.stringify(given));
});

test('a node that waits for its first agent or is retired needs no attention', () => {
  assert.deepEqual(flagsOf(node('a', { state: 'bootstrap_issued', is_connected: false, slots: [] })), []);
  assert.deepEqual(flagsOf(node('a', { capacity_mode: 'baremetal', slots: [] })), []);
  assert.deepEqual(flagsOf(node('a', { state: 'retired', is_connected: false, has_hardware_change: true })), []);
});

const fleet = [
  node('j1u1', { slots: [slot(0, { status: 'in_use', allocation_id: 'alc_1' })] }),
  node('j1u2', { state: 'draining', health: 'unhealthy' }),
  node('k9u1', { region_name: 'eu-north-1', slots: [slot(0, { approval: 'disabled' })] }),
];
const names = (filter: Parameters<typeof filterNodes>[1]) => filterNodes(fleet, filter).map(({ name }) => name);

test('filters combine, and text matches names, models and allocations', () => {
  assert.deepEqual(names({}), ['j1u1', 'j1u2', 'k9u1']);
  assert.deepEqual(names({ q: 'J1' }), ['j1u1', 'j1u2']);
  assert.deepEqual(names({ q: 'alc_1' }), ['j1u1']);
  assert.deepEqual(names({ q: 'h200', region: 'eu-north-1' }), ['k9u1']);
  assert.deepEqual(names({ state: 'draining' }), ['j1u2']);
  assert.deepEqual(names({ slot: 'disabled' }), ['k9u1']);
  assert.deepEqual(names({ slot: 'in_use', region: 'eu-north-1' }), []);
  assert.deepEqual(names({ attention: 'yes' }), ['j1u2']);
  assert.deepEqual(names({ state: 'no_such_state' }), []);
  assert.equal(isFiltered({}), false);
  assert.equal(isFiltered({ slot: 'in_use' }), true);
});

test('the count of a filter option takes the other filters into account', () => {
  const counts = countFacets(fleet, { region: 'us-buffalo-1', state: 'active' });
  assert.deepEqual(Object.fromEntries(counts.region), { 'us-buffalo-1': 1, 'eu-north-1': 1 });
  assert.deepEqual(Object.fromEntries(counts.state), { active: 1, draining: 1 });
  assert.equal(counts.attention, 0);
  for (const [value, count] of countFacets(fleet, {}).slot) assert.equal(names({ slot: value }).length, count, value);
});

test('arrow keys move between tiles and skip rack headers', () => {
  const rows = gridRows(byRack(fleet));
  assert.deepEqual(
    rows.map((row) => (row.kind === 'rack' ? row.rack : row.node.name)),
    ['j1', 'j1u1', 'j1u2', 'k9', 'k9u1'],
  );
  const at = (name: string, column: number) => ({ nodeId: `nod_${name}`, column });
  assert.deepEqual(moveCell(rows, at('j1u2', 3), 'ArrowRight'), at('j1u2', 4));
  assert.deepEqual(moveCell(rows, at('j1u2', 0), 'ArrowLeft'), at('j1u2', -1));
  assert.equal(moveCell(rows, at('j1u2', -1), 'ArrowLeft'), null);
  assert.equal(moveCell(rows, at('j1u2', 7), 'ArrowRight'), null);
  // The next node has only one slot; the nearest column is used.
  assert.deepEqual(moveCell(rows, at('j1u2', 5), 'ArrowDown'), at('k9u1', 0));
  assert.equal(moveCell(rows, at('k9u1', 0), 'ArrowDown'), null);
  assert.equal(moveCell(rows, at('j1u1', 0), 'ArrowUp'), null);
  assert.deepEqual(moveCell(rows, at('j1u1', 0), 'PageDown'), at('k9u1', 0));
  assert.deepEqual(moveCell(rows, at('k9u1', 0), 'Home', true), at('j1u1', 0));
  assert.deepEqual(moveCell(rows, at('j1u2', 2), 'End'), at('j1u2', 7));
  assert.equal(moveCell(rows, at('gone', 0), 'ArrowDown'), null);
  assert.equal(moveCell(rows, at('j1u1', 0), 'x'), null);
});

test('the host named in the fragmentation message is extracted for a link', () => {
  assert.deepEqual(
    readFragmentation('free 11, largest set 3; draining j22u11 would free a whole node (2 GPUs to move)'),
    {
      before: 'free 11, largest set 3; draining ',
      name: 'j22u11',
      after: ' would free a whole node (2 GPUs to move)',
    },
  );
  assert.deepEqual(readFragmentation('free 11, largest set 3'), {
    before: 'free 11, largest set 3',
    name: null,
    after: '',
  });
});

test('while the user is in the slot map its rows stay in place and their values update', () => {
  const [first, second, third] = fleet;
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  const healed = { ...second, health: 'ok' as const };
  const held = new Set([second.node_id]);
  assert.deepEqual(heldRows([first, healed, third], [third], held), [healed]);
  assert.deepEqual(heldRows([first, healed, third], [third], null), [third]);
  const matching = [healed];
  assert.equal(heldRows([first, healed, third], matching, held), matching);
});
