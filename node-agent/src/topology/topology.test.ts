import assert from 'node:assert/strict';
import { test } from 'node:test';
import { candidateHash, type HostFacts } from '@gpuaas/contract/node';
import { assertHostFacts, assertTopologyMap } from '../../test/shapes.ts';
import { type disk, fn, H200_PLANS, machineFacts } from '../../test/vm-facts.ts';
import { mapHash, topologyOf } from './topology.ts';

const SETTINGS = { node_id: 'nod_01', accelerators: [], private_network: '10.100.0.0/24' };
const map = (facts: HostFacts) => topologyOf(facts, SETTINGS);
const valueOfPart = <T>(fact: { value: T } | { unreadable: string }): T => {
  assert.ok('value' in fact);
  return fact.value;
};
const codes = (facts: HostFacts, slot = 0): readonly string[] =>
  map(facts).candidates[slot]?.blockers.map((blocker) => blocker.code) ?? ['no such candidate'];
const withDisk = (change: Parameters<typeof disk>[2]): HostFacts => {
  const facts = machineFacts(H200_PLANS);
  const disks = valueOfPart(facts.disks);
  return { ...facts, disks: { value: disks.map((one, index) => (index === 0 ? { ...one, ...change } : one)) } };
};
const withPci = (facts: HostFacts, change: (address: string) => object): HostFacts => ({
  ...facts,
  pci: { value: valueOfPart(facts.pci).map((one) => ({ ...one, ...change(one.address) })) },
});

test('an eight-GPU host pairs GPU, disk and card by their switch, whatever their bus order', () => {
  const facts = machineFacts(H200_PLANS);
  assertHostFacts(facts);
  const found = map(facts);
  assertTopologyMap(found);
  assert.deepEqual(
    found.candidates.map((one) => [
      one.gpu_pci_address,
      one.nvme_serial,
      one.fabric_parent_pci_address,
      one.fabric_vf_pci_address,
      one.module_id,
      one.numa_node,
    ]),
    H200_PLANS.map((plan) => {
      const hex = (bus: number) => bus.toString(16);
      return [
        `0000:${hex(plan.gpu)}:00.0`,
        `SN${hex(plan.nvme)}`,
        `0000:${hex(plan.card)}:00.0`,
        `0000:${hex(plan.card)}:00.1`,
        plan.module_id,
        plan.numa_node,
      ];
    }),
  );
  assert.deepEqual(
    found.candidates.flatMap((one) => one.blockers),
    [],
  );
  assert.deepEqual(
    found.prerequisites.filter((one) => !one.is_met),
    [],
  );
  assert.equal(found.reboot_required, false);
  assert.deepEqual(
    found.candidates.map((one) => [
      one.slot_index,
      one.private_ip,
      one.ovs_port,
      one.fabric_claim_mode,
      one.wipe_method,
    ]),
    H200_PLANS.map((_, index) => [index, `10.100.0.${10 + index}`, `gpslot${index}`, 'per_slot_vf', 'nvme_sanitize']),
  );
  for (const one of found.candidates) assert.match(one.mac_address ?? '', /^02(:[0-9a-f]{2}){5}$/);
});

test('a BlueField card and a second card model under a switch are not used as the fabric of the slot', () => {
  const facts = machineFacts(H200_PLANS);
  const shared = { upstream_port: '0000:b8:00.0', vendor_id: '15b3', class_code: '020000', virtual_functions_max: 8 };
  const more = [
    fn('0000:b9:01.0', { ...shared, device_id: 'a2dc', virtual_functions: ['0000:b9:01.1'] }),
    fn('0000:b9:02.0', { ...shared, device_id: '101d', virtual_functions: ['0000:b9:02.1'] }),
  ];
  assert.equal(mapHash(map({ ...facts, pci: { value: [...more, ...valueOfPart(facts.pci)] } })), mapHash(map(facts)));
});

test('a GPU with its own switch is paired by the next switch above', () => {
  const facts = machineFacts(H200_PLANS.slice(0, 2), { vendor: 'amd', nvswitches: 0 });
  const inner = fn('0000:1a:00.0', { class_code: '060400', vendor_id: '1002', upstream_port: '0000:16:00.0' });
  const nested = withPci(facts, (address) => (address === '0000:1b:00.0' ? { upstream_port: inner.address } : {}));
  const found = map({ ...nested, pci: { value: [...valueOfPart(nested.pci), inner] } });
  assert.deepEqual(
    found.candidates.map((one) => [one.gpu_vendor_device, one.nvme_serial, one.blockers.length]),
    [
      ['1002:74a1', 'SN19', 0],
      ['1002:74a1', 'SN3b', 0],
    ],
  );
});

