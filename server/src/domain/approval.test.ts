import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Candidate } from '@gpuaas/contract/node';
import { candidate } from '../../test/candidate.ts';
import { approvalProblems } from './approval.ts';

const judge = (wanted: readonly Candidate[], all: readonly Candidate[] = wanted, has_fabric = true) =>
  approvalProblems(wanted, { all, has_fabric, wipe_minimum: 'clear' }).map(({ slot_index, field, code }) => [
    slot_index,
    field,
    code,
  ]);

describe('approving candidates', () => {
  it('accepts candidates without faults', () => {
    assert.deepEqual(judge([0, 1, 2, 3].map((index) => candidate(index))), []);
  });

  for (const [field, name] of [
    ['gpu_pci_address', 'GPU'],
    ['nvme_serial', 'drive'],
    ['nvme_device', 'device name'],
    ['nvme_size_bytes', 'size of its drive'],
    ['mac_address', 'MAC'],
    ['private_ip', 'address'],
    ['fabric_vf_pci_address', 'virtual function'],
    ['wipe_method', 'way to erase'],
    ['iommu_group', 'IOMMU group'],
    ['module_id', 'module id on a board with a fabric'],
  ] as const)
    it(`refuses a slot without ${name} and names the field`, () => {
      assert.deepEqual(judge([candidate(0, { [field]: null })]), [[0, field, 'required']]);
    });

  it('requires no module id on a board without a fabric', () => {
    assert.deepEqual(judge([candidate(0, { module_id: null })], undefined, false), []);
  });

  it('refuses malformed values', () => {
    assert.deepEqual(judge([candidate(0, { nvme_device: '/dev/nvme0n1' })]), [[0, 'nvme_device', 'malformed']]);
  });

  for (const [over, field, code] of [
    [{ nvme_mounts: ['/mnt/data'] }, 'nvme_mounts', 'mounted'],
    [{ nvme_holders: ['dm-0'] }, 'nvme_holders', 'held'],
    [{ nvme_filesystems: ['ext4'] }, 'nvme_filesystems', 'foreign_filesystem'],
    [{ fabric_vf_guid: '0000:0000:0000:0000' }, 'fabric_vf_guid', 'guid_zero'],
    [{ iommu_group_other_devices: ['0000:01:00.0'] }, 'iommu_group', 'reaches_beyond'],
    [{ mig_mode: 'enabled' }, 'mig_mode', 'mig_enabled'],
    [{ mediated_devices: 2 }, 'mediated_devices', 'has_vgpus'],
    [{ fabric_claim_mode: 'shared' }, 'fabric_claim_mode', 'not_per_slot_vf'],
  ] as const)
    it(`refuses ${code} and states the fix`, () => {
      const wanted = [candidate(0, over as Partial<Candidate>)];
      assert.deepEqual(judge(wanted), [[0, field, code]]);
      assert.match(
        approvalProblems(wanted, { all: wanted, has_fabric: true, wipe_minimum: 'clear' })[0]?.message ?? '',
        /^Slot 0: .+\. [A-Z].+\.$/,
      );
    });

  it('refuses two slots that share a device or an address, once', () => {
    const vf = candidate(0).fabric_vf_pci_address;
    assert.deepEqual(judge([candidate(0), candidate(1, { fabric_vf_pci_address: vf })]), [
      [1, 'fabric_vf_pci_address', 'duplicate'],
    ]);
  });

  it('does not treat slots without a device as sharing one', () => {
    const without = [0, 1].map((index) => candidate(index, { private_ip: null }));
    assert.deepEqual(judge(without), [
      [0, 'private_ip', 'required'],
      [1, 'private_ip', 'required'],
    ]);
  });

  it('refuses every slot of a card while one of them lacks its own function, selected or not', () => {
    const parent = '0000:aa:00.0';
    const own = candidate(0, { fabric_parent_pci_address: parent });
    const shared = candidate(1, { fabric_parent_pci_address: parent, fabric_claim_mode: 'shared' });
    assert.deepEqual(judge([own], [own, shared]), [[0, 'fabric_parent_pci_address', 'shared_parent']]);
    assert.deepEqual(judge([shared], [own, shared]), [[1, 'fabric_claim_mode', 'not_per_slot_vf']]);
  });

  it('requires nothing of the parent of a slot without one', () => {
    assert.deepEqual(judge([candidate(0, { fabric_parent_pci_address: null })]), []);
  });

  it('refuses values the agent could not read, and reports each fault once', () => {
    const blocker = (field: string, code: string) => ({ field, code, message: 'It could not be read. Look.' });
    assert.deepEqual(judge([candidate(0, { blockers: [blocker('network', 'facts_unreadable')] })]), [
      [0, 'network', 'facts_unreadable'],
    ]);
    const mounted = candidate(0, { nvme_mounts: ['/mnt'], blockers: [blocker('nvme_mounts', 'nvme_mounted')] });
    assert.deepEqual(judge([mounted]), [[0, 'nvme_mounts', 'mounted']]);
  });

  it('does not query the driver again for known facts about a GPU that may be in a guest', () => {
    const blockers = [{ field: 'module_id', code: 'module_id_missing', message: 'No driver. Load one.' }];
    assert.deepEqual(judge([candidate(0, { blockers })]), []);
  });

  it('refuses a disk that cannot be wiped as the region requires, and states whether another method can', () => {
    const at = (wanted: Candidate, wipe_minimum: 'clear' | 'purge', found = wanted) =>
      approvalProblems([wanted], { all: [found], has_fabric: true, wipe_minimum });
    const weak = candidate(0, { wipe_method: 'blkdiscard' });
    assert.deepEqual(at(weak, 'clear'), []);
    const [problem] = at(weak, 'purge');
    assert.deepEqual([problem?.field, problem?.code], ['wipe_method', 'below_minimum']);
    assert.match(problem?.message ?? '', /^Slot 0: .+blkdiscard reaches clear\. .+Replace it, or lower the wipe level/);
    assert.match(at(weak, 'purge', candidate(0))[0]?.message ?? '', /Set wipe_method to nvme_format\.$/);
    assert.deepEqual(at(candidate(0), 'purge'), []);
    assert.deepEqual(
      approvalProblems([candidate(1)], { all: [], has_fabric: true, wipe_minimum: 'purge' }),
      [],
      'a candidate is its own evidence where no other is given',
    );
  });

  it('refuses a method that the disk does not support', () => {
    const problems = approvalProblems([candidate(0, { wipe_method: 'nvme_sanitize' })], {
      all: [candidate(0, { wipe_method: 'blkdiscard' })],
      has_fabric: true,
      wipe_minimum: 'purge',
    });
    assert.deepEqual(
      problems.map(({ code }) => code),
      ['not_offered'],
    );
  });
});
