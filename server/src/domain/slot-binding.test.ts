import assert from 'node:assert/strict';
import { test } from 'node:test';
import { candidateHash } from '@gpuaas/contract/node';
import { candidate } from '../../test/candidate.ts';
import { bindingConflicts, boundSlot } from './slot-binding.ts';

test('a slot has the bindings of its candidate and their hash', () => {
  const found = candidate(3);
  const slot = boundSlot('slt_1', 5, found);
  assert.deepEqual([slot.id, slot.slot_index, slot.content], ['slt_1', 5, found]);
  assert.equal(slot.content_hash, candidateHash(found));
  assert.deepEqual([slot.nvme_serial, slot.mac_address], [found.nvme_serial, found.mac_address]);
});

test('a device that was not found leaves its binding empty and the weakest wipe method', () => {
  const missing = {
    gpu_pci_address: null,
    nvme_serial: null,
    nvme_device: null,
    mac_address: null,
    private_ip: null,
    fabric_vf_pci_address: null,
    wipe_method: null,
  };
  const { wipe_method: _, ...bindings } = missing;
  const slot = boundSlot('slt_1', 0, candidate(0, missing));
  for (const field of Object.keys(bindings) as (keyof typeof bindings)[]) assert.equal(slot[field], '');
  assert.equal(slot.wipe_method, 'blkdiscard');
});

test('a conflict names the field and the node that has the device', () => {
  const taken = { slot_index: 2, field: 'nvme_serial', value: 'S1', node_name: 'other' };
  const [slot, node] = bindingConflicts([
    { ...taken, owner: 'slot' },
    { ...taken, owner: 'node' },
  ]);
  assert.equal(slot?.pointer, '/candidates/2/nvme_serial');
  assert.match(slot?.message ?? '', /nvme_serial S1 belongs to a slot of other/);
  assert.match(node?.message ?? '', /nvme_serial S1 is a data disk of other, .* Wait for its release/);
});
