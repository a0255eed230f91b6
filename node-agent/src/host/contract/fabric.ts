/** Partitions by module ID: never two active ones with a module in common. */
import assert from 'node:assert/strict';
import type { FabricPartition } from '@gpuaas/contract/node';
import type { Host } from '../host.ts';
import { contractTest, refuses } from './subject.ts';

const activeOf = async (host: Host): Promise<readonly number[]> =>
  (await host.fabric.facts()).partitions.filter((one) => one.is_active).map((one) => one.partition_id);

const sharing = (partitions: readonly FabricPartition[], one: FabricPartition): FabricPartition | undefined =>
  partitions.find((other) => other !== one && other.module_ids.some((module) => one.module_ids.includes(module)));

/** Two partitions that share a module, and a third that shares none with the first. */
const pick = async (host: Host) => {
  const { partitions } = await host.fabric.facts();
  for (const first of partitions) {
    const rival = sharing(partitions, first);
    const apart = partitions.find((other) => other.module_ids.every((module) => !first.module_ids.includes(module)));
    if (rival !== undefined && apart !== undefined) return { first, rival, apart };
  }
  return assert.fail('the host has partitions that share a module and some that do not');
};

export const fabricTests = [
  contractTest('fabric', 'partitions that share no module are active together, each once', {}, async ({ host }) => {
    const { first, apart } = await pick(host);
    await host.fabric.activate(first.partition_id);
    await host.fabric.activate(first.partition_id);
    await host.fabric.activate(apart.partition_id);
    assert.deepEqual(new Set(await activeOf(host)), new Set([first.partition_id, apart.partition_id]));
  }),
  contractTest(
    'fabric',
    'a partition that shares a module with an active one is a conflict until that is inactive',
    {},
    async ({ host }) => {
      const { first, rival } = await pick(host);
      await host.fabric.activate(first.partition_id);
      await refuses(host.fabric.activate(rival.partition_id), 'conflict');
      assert.deepEqual([...(await activeOf(host))], [first.partition_id]);
      await host.fabric.deactivate(first.partition_id);
      await host.fabric.deactivate(first.partition_id);
      await host.fabric.activate(rival.partition_id);
      assert.deepEqual([...(await activeOf(host))], [rival.partition_id]);
    },
  ),
  contractTest('fabric', 'a partition that does not exist is refused', {}, async ({ host }) => {
    await refuses(host.fabric.activate(9999), 'drift', 'unsupported', 'host_error');
  }),
  contractTest(
    'fabric',
    'partitions are inactive after Fabric Manager restarts',
    { arrange: ['restartFabricManager'] },
    async ({ host, arrange }) => {
      const { first } = await pick(host);
      await host.fabric.activate(first.partition_id);
      await arrange.restartFabricManager();
      assert.deepEqual([...(await activeOf(host))], []);
    },
  ),
  contractTest(
    'fabric',
    'partitions declared to a restarted Fabric Manager are active, also an empty set',
    { arrange: ['restartFabricManager'] },
    async ({ host, arrange }) => {
      const { first, rival, apart } = await pick(host);
      const ids = [first.partition_id, apart.partition_id];
      for (const id of ids) await host.fabric.activate(id);
      await arrange.restartFabricManager();
      await host.fabric.declare([]);
      assert.deepEqual([...(await activeOf(host))], []);
      for (let times = 0; times < 2; times++) await host.fabric.declare(ids);
      assert.deepEqual(new Set(await activeOf(host)), new Set(ids));
      await refuses(host.fabric.declare([rival.partition_id]), 'conflict');
    },
  ),
  contractTest('gpu', 'a GPU is reported by its listed PCI address', {}, async ({ host }) => {
    const addresses = new Set((await host.pci.list()).map((fn) => fn.address));
    const gpus = await host.gpu.list();
    assert.ok(gpus.length > 0);
    for (const gpu of gpus) assert.ok(addresses.has(gpu.pci_address), gpu.pci_address);
  }),
  contractTest(
    'pci.bind',
    'a GPU bound to vfio-pci is no longer reported by the host driver',
    { slots: 1 },
    async ({ host, slots }) => {
      const gpu = slots[0]?.gpu ?? '';
      await host.pci.bind(gpu, 'vfio-pci');
      assert.ok((await host.gpu.list()).every((one) => one.pci_address !== gpu || one.uuid === null));
    },
  ),
];