test('a missing GPU leaves a blocked slot, and the slots of its siblings keep their numbers', () => {
  const facts = machineFacts(H200_PLANS);
  const gone = {
    ...facts,
    pci: { value: valueOfPart(facts.pci).filter((one) => one.address !== '0000:4b:00.0') },
  };
  assert.deepEqual(codes(gone, 2), ['gpu_missing']);
  const before = map(facts).candidates;
  const after = map(gone).candidates;
  assert.equal(after.length, 8);
  for (const index of [0, 1, 3, 4, 5, 6, 7]) assert.deepEqual(after[index], before[index]);
});

test('the boot disk is never paired', () => {
  const found = map(withDisk({ is_boot: true, mounts: ['/'] }));
  assert.equal(found.candidates[0]?.nvme_serial, null);
  assert.deepEqual(
    found.candidates[0]?.blockers.map((one) => one.code),
    ['nvme_boot'],
  );
});

test('users of a disk are named and block its slot', () => {
  assert.deepEqual(codes(withDisk({ mounts: ['/mnt/test-cache'] })), ['nvme_mounted']);
  assert.deepEqual(codes(withDisk({ holders: ['md0'] })), ['nvme_held']);
  assert.deepEqual(codes(withDisk({ filesystems: ['ext4'] })), ['nvme_filesystem']);
  assert.deepEqual(codes(withDisk({ partitions: ['nvme3n1p1'] })), ['nvme_filesystem']);
  assert.deepEqual(codes(withDisk({ is_swap: true })), ['nvme_swap']);
  assert.deepEqual(codes(withDisk({ namespaces: 3 })), ['nvme_namespaces']);
  assert.deepEqual(codes(withDisk({ serial: null })), ['nvme_unidentified']);
  const [blocker] = map(withDisk({ mounts: ['/mnt/test-cache'] })).candidates[0]?.blockers ?? [];
  assert.match(blocker?.message ?? '', /SN19.*mounted at \/mnt\/test-cache.*unmount/);
});

test('an unreadable disk blocks its own slot and no other', () => {
  const facts = withDisk({ unreadable: 'wipefs: Input/output error' });
  assert.deepEqual(codes(facts), ['facts_unreadable']);
  for (const slot of [1, 2, 3, 4, 5, 6, 7]) assert.deepEqual(codes(facts, slot), []);
});

test('the wipe method is one that the disk reports, and none if it reports none', () => {
  const none = { sanitize_crypto: false, sanitize_block: false, format: false, format_crypto: false, discard: false };
  const policy = (can: Partial<typeof none>) =>
    map(withDisk({ erase: { value: { ...none, ...can } } })).candidates[0]?.wipe_method;
  assert.equal(policy({ sanitize_crypto: true }), 'nvme_sanitize');
  assert.equal(policy({ sanitize_block: true, format: true, format_crypto: true }), 'nvme_format');
  assert.equal(policy({ sanitize_block: true, format: true }), 'nvme_sanitize');
  assert.equal(policy({ format: true }), 'nvme_format');
  assert.equal(policy({ format_crypto: true, discard: true }), 'blkdiscard');
  assert.equal(policy({}), null);
  assert.deepEqual(codes(withDisk({ erase: { value: none } })), ['nvme_erase_missing']);
  assert.deepEqual(codes(withDisk({ erase: { unreadable: 'nvme is not there' } })), ['nvme_erase_missing']);
});

test('a slot without a virtual function of its own is shared and blocked', () => {
  const found = map(machineFacts(H200_PLANS, { vfs: 0 }));
  assert.equal(found.candidates[0]?.fabric_claim_mode, 'shared');
  assert.deepEqual(
    found.candidates[0]?.blockers.map((one) => one.code),
    ['vf_missing'],
  );
  assert.ok(found.prerequisites.some((one) => one.name === 'sriov' && !one.is_met));
  // Two GPUs on one switch with one card: one virtual function serves one of them.
  const [plan] = H200_PLANS;
  assert.ok(plan);
  const one = machineFacts([plan], { vfs: 1 });
  const second = { ...valueOfPart(one.pci).find((each) => each.vendor_id === '10de'), address: '0000:1c:00.0' };
  const two = map({ ...one, pci: { value: [...valueOfPart(one.pci), fn('0000:1c:00.0', second)] } });
  assert.deepEqual(
    two.candidates.map((each) => each.fabric_claim_mode),
    ['per_slot_vf', 'shared'],
  );
});

test('a virtual function whose GUID is zero or unreadable is blocked on InfiniBand', () => {
  const facts = machineFacts(H200_PLANS);
  const withGuid = (guid: string | null) => ({
    ...facts,
    nics: {
      value: valueOfPart(facts.nics).map((one) => (one.pci_address === '0000:18:00.1' ? { ...one, guid } : one)),
    },
  });
  assert.deepEqual(codes(withGuid('0000:0000:0000:0000')), ['vf_guid_zero']);
  assert.deepEqual(codes(withGuid(null)), ['vf_guid_unreadable']);
});

