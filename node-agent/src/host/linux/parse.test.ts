import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modeOf, partitionsOf } from './fabric.ts';
import { kernelAddressOf, parseNvidiaSmi } from './gpu/nvidia.ts';
import { addressesOf, bridgesOf } from './network.ts';

test('bridges are listed with their ports, whether they have none, one or many', () => {
  const bridges = {
    headings: ['name', 'ports'],
    data: [
      [
        'ovsbr0',
        [
          'set',
          [
            ['uuid', 'b'],
            ['uuid', 'a'],
          ],
        ],
      ],
      ['ovsbr1', ['uuid', 'c']],
      ['ovsbr2', ['set', []]],
    ],
  };
  const ports = {
    headings: ['_uuid', 'name'],
    data: [
      [['uuid', 'a'], 'ovsbr0'],
      [['uuid', 'b'], 'vnet1'],
      [['uuid', 'c'], 'ovsbr1'],
    ],
  };
  assert.deepEqual(bridgesOf(JSON.stringify(bridges), JSON.stringify(ports)), [
    { name: 'ovsbr0', ports: ['ovsbr0', 'vnet1'] },
    { name: 'ovsbr1', ports: ['ovsbr1'] },
    { name: 'ovsbr2', ports: [] },
  ]);
  assert.throws(() => bridgesOf('{}', '{}'), /printed no table/);
  assert.throws(() => bridgesOf(JSON.stringify(bridges), 'ovs-vsctl: no'), /did not print JSON/);
});

test('the first IPv4 address of an interface is used', () => {
  const links = [
    { ifname: 'lo', addr_info: [{ family: 'inet6', local: '::1', prefixlen: 128 }] },
    { ifname: 'ovsbr0', addr_info: [{ family: 'inet', local: '10.100.0.1', prefixlen: 24 }] },
  ];
  assert.deepEqual([...addressesOf(JSON.stringify(links))], [['ovsbr0', '10.100.0.1/24']]);
});

test('partitions are listed by module ID, and a listing without GPUs is an error', () => {
  const gpu = (physicalId: number) => ({ physicalId, uuid: '', pciBusId: '', numNvLinksAvailable: 18 });
  const list = {
    partitionInfo: [
      { partitionId: 3, isActive: 1, numGpus: 2, gpuInfo: [gpu(3), gpu(1)] },
      { partitionId: 7, isActive: 0, numGpus: 1, gpuInfo: [gpu(1)] },
    ],
  };
  assert.deepEqual(partitionsOf(JSON.stringify(list)), [
    { partition_id: 3, module_ids: [1, 3], is_active: true },
    { partition_id: 7, module_ids: [1], is_active: false },
  ]);
  assert.throws(() => partitionsOf('{"partitionInfo":[{"partitionId":1}]}'), /without its GPUs/);
  assert.equal(modeOf('# FABRIC_MODE=2\nFABRIC_MODE=1\n'), 'shared_nvswitch');
  assert.equal(modeOf(null), null);
});

test('a truncated or empty driver listing is an error, not a host without GPUs', () => {
  for (const text of ['', 'NVIDIA-SMI has failed', '<nvidia_smi_log></nvidia_smi_log>'])
    assert.throws(() => parseNvidiaSmi(text), /nvidia-smi/);
  assert.equal(kernelAddressOf('00000000:1B:00.0'), '0000:1b:00.0');
  assert.equal(kernelAddressOf('00010000:01:00.0'), '10000:01:00.0');
});
