import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Candidate } from '@gpuaas/contract/node';
import { candidate } from '../../test/candidate.ts';
import { BINDING_FIELDS, diffOf, pairSlots } from './topology.ts';

const slotOf = (found: Candidate) => ({
  id: `slt_${found.slot_index}`,
  slot_index: found.slot_index,
  gpu_pci_address: found.gpu_pci_address,
});

describe('the identity of a slot', () => {
  it('is its bindings: what a tenant does to the disk changes nothing', () => {
    const used = candidate(0, { nvme_filesystems: ['ext4'], nvme_mounts: ['/mnt'], nvme_holders: ['dm-0'] });
    assert.deepEqual(diffOf(candidate(0), used), {});
  });

  it('changes with any binding', () => {
    for (const field of BINDING_FIELDS) {
      const other = { ...candidate(0), [field]: field === 'iommu_group_other_devices' ? ['0000:99:00.0'] : 'other' };
      assert.deepEqual(Object.keys(diffOf(candidate(0), other as Candidate)), [field]);
    }
  });

  it('does not depend on the listing order of other devices in the IOMMU group', () => {
    const one = candidate(0, { iommu_group_other_devices: ['0000:01:00.0', '0000:02:00.0'] });
    const two = candidate(0, { iommu_group_other_devices: ['0000:02:00.0', '0000:01:00.0'] });
    assert.deepEqual(diffOf(one, two), {});
  });

  it('stays the same while a guest has the GPU and no driver can be queried', () => {
    const given = candidate(0, { gpu_uuid: null, gpu_model: null, module_id: null, mig_mode: null });
    assert.deepEqual(diffOf(candidate(0), given), {});
  });

  it('changes when another fact can no longer be read', () => {
    assert.deepEqual(diffOf(candidate(0), candidate(0, { nvme_serial: null })), {
      nvme_serial: { approved: candidate(0).nvme_serial, found: null },
    });
    assert.deepEqual(diffOf(candidate(0), undefined), {
      gpu_pci_address: { approved: candidate(0).gpu_pci_address, found: null },
    });
  });
});

describe('matching candidates to slots', () => {
  it('matches by GPU when indexes have moved', () => {
    const slots = [0, 1, 2].map((index) => slotOf(candidate(index)));
    const left = [candidate(0), { ...candidate(2), slot_index: 1 }];
    const pairs = pairSlots(slots, left);
    assert.deepEqual(
      slots.map((slot) => pairs.get(slot)?.gpu_pci_address ?? null),
      [candidate(0).gpu_pci_address, null, candidate(2).gpu_pci_address],
    );
  });

  it('matches by index when the GPU at that index was replaced', () => {
    const [slot] = [slotOf(candidate(0))];
    const replaced = candidate(0, { gpu_pci_address: '0000:ff:00.0' });
    assert.equal(slot && pairSlots([slot], [replaced]).get(slot), replaced);
    const bare = { id: 'slt_x', slot_index: 0, gpu_pci_address: null };
    assert.equal(pairSlots([bare], [replaced]).get(bare), replaced);
  });
});
