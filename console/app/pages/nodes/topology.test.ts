import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffRows, fieldLabel, valueText } from './diff.ts';
import { readTopology } from './topology.ts';
import { type Box, layOut } from './topology-layout.ts';

const hex = (value: number): string => value.toString(16).padStart(2, '0');
const under = (index: number) => ({ numa_node: index < 4 ? 0 : 1, upstream_port: `0000:${hex(index * 16)}:00.0` });

/** Eight GPUs, each with a card and a disk under its own switch. */
const facts = () => ({
  system: { value: { hostname: 'j22u15' } },
  pci: {
    value: Array.from({ length: 8 }, (_, index) => [
      { address: `0000:${hex(index * 16 + 1)}:00.0`, driver: 'vfio-pci', ...under(index) },
      { address: `0000:${hex(index * 16 + 2)}:00.0`, ...under(index) },
      { address: `0000:${hex(index * 16 + 2)}:00.1`, physical_function: `0000:${hex(index * 16 + 2)}:00.0` },
      { address: `0000:${hex(index * 16 + 3)}:00.0`, ...under(index) },
    ]).flat(),
  },
  gpus: {
    value: Array.from({ length: 8 }, (_, index) => ({
      pci_address: `0000:${hex(index * 16 + 1)}:00.0`,
      model: 'H200',
      memory_mib: 143_360,
      module_id: index + 1,
    })),
  },
  nics: {
    value: Array.from({ length: 8 }, (_, index) => ({
      pci_address: `0000:${hex(index * 16 + 2)}:00.0`,
      rdma_device: `mlx5_${index}`,
    })),
  },
  disks: {
    value: Array.from({ length: 8 }, (_, index) => ({
      pci_address: `0000:${hex(index * 16 + 3)}:00.0`,
      name: `nvme${index}n1`,
      serial: `S${index}`,
      size_bytes: 3.84e12,
    })),
  },
  fabric: {
    value: {
      nvswitches: ['0000:f0:00.0'],
      partitions: [
        { partition_id: 1, module_ids: [1, 2, 3, 4, 5, 6, 7, 8], is_active: false },
        { partition_id: 2, module_ids: [1, 2], is_active: true },
      ],
    },
  },
});

const binding = {
  slot_index: 5,
  gpu_pci_address: '0000:51:00.0',
  nvme_serial: 'S5',
  fabric_vf_pci_address: '0000:52:00.1',
};

test('devices are grouped under their PCIe switch and NUMA node', () => {
  const topology = readTopology(facts());
  assert.deepEqual(topology.unreadable, []);
  assert.deepEqual(
    topology.numaNodes.map(({ numa, switches }) => [numa, switches.length]),
    [
      [0, 4],
      [1, 4],
    ],
  );
  assert.deepEqual(
    topology.numaNodes[1]?.switches[0]?.devices.map(({ kind, name }) => [kind, name]),
    [
      ['gpu', 'H200'],
      ['nic', 'mlx5_4'],
      ['nvme', 'nvme4n1'],
    ],
  );
});

test('a slot is linked to its GPU, the card of its virtual function and its disk', () => {
  const devices = readTopology(facts(), [binding]).numaNodes.flatMap(({ switches }) =>
    switches.flatMap((one) => one.devices),
  );
  assert.deepEqual(
    devices.flatMap(({ kind, slot, address }) => (slot === 5 ? [[kind, address]] : [])),
    [
      ['gpu', '0000:51:00.0'],
      ['nic', '0000:52:00.0'],
      ['nvme', '0000:53:00.0'],
    ],
  );
});

test('an unreadable part shows its error and never looks empty', () => {
  const { unreadable, numaNodes } = readTopology({ ...facts(), disks: { unreadable: 'lsblk was refused.' } });
  assert.deepEqual(unreadable, ['disks: lsblk was refused.']);
  assert.equal(numaNodes.length, 2);
  for (const strange of [null, 'x', [], {}, { gpus: 4, pci: { value: 'no' } }, { gpus: { value: [null, 3, {}] } }])
    assert.ok(readTopology(strange).unreadable.length > 0, JSON.stringify(strange));
});

const overlaps = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

test('no two elements of the diagram overlap or lie outside of it', () => {
  const several = facts();
  // Two GPUs under one switch, and a disk under none.
  for (const fn of several.pci.value) {
    if (fn.address.startsWith('0000:1')) Object.assign(fn, under(0));
    if (fn.address === '0000:33:00.0') Object.assign(fn, { upstream_port: null });
  }
  for (const given of [facts(), several, { ...facts(), fabric: { unreadable: 'no driver' } }]) {
    const layout = layOut(readTopology(given, [binding]));
    const boxes: readonly Box[] = [...layout.switches, ...layout.devices, ...layout.sets.flatMap(({ cells }) => cells)];
    for (const [index, box] of boxes.entries()) {
      assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= layout.width && box.y + box.height <= layout.height);
      for (const other of boxes.slice(index + 1)) assert.equal(overlaps(box, other), false);
    }
    for (const [index, numa] of layout.numaNodes.entries())
      for (const other of layout.numaNodes.slice(index + 1)) assert.equal(overlaps(numa, other), false);
    assert.equal(layout.devices.length, 24);
  }
});

test('a host without facts gives an empty diagram', () => {
  const layout = layOut(readTopology({}));
  assert.deepEqual([layout.devices, layout.switches, layout.numaNodes, layout.nvswitches], [[], [], [], null]);
});

test('a difference has one row per field, labeled and in a fixed order', () => {
  assert.deepEqual(
    diffRows({
      zz_new_field: { approved: null, found: ['a', 'b'] },
      nvme_serial: { approved: 'S1', found: 'S2' },
      gpu_pci_address: { approved: '0000:1b:00.0', found: null },
    }),
    [
      { field: 'gpu_pci_address', label: 'GPU address', approved: '0000:1b:00.0', found: 'none' },
      { field: 'nvme_serial', label: 'NVMe serial', approved: 'S1', found: 'S2' },
      { field: 'zz_new_field', label: 'Zz new field', approved: 'none', found: 'a, b' },
    ],
  );
  assert.equal(fieldLabel('ovs_port'), 'Switch port');
  assert.deepEqual([{ is_ok: true, count: 2 }, [], '', false, 0].map(valueText), [
    'is ok yes; count 2',
    'none',
    'none',
    'no',
    '0',
  ]);
});
