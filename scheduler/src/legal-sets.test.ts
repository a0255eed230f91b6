import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertReached } from '../../tools/test/reached.ts';
import { RECORDINGS, requiresRecording } from '../../tools/test/requires.ts';
import { aNode, aSlot, HGX_TABLE, slots } from '../test/fleet.ts';
import {
  freeLegalSets,
  freeMask,
  isComplete,
  largestLegalSet,
  legalSets,
  legalTable,
  popcount,
  SLOTS_MAX,
} from './legal-sets.ts';
import type { SchedulerSlot } from './model.ts';

const RECORDED = 'topology/fabric-manager/hgx-h100-fm-partitions.json';

const masks = (sets: readonly { readonly mask: number }[] | null): readonly number[] =>
  (sets ?? []).map((set) => set.mask).sort((a, b) => a - b);

test('legal pairs follow module ids, not the PCI bus order', () => {
  const table = legalTable(aNode());
  // Modules 2 and 4 stand in slots 0 and 1, 3 and 1 in slots 2 and 3, 5 and 7, 6 and 8.
  assert.deepEqual(masks(legalSets(table, 2)), [0b11, 0b1100, 0b110000, 0b11000000]);
  const reversed = slots().map((slot) => ({ ...slot, module_id: slot.slot_index + 1 }));
  assert.deepEqual(masks(legalSets(legalTable(aNode({ slots: reversed })), 2)), [0b101, 0b1010, 0b1010000, 0b10100000]);
});

test('a board with eight GPUs has one set of eight, two of four, four of two and eight singles', () => {
  const table = legalTable(aNode());
  assert.deepEqual(
    [8, 4, 2, 1, 3].map((count) => legalSets(table, count)?.length),
    [1, 2, 4, 8, 0],
  );
});

test('the partition table in this test equals the recorded one', {
  skip: requiresRecording(RECORDED),
}, () => {
  const recorded = JSON.parse(readFileSync(join(RECORDINGS, RECORDED), 'utf8')) as {
    partitions: { moduleIds: number[] }[];
    guideBdfToModuleId: Record<string, number>;
  };
  assert.deepEqual(
    HGX_TABLE.map((partition) => partition.module_ids),
    recorded.partitions.map((partition) => partition.moduleIds),
  );
  // The host of NVIDIA's guide: modules in bus order.
  const modules = Object.entries(recorded.guideBdfToModuleId).sort(([a], [b]) => (a < b ? -1 : 1));
  const guide = modules.map(([, module_id], index) => aSlot(index, { module_id }));
  const pairs = legalSets(legalTable(aNode({ slots: guide })), 2);
  assert.equal(pairs?.length, 4);
});

test('without NVSwitch any set is legal and the largest set is all free GPUs', () => {
  const table = legalTable(aNode({ partitions: null }));
  assert.equal(legalSets(table, 3), null);
  assert.equal(largestLegalSet(0b1011, table), 3);
  assert.deepEqual(freeLegalSets(0b1011, table, 4), []);
  assert.deepEqual(freeLegalSets(0b1011, table, 0), []);
});

test('a set comes from the tightest NUMA domain that holds it, otherwise from as few as possible', () => {
  const table = legalTable(aNode({ partitions: null }));
  assert.deepEqual(masks(freeLegalSets(0b11111111, table, 2)), [0b11]);
  assert.deepEqual(masks(freeLegalSets(0b00111111, table, 2)), [0b110000], 'the domain with two left');
  assert.deepEqual(masks(freeLegalSets(0b00111110, table, 4)), [0b00011110], 'three of the fuller and one more');
  const three = slots().map((slot) => ({ ...slot, numa_node: slot.slot_index < 4 ? slot.slot_index : null }));
  const scattered = legalTable(aNode({ partitions: null, slots: three }));
  assert.deepEqual(masks(freeLegalSets(0xff, scattered, 4)), [0b11110000], 'slots without a domain are one domain');
});

test('a partition is legal only when every module is one approved slot of the node', () => {
  const missing = legalTable(aNode({ slots: slots({ 0: { module_id: null } }) }));
  assert.equal(largestLegalSet(0xff, missing), 4);
  const disabled = legalTable(aNode({ slots: slots({ 0: { approval: 'disabled' } }) }));
  assert.equal(legalSets(disabled, 8)?.length, 0);
  const twice = legalTable(aNode({ slots: slots({ 0: { module_id: 4 } }) }));
  assert.deepEqual(masks(legalSets(twice, 1)), [4, 8, 16, 32, 64, 128], 'modules 2 and 4 are nowhere');
  const outside = legalTable(aNode({ slots: slots({ 0: { slot_index: SLOTS_MAX } }) }));
  assert.equal(outside.slot_mask, 0b11111110);
  assert.equal(legalSets(outside, 8)?.length, 0);
});

test('a slot row forced to available but lacking a part is not free', () => {
  const lacks: readonly Partial<SchedulerSlot>[] = [
    { has_gpu: false },
    { has_nvme: false },
    { has_mac: false },
    { has_private_ip: false },
    { has_fabric_vf: false },
    { fabric_claim_mode: null },
    { fabric_claim_mode: 'shared' },
    { slot_index: -1 },
    { slot_index: 0.5 },
    { slot_index: SLOTS_MAX },
    // This model cannot express a child of another slot, but a file can contain one.
    { parent_slot_id: 'slt_parent' as unknown as null },
  ];
  for (const lack of lacks) {
    assert.equal(isComplete(aSlot(0, lack)), false, JSON.stringify(lack));
    assert.equal(freeMask([aSlot(0, lack)]), 0, JSON.stringify(lack));
  }
  assert.equal(freeMask(slots()), 0xff);
});

test('only approved, available and healthy slots are free', () => {
  assert.equal(freeMask(slots({ 0: { approval: 'needs_reapproval' } })), 0xfe);
  assert.equal(freeMask(slots({ 1: { status: 'cleaning' } })), 0xfd);
  assert.equal(freeMask(slots({ 2: { health: 'unknown' } })), 0xfb);
});

test('popcount counts bits', () => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** SLOTS_MAX - 1 }), (mask) => {
      assert.equal(popcount(mask), mask.toString(2).replaceAll('0', '').length);
    }),
  );
});

test('a free legal set is free, legal and of the requested size, and is found whenever one exists', () => {
  const tables = [aNode(), aNode({ partitions: null })].map(legalTable);
  const seen = { legal: 0, any: 0, largest: 0, beyond: 0 };
  fc.assert(
    fc.property(
      fc.nat({ max: 255 }),
      fc.integer({ min: 1, max: 9 }),
      fc.constantFrom(...tables),
      (free, count, table) => {
        const found = freeLegalSets(free, table, count);
        if (found.length > 0) seen[table.sets === null ? 'any' : 'legal'] += 1;
        for (const set of found) {
          assert.equal(popcount(set.mask), count);
          assert.equal(set.mask & ~free, 0);
          if (table.sets !== null) assert.ok(table.sets.some((legal) => legal.mask === set.mask));
        }
        const largest = largestLegalSet(free, table);
        if (count === largest) {
          seen.largest += 1;
          assert.ok(found.length > 0);
        }
        if (count > largest) {
          seen.beyond += 1;
          assert.equal(found.length, 0);
        }
      },
    ),
    { numRuns: 500 },
  );
  assertReached(seen);
});
