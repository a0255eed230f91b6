import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approvalReasons, blockersOf, type Candidate, differences, disksToApprove, proposedChoice } from './approve.ts';

const content: Candidate['content'] = {
  slot_index: 0,
  gpu_pci_address: '0000:1b:00.0',
  gpu_uuid: null,
  gpu_vendor_device: null,
  gpu_model: null,
  module_id: null,
  mig_mode: null,
  mediated_devices: 0,
  numa_node: 0,
  upstream_port: null,
  iommu_group: null,
  iommu_group_other_devices: [],
  nvme_serial: 'S0',
  nvme_device: null,
  nvme_size_bytes: null,
  nvme_mounts: [],
  nvme_holders: [],
  nvme_filesystems: [],
  wipe_method: 'nvme_sanitize',
  fabric_parent_pci_address: null,
  fabric_claim_mode: null,
  fabric_vf_pci_address: null,
  fabric_vf_guid: null,
  mac_address: null,
  private_ip: null,
  ovs_port: null,
  blockers: [],
};
const mounted = { code: 'nvme_mounted', field: 'nvme_mounts', message: 'Disk S1 is mounted at /data; unmount it.' };
const candidate = (slot_index: number, given: Partial<Candidate> = {}): Candidate => ({
  id: `cnd_${slot_index}`,
  slot_index,
  content_hash: '',
  content: { ...content, slot_index, nvme_serial: `S${slot_index}` },
  blockers: [],
  slot_id: null,
  approval_status: 'new',
  diff: {},
  ...given,
});
const map = (candidates: Candidate[], given: Partial<Parameters<typeof approvalReasons>[0]> = {}) => ({
  map_hash: '',
  created_at: '2026-11-15T12:00:00Z',
  candidates,
  partitions: [],
  prerequisites: [],
  reboot_required: false,
  ...given,
});

test('a blocker reported by several sources is shown once', () => {
  const one = candidate(1, { blockers: [mounted], content: { ...content, blockers: [mounted] } });
  assert.deepEqual(blockersOf(one), [mounted]);
});

test('a refusal names every blocker of the selected candidates and none of the others', () => {
  const found = map([candidate(0), candidate(1, { blockers: [mounted] })], {
    prerequisites: [{ name: 'iommu', is_met: false, needs_reboot: true, message: 'Add intel_iommu=on.' }],
    reboot_required: true,
  });
  assert.deepEqual(approvalReasons(found, [0, 1], 'The node is in use as bare metal.'), [
    'The node is in use as bare metal.',
    'iommu: Add intel_iommu=on.',
    'Reboot the host first.',
    'Slot 1: Disk S1 is mounted at /data; unmount it.',
  ]);
  assert.deepEqual(approvalReasons(map([candidate(0), candidate(1, { blockers: [mounted] })]), [0], null), []);
  assert.deepEqual(approvalReasons(found, [], null), ['Select at least one candidate.']);
  assert.deepEqual(approvalReasons(map([candidate(0, { approval_status: 'approved' })]), [0], null), [
    'Already approved.',
  ]);
});

test('new and changed candidates without blockers are selected by default', () => {
  const found = map([
    candidate(0, { approval_status: 'approved' }),
    candidate(1, { blockers: [mounted] }),
    candidate(2),
    candidate(3, { approval_status: 'changed' }),
  ]);
  assert.deepEqual(proposedChoice(found), [2, 3]);
});

test('all parts of a new candidate are marked as new', () => {
  assert.deepEqual(differences(candidate(0)), {
    gpu_pci_address: { approved: null, found: '0000:1b:00.0' },
    nvme_serial: { approved: null, found: 'S0' },
    wipe_method: { approved: null, found: 'nvme_sanitize' },
  });
  const diff = { nvme_serial: { approved: 'S9', found: 'S0' } };
  assert.deepEqual(differences(candidate(0, { approval_status: 'changed', diff })), diff);
});

test('wiping a disk is offered only if the disk has a blocker', () => {
  const found = map([candidate(0), candidate(1, { blockers: [mounted] })]);
  assert.deepEqual(disksToApprove(found), [{ serial: 'S1', slot: 1, why: mounted.message }]);
});
