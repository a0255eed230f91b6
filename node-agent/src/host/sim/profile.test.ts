import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertHostFacts } from '../../../test/shapes.ts';
import { collectFacts } from '../../topology/collect.ts';
import { topologyOf } from '../../topology/topology.ts';
import { PROFILE_NAMES, type ProfileName } from './profile.ts';
import { createSimHost } from './sim-host.ts';

const dir = await mkdtemp(join(tmpdir(), 'sim-profile-'));
after(() => rm(dir, { recursive: true, force: true }));

const hostOf = (profile: ProfileName, name = 'j22u15') =>
  createSimHost({ dir: join(dir, `${profile}-${name}`), name, profile });
const settings = { node_id: 'nod_01jz0000000000000000000001', accelerators: [], private_network: '10.100.0.0/24' };

for (const profile of PROFILE_NAMES) {
  test(`a new ${profile} gives valid facts and a slot without blockers for every GPU`, async () => {
    const host = hostOf(profile);
    const facts = await collectFacts(host);
    assertHostFacts(facts);
    for (const [part, fact] of Object.entries(facts)) {
      assert.ok(typeof fact !== 'object' || 'value' in fact, `${part} can be read`);
    }
    const { candidates } = topologyOf(facts, settings);
    assert.deepEqual(
      candidates.map((one) => [one.slot_index, one.gpu_pci_address, one.nvme_serial, one.fabric_vf_pci_address]),
      host.slots.map((slot) => [slot.index, slot.gpu, slot.serial, slot.vf]),
    );
    assert.deepEqual(
      candidates.flatMap((one) => one.blockers),
      [],
    );
  });
}

test('the H200 host has the topology of the real one', async () => {
  const host = hostOf('dell-xe9680-h200');
  const functions = await host.pci.list();
  const byAddress = new Map(functions.map((fn) => [fn.address, fn]));
  const gpus = functions.filter((fn) => fn.class_code === '030200');
  const busOf = (address: string): string => address.slice(5, 7);

  assert.deepEqual(
    gpus.map((fn) => busOf(fn.address)),
    ['1b', '3c', '4b', '5c', '9a', 'bb', 'cd', 'dc'],
  );
  assert.deepEqual(
    host.slots.map((slot) => slot.module_id),
    [2, 4, 3, 1, 5, 7, 6, 8],
  );
  assert.deepEqual(
    host.slots.map((slot) => busOf(slot.nic)),
    ['18', '3a', '4d', '5d', '9b', 'ba', 'cc', 'db'],
  );
  assert.deepEqual(
    gpus.map((fn) => fn.numa_node),
    [0, 0, 0, 0, 1, 1, 1, 1],
  );
  for (const gpu of gpus) {
    assert.equal(`${gpu.vendor_id}:${gpu.device_id}`, '10de:2335');
    assert.deepEqual(
      gpu.bars.map((bar) => bar.size_bytes),
      [16 * 1024 ** 2, 256 * 1024 ** 3, 32 * 1024 ** 2],
    );
    const below = functions.filter((fn) => fn.upstream_port === gpu.upstream_port && fn.physical_function === null);
    const countOf = (code: string): number => below.filter((fn) => fn.class_code.startsWith(code)).length;
    assert.deepEqual([countOf('0302'), countOf('0108'), countOf('0207'), countOf('0107')], [1, 1, 1, 1]);
  }
  for (const slot of host.slots) assert.equal(byAddress.get(slot.nic)?.virtual_functions.length, 16);
  assert.equal(byAddress.get('0000:bc:00.0')?.device_id, 'a2dc');
  assert.equal(byAddress.get('0000:bc:00.0')?.upstream_port, byAddress.get('0000:bb:00.0')?.upstream_port);
});

test('the NVSwitches of the H200 host share one group on NUMA node 1 and there are 15 partitions', async () => {
  const host = hostOf('dell-xe9680-h200');
  const { nvswitches, partitions, manager } = await host.fabric.facts();
  assert.deepEqual(
    nvswitches,
    ['83', '84', '85', '86'].map((bus) => `0000:${bus}:00.0`),
  );
  const switches = (await host.pci.list()).filter((fn) => nvswitches.includes(fn.address));
  assert.equal(new Set(switches.map((fn) => fn.iommu_group)).size, 1);
  assert.ok(switches.every((fn) => fn.numa_node === 1 && fn.driver === 'nvidia-nvswitch'));
  assert.equal(manager.mode, 'shared_nvswitch');
  assert.deepEqual(
    partitions.map(({ module_ids }) => module_ids.join('')),
    ['12345678', '1234', '5678', '13', '24', '57', '68', '1', '2', '3', '4', '5', '6', '7', '8'],
  );
});

test('virtual functions have GUIDs that are all different and never zero', async () => {
  const nics = await hostOf('dell-xe9680-h200').network.nics();
  const guids = nics.filter((nic) => nic.link_layer === 'infiniband').map((nic) => nic.guid);
  assert.equal(guids.length, 8 * 17);
  assert.equal(new Set(guids).size, guids.length);
  assert.ok(guids.every((guid) => guid !== null && /[1-9a-f]/.test(guid)));
});

test('the same name always gives the same host, and two names share no serial', async () => {
  const serials = async (name: string) =>
    (await hostOf('dell-xe9680-h200', name).disks.list()).map((disk) => disk.serial);
  const one = await serials('j22u15');
  const again = createSimHost({ dir: join(dir, 'elsewhere'), name: 'j22u15', profile: 'dell-xe9680-h200' });
  assert.deepEqual(
    (await again.disks.list()).map((disk) => disk.serial),
    one,
  );
  const other = new Set(await serials('j22u11'));
  assert.ok(one.every((serial) => !other.has(serial)));
});
