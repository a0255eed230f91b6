import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SchedulerNode, SchedulerSlot } from '@gpuaas/scheduler';
import { isFit, nodeAfterWipe } from './node-after-wipe.ts';

const aSlot = (slot_index: number, facts: Partial<SchedulerSlot> = {}): SchedulerSlot => ({
  id: `slt_${slot_index}`,
  slot_index,
  module_id: slot_index + 1,
  numa_node: 0,
  parent_slot_id: null,
  approval: 'approved',
  status: 'cleaning',
  health: 'ok',
  has_gpu: true,
  has_nvme: true,
  has_mac: true,
  has_private_ip: true,
  has_fabric_vf: true,
  fabric_claim_mode: 'per_slot_vf',
  ...facts,
});

const aNode = (slots: readonly SchedulerSlot[]): SchedulerNode => ({
  id: 'nod_1',
  region: 'here',
  sku_names: ['slice'],
  state: 'active',
  host_role: 'worker_compute',
  pool: { id: 'pol_1', tenant_id: null },
  capacity_mode: 'slice',
  occupancy: 'sliced',
  held_for: null,
  health: 'ok',
  runtime_validated: true,
  oldest_claim_at_s: 10,
  slots,
  partitions: null,
});

test('a wiped slot that is quarantined or lacks a part is not available, regardless of approval and health', () => {
  for (const facts of [{}, { approval: 'needs_reapproval' }, { health: 'unhealthy' }] as const)
    assert.equal(isFit(aSlot(0, facts)), true);
  const against: readonly Partial<SchedulerSlot>[] = [
    { status: 'quarantined' },
    { has_gpu: false },
    { has_nvme: false },
    { has_mac: false },
    { has_private_ip: false },
    { has_fabric_vf: false },
    { fabric_claim_mode: null },
  ];
  for (const facts of against) assert.equal(isFit(aSlot(0, facts)), false, JSON.stringify(facts));
});

test('a node without other holders is free and has no claim time once its slots are clean', () => {
  const node = aNode([aSlot(0), aSlot(1)]);
  const after = nodeAfterWipe(
    node,
    new Map([
      ['slt_0', true],
      ['slt_1', true],
    ]),
    {
      is_shared: false,
      claimed_at_s: { slt_0: 10, slt_1: 10 },
    },
  );
  assert.deepEqual(
    [after.occupancy, after.oldest_claim_at_s, after.slots.map((slot) => slot.status)],
    ['free', null, ['available', 'available']],
  );
});

test('other allocations on the node stay held, and the oldest of them counts', () => {
  const node = aNode([aSlot(0), aSlot(1, { status: 'in_use' }), aSlot(2, { status: 'in_use' })]);
  const after = nodeAfterWipe(node, new Map([['slt_0', true]]), {
    is_shared: true,
    claimed_at_s: { slt_0: 10, slt_1: 30, slt_2: 20 },
  });
  assert.deepEqual(
    [after.occupancy, after.oldest_claim_at_s, after.slots.map((slot) => slot.status)],
    ['sliced', 20, ['available', 'in_use', 'in_use']],
  );
});

test('a wiped slot that is not fit is quarantined, and its claim still counts for the node', () => {
  const node = aNode([aSlot(0), aSlot(1)]);
  const after = nodeAfterWipe(
    node,
    new Map([
      ['slt_0', false],
      ['slt_1', true],
    ]),
    {
      is_shared: false,
      claimed_at_s: { slt_0: 10, slt_1: 10 },
    },
  );
  assert.deepEqual(
    [after.occupancy, after.oldest_claim_at_s, after.slots.map((slot) => slot.status)],
    ['free', 10, ['quarantined', 'available']],
  );
});
