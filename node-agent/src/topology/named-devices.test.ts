/** Devices that a site configures by vendor:device, as necessary if their class is generic, follow the same rules. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostFacts, PciFunction } from '@gpuaas/contract/node';
import { ConfigReader } from '@gpuaas/kit';
import { H200_PLANS, machineFacts } from '../../test/vm-facts.ts';
import { readDeviceIds } from '../config.ts';
import { isWholeFabric } from './kinds.ts';
import { topologyOf } from './topology.ts';

const SETTINGS = { node_id: 'nod_01', private_network: '10.100.0.0/24' };
const NAMED = { ...SETTINGS, accelerators: ['1234:11e8'], fabric_functions: ['1b36:0005'] };
const PLANS = H200_PLANS.slice(0, 4);

const changed = (facts: HostFacts, change: (one: PciFunction) => Partial<PciFunction>): HostFacts => {
  assert.ok('value' in facts.pci);
  return { ...facts, pci: { value: facts.pci.value.map((one) => ({ ...one, ...change(one) })) } };
};

/** GPUs and cards of a generic class, the cards without virtual functions. */
const unclassified = (): HostFacts => {
  const facts = machineFacts(PLANS, { vfs: 0, nvswitches: 0 });
  return changed({ ...facts, gpus: { value: [] }, nics: { value: [] } }, (one) => {
    if (one.class_code === '030200') return { vendor_id: '1234', device_id: '11e8', class_code: '00ff00' };
    if (one.class_code === '020700')
      return { vendor_id: '1b36', device_id: '0005', class_code: '00ff00', virtual_functions_max: 0, driver: null };
    return {};
  });
};

test('named devices are paired by their PCIe switch, and a whole function is the fabric of its slot', () => {
  const { candidates, prerequisites } = topologyOf(unclassified(), NAMED);
  assert.deepEqual(
    candidates.map((one) => [
      one.gpu_pci_address,
      one.nvme_serial,
      one.fabric_vf_pci_address,
      one.fabric_claim_mode,
      one.blockers,
    ]),
    PLANS.map(({ gpu, nvme, card }) => [
      `0000:${gpu.toString(16)}:00.0`,
      `SN${nvme.toString(16)}`,
      `0000:${card.toString(16)}:00.0`,
      'per_slot_vf',
      [],
    ]),
  );
  assert.deepEqual(
    prerequisites.filter((one) => !one.is_met),
    [],
  );
});

test('unnamed devices are ignored', () => {
  assert.deepEqual(topologyOf(unclassified(), { ...SETTINGS, accelerators: [] }).candidates, []);
});

test('a named device that shares its group with the host is refused like any other', () => {
  const facts = unclassified();
  const [first] = PLANS;
  const shared = [first?.gpu ?? 0, first?.nvme ?? 0].map((bus) => `0000:${bus.toString(16)}:00.0`);
  const [slot] = topologyOf({ ...facts, iommu_groups: { value: [{ group: 3, addresses: shared }] } }, NAMED).candidates;
  const codes = slot?.blockers.map((one) => one.code);
  assert.deepEqual(codes, ['iommu_group_missing', 'iommu_group_shared']);
});

test('of a card with virtual functions only the named ones are passed through', () => {
  const vfsOf = (fabric_functions: readonly string[]) =>
    topologyOf(machineFacts(PLANS), { ...SETTINGS, accelerators: [], fabric_functions }).candidates.map(
      (one) => one.fabric_vf_pci_address,
    );
  assert.deepEqual(vfsOf(['15b3:101e']), vfsOf([]));
  assert.deepEqual(vfsOf(['15b3:1017']), [null, null, null, null]);
});

test('devices that the host needs are never passed through whole, even if named', () => {
  const facts = machineFacts(PLANS);
  assert.ok('value' in facts.pci);
  const everything = [...new Set(facts.pci.value.map((one) => `${one.vendor_id}:${one.device_id}`))];
  const whole = facts.pci.value.filter((one) => isWholeFabric(one, everything));
  assert.deepEqual([...new Set(whole.map((one) => one.class_code))], ['030200']);
});

test('invalid IDs, and one ID in two lists, are named in the error', () => {
  const read = (env: Readonly<Record<string, string>>) => {
    const reader = new ConfigReader(env);
    const ids = readDeviceIds(reader);
    reader.finish();
    return ids;
  };
  assert.deepEqual(read({ GPUAAS_NODE_GPU_IDS: '10DE:2335, 10de:2330', GPUAAS_NODE_FABRIC_IDS: '15b3:101e' }), {
    accelerators: ['10de:2335', '10de:2330'],
    fabric_functions: ['15b3:101e'],
  });
  assert.throws(() => read({ GPUAAS_NODE_GPU_IDS: '10de' }), /GPUAAS_NODE_GPU_IDS must be ids/);
  assert.throws(
    () => read({ GPUAAS_NODE_GPU_IDS: '10de:2335', GPUAAS_NODE_FABRIC_IDS: '10de:2335' }),
    /GPUAAS_NODE_FABRIC_IDS must not repeat/,
  );
});