test('IOMMU groups that are missing or reach beyond the slot block it', () => {
  const facts = machineFacts(H200_PLANS);
  const off = { ...facts, iommu_groups: { value: [] } };
  assert.deepEqual(codes(off), ['iommu_group_missing', 'iommu_group_missing']);
  assert.equal(map(off).reboot_required, true);
  const shared = map(machineFacts(H200_PLANS, { shared_groups: true })).candidates[0];
  assert.deepEqual(shared?.iommu_group_other_devices, ['0000:18:00.0', '0000:19:00.0']);
  assert.deepEqual(
    shared?.blockers.map((one) => one.code),
    ['iommu_group_shared'],
  );
  // The GPU's own audio function and the bridge above are not foreign; another function is.
  const extra = (address: string, rest: object) => ({
    ...facts,
    pci: { value: [...valueOfPart(facts.pci), fn(address, rest)] },
    iommu_groups: {
      value: valueOfPart(facts.iommu_groups).map((one) =>
        one.group === 0 ? { ...one, addresses: [...one.addresses, address] } : one,
      ),
    },
  });
  assert.deepEqual(codes(extra('0000:1b:00.1', { class_code: '040300' })), []);
  assert.deepEqual(codes(extra('0000:15:00.0', { class_code: '060400' })), []);
  assert.deepEqual(codes(extra('0000:15:00.0', { class_code: '0c0330' })), ['iommu_group_shared']);
});

test('a GPU in MIG mode, with virtual children, without module id or lost by its driver is blocked', () => {
  const facts = machineFacts(H200_PLANS, { driver: 'nvidia' });
  const gpus = valueOfPart(facts.gpus);
  const withGpu = (change: object) => ({
    ...facts,
    gpus: { value: gpus.map((one, index) => (index === 0 ? { ...one, ...change } : one)) },
  });
  assert.deepEqual(codes(withGpu({ mig_mode: 'enabled' })), ['mig_enabled']);
  assert.deepEqual(codes(withGpu({ module_id: null })), ['module_id_missing']);
  assert.deepEqual(codes({ ...facts, gpus: { value: gpus.slice(1) } }), ['gpu_unreadable', 'module_id_missing']);
  const children = withPci(facts, (address) => (address === '0000:1b:00.0' ? { mediated_devices: 2 } : {}));
  assert.deepEqual(codes(children), ['vgpu_children']);
});

test('a GPU below no switch is reported with what it lacks', () => {
  const facts = machineFacts([], { nvswitches: 0 });
  const lone = fn('0000:00:06.0', { vendor_id: '10de', device_id: '2335', class_code: '030200', numa_node: null });
  const found = map({ ...facts, pci: { value: [lone] }, iommu_groups: { value: [] } });
  assert.deepEqual(
    found.candidates[0]?.blockers.map((one) => one.code),
    ['nvme_missing', 'vf_missing', 'iommu_group_missing'],
  );
});

test('a configured list of accelerators excludes every other', () => {
  const facts = machineFacts(H200_PLANS);
  assert.equal(topologyOf(facts, { ...SETTINGS, accelerators: ['10de:2330'] }).candidates.length, 0);
  assert.equal(topologyOf(facts, { ...SETTINGS, accelerators: ['10de:2335', '15b3:1021'] }).candidates.length, 8);
});

test('a private network too small for the slots blocks those it cannot serve', () => {
  const found = topologyOf(machineFacts(H200_PLANS), { ...SETTINGS, private_network: '10.100.0.0/28' });
  assert.deepEqual(
    found.candidates.map((one) => one.private_ip !== null),
    [true, true, true, true, true, false, false, false],
  );
  assert.deepEqual(
    found.candidates[5]?.blockers.map((one) => one.code),
    ['private_ip_missing'],
  );
});

test('the hash is stable while a slot is in use and changes when its parts change', () => {
  const facts = machineFacts(H200_PLANS);
  const [before] = map(facts).candidates;
  assert.ok(before);
  const used = {
    ...before,
    gpu_uuid: null,
    module_id: null,
    iommu_group: 77,
    nvme_filesystems: ['ext4'],
    fabric_vf_guid: null,
    blockers: [{ code: 'nvme_filesystem', field: 'nvme_filesystems', message: 'in use' }],
  };
  assert.equal(candidateHash(used), candidateHash(before));
  for (const change of [
    { nvme_serial: 'other' },
    { iommu_group: null },
    { iommu_group_other_devices: ['0000:01:00.0'] },
  ])
    assert.notEqual(candidateHash({ ...before, ...change }), candidateHash(before));
  const fabric = valueOfPart(facts.fabric);
  const active = { ...fabric, partitions: fabric.partitions.map((one) => ({ ...one, is_active: true })) };
  assert.equal(mapHash(map({ ...facts, fabric: { value: active } })), mapHash(map(facts)));
  assert.notEqual(mapHash(map({ ...facts, fabric: { value: { ...fabric, partitions: [] } } })), mapHash(map(facts)));
});
