/** Trees and outputs of real hosts: the parsers handle all of them. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fixturePath, readFixture, requiresFixture, unpackFixture } from '../../../test/fixtures.ts';
import { assertHostFacts, assertTopologyMap } from '../../../test/shapes.ts';
import { makeTree, putTree, SWITCH_TREE } from '../../../test/tree.ts';
import { collectFacts } from '../../topology/collect.ts';
import { topologyOf } from '../../topology/topology.ts';
import { createFiles } from './files.ts';
import { parseNvidiaSmi } from './gpu/nvidia.ts';
import { createLinuxHost } from './host.ts';
import { listNics } from './nics.ts';
import { eraseAbilityOf } from './nvme.ts';
import { listPci } from './pci.ts';
import { signaturesOf } from './signatures.ts';

const SETTINGS = { node_id: 'nod_1', accelerators: [], private_network: '10.100.0.0/24' };

/** The number of functions of each; null if the recording lacks files that the kernel always has. */
const TREES = [
  ['topology/hwloc/32em64t-2n8c+dax+nvme+mic+dimms.sysfs.tar.bz2', '32em64t-2n8c+1mic', 137],
  ['topology/ghw/linux-amd64-8581cf3a529e5d8b97ea876eade2f60d.sysfs.tar.gz', '.', 82],
  ['topology/ghw/linux-amd64-accel-nvidia.sysfs.tar.gz', '.', 29],
  ['topology/hwloc/nvidiagpunumanodes.sysfs.tar.bz2', 'nvidiagpunumanodes', null],
] as const;

for (const [path, folder, count] of TREES)
  test(`the tree of ${path.split('/').at(-1)} gives valid facts and no slot without blockers`, {
    skip: requiresFixture(path),
  }, async (context) => {
    const tree = await unpackFixture(path);
    context.after(tree.remove);
    const facts = await collectFacts(createLinuxHost({ root: join(tree.root, folder) }));
    assertHostFacts(facts);
    assert.equal('value' in facts.pci ? facts.pci.value.length : null, count);
    // None of them contains swap, tools or groups: unreadable, not empty.
    for (const part of ['system', 'disks', 'iommu_groups', 'tools'] as const)
      assert.ok('unreadable' in facts[part], part);
    const map = topologyOf(facts, SETTINGS);
    assertTopologyMap(map);
    assert.equal(map.candidates.length, path.includes('accel-nvidia') ? 1 : 0);
    for (const candidate of map.candidates) assert.notDeepEqual(candidate.blockers, []);
  });

const SMI = 'topology/nvidia-smi-xml/a100-sxm4-v12.xml';
test('MIG mode of a GPU is read from the listing of the driver', { skip: requiresFixture(SMI) }, () => {
  const [gpu] = parseNvidiaSmi(readFixture(SMI));
  assert.deepEqual([gpu?.model, gpu?.pci_address, gpu?.mig_mode], ['NVIDIA A100-SXM4-80GB', '0000:01:00.0', 'enabled']);
  assert.equal(gpu?.module_id, 4);
});

const OLD = 'h200-guest/nvidia-smi-q.xml';
test('a guest OS with a passed-through H200 reports its module ID and no fabric', {
  skip: requiresFixture(OLD),
}, () => {
  const [gpu] = parseNvidiaSmi(readFixture(OLD));
  assert.deepEqual([gpu?.module_id, gpu?.fabric_state, gpu?.memory_mib], [6, 'N/A', 143_771]);
});

const CONSUMER = 'topology/nvidia-smi-xml/rtx-3080-v13.xml';
test('an N/A value of the driver is unknown', { skip: requiresFixture(CONSUMER) }, () => {
  const [gpu] = parseNvidiaSmi(readFixture(CONSUMER));
  assert.deepEqual([gpu?.mig_mode, gpu?.ecc_uncorrected], [null, null]);
});

const LSBLK = 'topology/gpud/disk/lsblk.1.json';
test('every lsblk listing of real hosts is parsed', { skip: requiresFixture(LSBLK) }, () => {
  const folder = 'topology/gpud/disk';
  for (const name of readdirSync(fixturePath(folder)).filter((one) => /^lsblk.*\.json$/.test(one)))
    assert.ok(signaturesOf(readFixture(`${folder}/${name}`)).size > 0, name);
  const mounted = [...signaturesOf(readFixture(LSBLK))].filter(
    ([name, types]) => name.startsWith('nvme') && types.length > 0,
  );
  assert.ok(mounted.length >= 6);
});

const ADAPTERS = 'topology/gpud/sys-class-infiniband-h100';
test('InfiniBand adapters and a BlueField are distinguished', { skip: requiresFixture(ADAPTERS) }, async (context) => {
  const tree = await makeTree(SWITCH_TREE);
  context.after(tree.remove);
  const card = '/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0/infiniband';
  const read = async (name: string) => {
    const of = (path: string) => readFixture(`${ADAPTERS}/${name}/${path}`);
    await putTree(tree.root, {
      [`${card}/mlx5_0/hca_type`]: of('hca_type'),
      [`${card}/mlx5_0/ports/1/link_layer`]: of('ports/1/link_layer'),
      [`${card}/mlx5_0/ports/1/state`]: of('ports/1/state'),
    });
    const files = createFiles(tree.root);
    return (await listNics(files, await listPci(files))).find((nic) => nic.pci_address === '0000:18:00.0');
  };
  const fabric = await read('mlx5_4');
  assert.deepEqual([fabric?.link_layer, fabric?.state, fabric?.is_bluefield], ['infiniband', 'ACTIVE', false]);
  const bond = await read('mlx5_bond_0');
  assert.deepEqual([bond?.link_layer, bond?.is_bluefield], ['ethernet', true]);
});

const NVME = 'topology/ironic/nvme_cli_info_template_crypto_supported.txt';
test('real disks report their supported wipe methods', { skip: requiresFixture(NVME) }, () => {
  const can = (name: string) => eraseAbilityOf(readFixture(`topology/ironic/nvme_cli_info_template_${name}.txt`));
  assert.deepEqual([can('crypto_supported').format, can('crypto_supported').format_crypto], [true, true]);
  assert.equal(can('format_unsupported').format, false);
  assert.deepEqual([can('userdata_supported').format, can('userdata_supported').format_crypto], [true, false]);
});
