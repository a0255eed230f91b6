/** A recording of this agent on a host with one H200 is in test/recordings/h200-guest, with names removed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { assertHostFacts, assertTopologyMap } from '../../../test/shapes.ts';
import { collectFacts } from '../../topology/collect.ts';
import { topologyOf } from '../../topology/topology.ts';
import { createLinuxHost } from './host.ts';

const ROOT = fileURLToPath(new URL('../../../test/recordings/h200-guest', import.meta.url));
const facts = await collectFacts(createLinuxHost({ root: ROOT }));
const map = topologyOf(facts, { node_id: 'nod_01', accelerators: [], private_network: '10.100.0.0/24' });

test('a real H200 is read as one GPU of 143771 MiB without a fabric', () => {
  assertHostFacts(facts);
  assert.ok('value' in facts.gpus && 'value' in facts.pci);
  assert.equal(facts.gpus.value.length, 1);
  const [gpu] = facts.gpus.value;
  assert.deepEqual(
    [gpu?.pci_address, gpu?.model, gpu?.memory_mib, gpu?.fabric_state, gpu?.mig_mode, gpu?.ecc_mode],
    ['0000:00:06.0', 'NVIDIA H200', 143_771, 'N/A', 'disabled', 'enabled'],
  );
  assert.deepEqual([gpu?.module_id, gpu?.ecc_uncorrected, gpu?.driver_version], [1, 0, '580.159.04']);
  const fn = facts.pci.value.find((one) => one.address === gpu?.pci_address);
  assert.deepEqual([fn?.vendor_id, fn?.device_id, fn?.class_code, fn?.driver], ['10de', '2335', '030200', 'nvidia']);
  assert.equal(fn?.bars.find((bar) => bar.index === 2)?.size_bytes, 256 * 1024 ** 3);
});

test('missing parts are reported as blockers and prerequisites, and nothing is invented', () => {
  assertTopologyMap(map);
  assert.equal(map.candidates.length, 1);
  const [slot] = map.candidates;
  assert.equal(slot?.gpu_vendor_device, '10de:2335');
  assert.deepEqual(
    slot?.blockers.map((one) => [one.code, one.field]),
    [
      ['facts_unreadable', 'private_ip'],
      ['nvme_missing', 'nvme_serial'],
      ['vf_missing', 'fabric_vf_pci_address'],
      ['iommu_group_missing', 'iommu_group'],
    ],
  );
  assert.deepEqual([slot?.nvme_serial, slot?.fabric_claim_mode, slot?.iommu_group], [null, null, null]);
  const met = map.prerequisites.filter((one) => one.is_met).map((one) => one.name);
  assert.deepEqual(met, ['accelerators', 'kvm', 'cloud_init_tools', 'fabric_manager', 'secure_boot', 'pending_reboot']);
  assert.equal(map.reboot_required, true);
});

test('its system disk is seen as in use, and unreadable contents are not taken for empty', () => {
  assert.ok('value' in facts.disks);
  const disk = facts.disks.value.find((one) => one.name === 'vda');
  assert.deepEqual([disk?.is_boot, disk?.mounts], [true, ['/']]);
  assert.notEqual(disk?.unreadable, undefined);
});
