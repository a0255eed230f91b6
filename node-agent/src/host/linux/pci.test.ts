import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeTree, putTree, SWITCH_TREE } from '../../../test/tree.ts';
import { collectFacts } from '../../topology/collect.ts';
import { topologyOf } from '../../topology/topology.ts';
import { createFiles } from './files.ts';
import { createLinuxHost } from './host.ts';
import { addressesIn, listPci, portTypeOf } from './pci.ts';
import { bindPci, resetPci } from './pci-write.ts';

let tree: Awaited<ReturnType<typeof makeTree>>;
before(async () => {
  tree = await makeTree({
    ...SWITCH_TREE,
    '/commands/wipefs-nvme0n1.json': '',
    '/commands/nvme-id-ctrl-nvme0.json': '{"oacs": 23, "fna": 4, "sanicap": 3}',
  });
});
after(() => tree.remove());

test('the path of a function gives the upstream port of its switch', async () => {
  const functions = new Map((await listPci(createFiles(tree.root))).map((fn) => [fn.address, fn]));
  for (const address of ['0000:18:00.0', '0000:18:00.1', '0000:19:00.0', '0000:1b:00.0', '0000:17:1f.0'])
    assert.equal(functions.get(address)?.upstream_port, '0000:16:00.0', address);
  assert.equal(functions.get('0000:16:00.0')?.upstream_port, null);
  assert.equal(functions.get('0000:1b:00.0')?.root_port, '0000:15:01.0');
  const gpu = functions.get('0000:1b:00.0');
  assert.deepEqual(
    gpu?.bars.map((bar) => [bar.index, bar.size_bytes, bar.is_64bit, bar.is_prefetchable]),
    [
      [0, 16 * 1024 ** 2, true, true],
      [2, 256 * 1024 ** 3, true, true],
    ],
  );
  assert.deepEqual(gpu?.link, { speed: '32.0 GT/s PCIe', width: 16, max_speed: '32.0 GT/s PCIe', max_width: 16 });
  assert.deepEqual(functions.get('0000:18:00.0')?.virtual_functions, ['0000:18:00.1']);
  assert.equal(functions.get('0000:18:00.1')?.physical_function, '0000:18:00.0');
});

test('a nested domain in the path restarts the addresses', () => {
  const path = '/sys/devices/pci0000:64/0000:64:00.5/pci10000:00/10000:00:02.0/10000:01:00.0';
  assert.deepEqual(addressesIn(path), ['10000:00:02.0', '10000:01:00.0']);
});

test('the port type is read from the capability, and unknown if only the header is readable', () => {
  const config = Buffer.alloc(256);
  config[0x34] = 0x40;
  config.set([0x01, 0x50], 0x40);
  config.set([0x10, 0x00, 0x52], 0x50);
  assert.equal(portTypeOf(config), 5);
  assert.equal(portTypeOf(config.subarray(0, 64)), null);
  assert.equal(portTypeOf(null), null);
});

test('a recorded switch becomes a slot that lacks only what the recording does not contain', async () => {
  const facts = await collectFacts(createLinuxHost({ root: tree.root }));
  const [slot] = topologyOf(facts, { node_id: 'nod_1', accelerators: [], private_network: '10.100.0.0/24' }).candidates;
  assert.deepEqual(
    [slot?.gpu_pci_address, slot?.nvme_serial, slot?.nvme_device, slot?.fabric_vf_pci_address, slot?.fabric_vf_guid],
    [
      '0000:1b:00.0',
      'S64GNE0T000001',
      '/dev/disk/by-id/nvme-eui.aabbccdd00000001',
      '0000:18:00.1',
      '0c42:a103:0012:3456',
    ],
  );
  assert.equal(slot?.wipe_method, 'nvme_sanitize');
  assert.deepEqual([...new Set(slot?.blockers.map((one) => one.code))], ['facts_unreadable']);
  assert.deepEqual(
    slot?.blockers.map((one) => one.field),
    ['numa_node', 'private_ip', 'wipe_method'],
  );
});

test('a recording is never written to', async () => {
  const host = createLinuxHost({ root: tree.root });
  await assert.rejects(host.pci.bind('0000:1b:00.0', 'vfio-pci'), { code: 'unsupported' });
  await assert.rejects(host.disks.open({ serial: 'S64GNE0T000001', device: '/dev/x' }), { code: 'unsupported' });
});

const writable = async () => {
  const own = await makeTree(SWITCH_TREE);
  const folder = '/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1b:00.0';
  await putTree(own.root, {
    [`${folder}/driver_override`]: '',
    [`${folder}/reset`]: '',
    '/sys/bus/pci/drivers_probe': '',
    '/sys/bus/pci/drivers/nvidia/unbind': '',
  });
  const fabric = '/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0';
  const setConfig = (address: string, ...bytes: readonly number[]) =>
    writeFile(
      join(own.root, '/sys/bus/pci/devices', address, 'config'),
      Buffer.concat([Buffer.from(bytes), Buffer.alloc(64 - bytes.length, bytes.at(-1) === 0xff ? 0xff : 0)]),
    );
  await setConfig('0000:1b:00.0', 0xde, 0x10, 0x35, 0x23, 0x02, 0x00, 0x10, 0x00);
  return { ...own, folder, fabric, setConfig };
};

