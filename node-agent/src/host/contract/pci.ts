/** PCI: list and IOMMU groups agree; bindings and resets reach only the allowed functions. */
import assert from 'node:assert/strict';
import type { PciFunction } from '@gpuaas/contract/node';
import type { Host } from '../host.ts';
import { contractTest, refuses, slotAt } from './subject.ts';

const functionAt = async (host: Host, address: string): Promise<PciFunction> => {
  const fn = (await host.pci.list()).find((one) => one.address === address);
  assert.ok(fn, `${address} is listed`);
  return fn;
};

const NOWHERE = 'ffff:ff:1f.7';

export const pciTests = [
  contractTest(
    'pci',
    'every function is listed once, and so is every function that it refers to',
    {},
    async ({ host }) => {
      const list = await host.pci.list();
      const addresses = new Set(list.map((fn) => fn.address));
      assert.ok(list.length > 0);
      assert.equal(addresses.size, list.length);
      for (const fn of list) {
        for (const other of [fn.physical_function, fn.upstream_port, fn.root_port, ...fn.virtual_functions]) {
          assert.ok(other === null || addresses.has(other), `${fn.address} points to ${other}`);
        }
        assert.ok(fn.virtual_functions.length <= fn.virtual_functions_max || fn.virtual_functions_max === 0);
      }
      for (const fn of list.filter((one) => one.physical_function !== null)) {
        const parent = list.find((one) => one.address === fn.physical_function);
        assert.ok(parent?.virtual_functions.includes(fn.address), `${fn.physical_function} knows ${fn.address}`);
      }
    },
  ),
  contractTest('pci', 'groups and functions agree on group members', {}, async ({ host }) => {
    const list = await host.pci.list();
    const groups = await host.pci.iommuGroups();
    const grouped = new Map(
      groups.flatMap(({ group, addresses }) => addresses.map((address) => [address, group] as const)),
    );
    for (const fn of list) assert.equal(grouped.get(fn.address) ?? null, fn.iommu_group, fn.address);
    assert.equal(grouped.size, list.filter((fn) => fn.iommu_group !== null).length);
  }),
  contractTest('pci.bind', 'a function that is bound twice is bound', { slots: 1 }, async (subject) => {
    const { gpu } = slotAt(subject, 0);
    await subject.host.pci.bind(gpu, 'vfio-pci');
    await subject.host.pci.bind(gpu, 'vfio-pci');
    assert.equal((await functionAt(subject.host, gpu)).driver, 'vfio-pci');
  }),
  contractTest(
    'pci.bind',
    'a function can be left without a driver, and no other function changes',
    { slots: 2 },
    async (subject) => {
      const before = await functionAt(subject.host, slotAt(subject, 1).gpu);
      await subject.host.pci.bind(slotAt(subject, 0).gpu, null);
      await subject.host.pci.bind(slotAt(subject, 0).gpu, null);
      assert.equal((await functionAt(subject.host, slotAt(subject, 0).gpu)).driver, null);
      assert.deepEqual(await functionAt(subject.host, slotAt(subject, 1).gpu), before);
    },
  ),
  contractTest('pci.bind', 'a missing function is refused', {}, async ({ host }) => {
    await refuses(host.pci.bind(NOWHERE, 'vfio-pci'), 'drift', 'host_error');
  }),
  contractTest('pci.bind', 'a bridge is refused and keeps its driver', {}, async ({ host }) => {
    const bridge = (await host.pci.list()).find((fn) => fn.class_code.startsWith('0604'));
    assert.ok(bridge, 'a host has a bridge');
    await refuses(host.pci.bind(bridge.address, 'vfio-pci'), 'unsupported', 'blocked');
    assert.equal((await functionAt(host, bridge.address)).driver, bridge.driver);
  }),
  contractTest('pci.reset', 'a reset reports its method and its scope', { slots: 1 }, async (subject) => {
    const { gpu } = slotAt(subject, 0);
    const reset = await subject.host.pci.reset(gpu, [gpu]);
    assert.equal(reset.is_ok, true);
    assert.ok(reset.method.length > 0);
    assert.deepEqual([...reset.scope], [gpu]);
  }),
  contractTest(
    'pci.reset',
    'a reset that would reach functions outside the allowed set is refused',
    { slots: 1, arrange: ['widenReset'] },
    async (subject) => {
      const { gpu } = slotAt(subject, 0);
      await subject.arrange.widenReset(gpu);
      await refuses(subject.host.pci.reset(gpu, [gpu]), 'blocked');
      const all = (await subject.host.pci.list()).map((fn) => fn.address);
      const reset = await subject.host.pci.reset(gpu, all);
      assert.equal(reset.is_ok, true);
      assert.ok(reset.scope.length > 1);
    },
  ),
  contractTest(
    'pci.reset',
    'a GPU that fell off the bus is listed with vendor ffff, and its reset reports a failure',
    { slots: 2, arrange: ['dropOffBus'] },
    async (subject) => {
      const [lost, other] = [slotAt(subject, 0).gpu, slotAt(subject, 1).gpu];
      const before = await functionAt(subject.host, lost);
      await subject.arrange.dropOffBus(lost);
      assert.deepEqual(await functionAt(subject.host, lost), { ...before, vendor_id: 'ffff' });
      assert.notEqual((await functionAt(subject.host, other)).vendor_id, 'ffff');
      assert.equal((await subject.host.pci.reset(lost, [lost])).is_ok, false);
    },
  ),
  contractTest('pci.reset', 'a missing function is not reset', {}, async ({ host }) => {
    await refuses(host.pci.reset(NOWHERE, [NOWHERE]), 'drift', 'host_error');
  }),
];