test('binding is idempotent, refuses devices of the host, and reports when the driver did not bind', async () => {
  const own = await writable();
  try {
    const files = createFiles(own.root);
    await bindPci(files, '0000:1b:00.0', 'vfio-pci');
    assert.equal(await readFile(join(own.root, own.folder, 'driver_override'), 'utf8'), '');
    for (const address of ['0000:19:00.0', '0000:16:00.0'])
      await assert.rejects(bindPci(files, address, 'vfio-pci'), { code: 'blocked' });
    await assert.rejects(bindPci(files, '0000:77:00.0', 'vfio-pci'), { code: 'drift' });
    await putTree(own.root, { [`${own.folder}/driver`]: { link: '../../../../../../bus/pci/drivers/nvidia' } });
    await assert.rejects(bindPci(files, '0000:1b:00.0', 'vfio-pci'), /held by nvidia and not by vfio-pci/);
    assert.equal(await readFile(join(own.root, own.folder, 'driver_override'), 'utf8'), 'vfio-pci\n');
    assert.equal(await readFile(join(own.root, '/sys/bus/pci/drivers/nvidia/unbind'), 'utf8'), '0000:1b:00.0');
  } finally {
    await own.remove();
  }
});

test('a reset that would affect a function outside the slot is refused with nothing reset', async () => {
  const own = await writable();
  try {
    const files = createFiles(own.root);
    await putTree(own.root, { [`${own.folder}/reset_method`]: 'flr bus\n' });
    const alone = await resetPci(files, '0000:1b:00.0', []);
    assert.deepEqual(alone, { method: 'bus', scope: ['0000:1b:00.0'], is_ok: true });
    await putTree(own.root, {
      [`${own.folder}/reset`]: '',
      [`${own.folder}/reset_method`]: 'flr bus\n',
      '/sys/bus/pci/devices/0000:1b:00.1': { link: `../../../devices${own.folder.slice(12, -12)}0000:1b:00.1` },
      [`${own.folder.slice(0, -12)}0000:1b:00.1/vendor`]: '0x10de\n',
      [`${own.folder.slice(0, -12)}0000:1b:00.1/device`]: '0x22ba\n',
      [`${own.folder.slice(0, -12)}0000:1b:00.1/class`]: '0x040300\n',
    });
    await assert.rejects(resetPci(files, '0000:1b:00.0', []), /would also reset 0000:1b:00\.1/);
    assert.equal(await readFile(join(own.root, own.folder, 'reset'), 'utf8'), '');
    const both = await resetPci(files, '0000:1b:00.0', ['0000:1b:00.1']);
    assert.deepEqual(both.scope, ['0000:1b:00.0', '0000:1b:00.1']);
  } finally {
    await own.remove();
  }
});

test('a virtual function whose IDs read as all ones is alive after a reset if its status says so', async (t) => {
  const own = await writable();
  t.after(own.remove);
  const files = createFiles(own.root);
  const vf = '0000:18:00.1';
  await putTree(own.root, { [`${own.fabric}/${vf}/reset`]: '', [`${own.fabric}/${vf}/reset_method`]: 'flr\n' });
  const reset = async () => {
    await putTree(own.root, { [`${own.fabric}/${vf}/reset_method`]: 'flr\n' });
    return resetPci(files, vf, [vf]);
  };
  assert.equal((await reset()).is_ok, false, 'an unknown result is no success');
  await own.setConfig(vf, 0xff, 0xff, 0xff, 0xff, 0x00, 0x04, 0x10, 0x00);
  assert.deepEqual(await reset(), { method: 'flr', scope: [vf], is_ok: true });
  assert.equal((await listPci(files)).find((fn) => fn.address === vf)?.vendor_id, '15b3');
  await own.setConfig(vf, 0xff);
  assert.equal((await reset()).is_ok, false);
});

test('a function whose configuration reads as all ones has no vendor, whatever the kernel caches', async (t) => {
  const own = await writable();
  t.after(own.remove);
  const files = createFiles(own.root);
  const vendors = async () => {
    const found = await listPci(files);
    return ['0000:1b:00.0', '0000:18:00.0', '0000:18:00.1', '0000:16:00.0'].map(
      (address) => found.find((fn) => fn.address === address)?.vendor_id,
    );
  };
  assert.deepEqual(await vendors(), ['10de', '15b3', '15b3', '1000'], 'most of them have no configuration to read');
  for (const address of ['0000:1b:00.0', '0000:18:00.0', '0000:18:00.1', '0000:16:00.0'])
    await own.setConfig(address, 0xff);
  assert.deepEqual(await vendors(), ['ffff', 'ffff', '15b3', '1000'], 'virtual functions and bridges are not judged');
});
