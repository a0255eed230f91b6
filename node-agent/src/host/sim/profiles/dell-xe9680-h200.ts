/**
 * A Dell XE9680 with eight H200: eight PCIe switches, four per NUMA node, each with one GPU, one NVMe, one ConnectX-7
 * and a management endpoint. Bus order does not identify devices: below some switches the card comes before the GPU,
 * below others after. A BlueField-3 shares the switch of the GPU at bb, the NVSwitches are all on NUMA node 1, and the
 * kernel numbers the cards with a gap.
 */
import { HGX_PARTITIONS } from '@gpuaas/contract';
import type { OtherFunction, Profile, SlotPlace } from '../profile-shape.ts';
import { BOOT_DRIVE, BRIDGE, DATA_DRIVE, GIB, MIB, TOOLS } from './common.ts';

type Place = readonly [
  root: string,
  up: string,
  gpu: string,
  module: number,
  nvme: string,
  nic: string,
  mlx: number,
  management: string,
];

/** NUMA node 0 holds the first four. */
const PLACES: readonly Place[] = [
  ['15', '16', '1b', 2, '19', '18', 0, '1a'],
  ['37', '38', '3c', 4, '3b', '3a', 1, '3d'],
  ['48', '49', '4b', 3, '4c', '4d', 2, '4e'],
  ['59', '5a', '5c', 1, '5e', '5d', 3, '5f'],
  ['97', '98', '9a', 5, '9c', '9b', 4, '9d'],
  ['b7', 'b8', 'bb', 7, 'bd', 'ba', 5, 'be'],
  ['c7', 'c8', 'cd', 6, 'ca', 'cc', 8, 'cb'],
  ['d7', 'd8', 'dc', 8, 'da', 'db', 9, 'dd'],
];

const at = (bus: string): string => `0000:${bus}:00.0`;

const slots: readonly SlotPlace[] = PLACES.map(([root, up, gpu, module, nvme, nic, mlx, management], index) => ({
  numa_node: index < 4 ? 0 : 1,
  root_port: `0000:${root}:01.0`,
  upstream_port: at(up),
  gpu: at(gpu),
  module_id: module,
  nvme: at(nvme),
  nic: at(nic),
  rdma_device: `mlx5_${mlx}`,
  management: at(management),
}));

const nvswitches: readonly OtherFunction[] = ['83', '84', '85', '86'].map((bus) => ({
  address: at(bus),
  vendor_device: '10de:22a3',
  subsystem: '10de:1796',
  class_code: '068000',
  driver: 'nvidia-nvswitch',
  numa_node: 1,
  root_port: '0000:7e:01.0',
  upstream_port: '0000:80:00.0',
  iommu_group: 'nvswitch',
  reset_methods: ['flr'],
  nic: null,
}));

/** Two ports and a DMA engine on one bus: a bus reset of one affects all three. */
const bluefield: readonly OtherFunction[] = [0, 1, 2].map((fn) => ({
  address: `0000:bc:00.${fn}`,
  vendor_device: fn === 2 ? '15b3:c2d5' : '15b3:a2dc',
  subsystem: '15b3:0009',
  class_code: fn === 2 ? '080100' : '020000',
  driver: fn === 2 ? null : 'mlx5_core',
  numa_node: 1,
  root_port: '0000:b7:01.0',
  upstream_port: '0000:b8:00.0',
  iommu_group: null,
  reset_methods: ['bus'],
  nic:
    fn === 2
      ? null
      : { netdev: `ens10f${fn}np${fn}`, rdma_device: fn === 0 ? 'mlx5_bond_0' : null, is_bluefield: true },
}));

const lanOnMotherboard: readonly OtherFunction[] = [0, 1].map((fn) => ({
  address: `0000:05:00.${fn}`,
  vendor_device: '14e4:165f',
  subsystem: '1028:0a6b',
  class_code: '020000',
  driver: 'tg3',
  numa_node: 0,
  root_port: '0000:00:1c.5',
  upstream_port: null,
  iommu_group: 'lom',
  reset_methods: ['pm', 'bus'],
  nic: { netdev: fn === 0 ? 'eno8303' : 'eno8403', rdma_device: null, is_bluefield: false },
}));

const graphics: OtherFunction = {
  address: '0000:03:00.0',
  vendor_device: '102b:0536',
  subsystem: '1028:0a6b',
  class_code: '030000',
  driver: 'mgag200',
  numa_node: 0,
  root_port: '0000:00:1c.4',
  upstream_port: null,
  iommu_group: null,
  reset_methods: ['pm'],
  nic: null,
};

export const DELL_XE9680_H200: Profile = {
  product: 'PowerEdge XE9680',
  kernel: '6.8.0-60-generic',
  kernel_command_line:
    'BOOT_IMAGE=/vmlinuz-6.8.0-60-generic root=/dev/md0p2 ro intel_iommu=on iommu=pt default_hugepagesz=1G hugepagesz=1G hugepages=1792',
  secure_boot: false,
  memory_mib: 2_048 * 1024,
  numa: [
    { node: 0, cpus: '0-55,112-167', memory_mib: 1_024 * 1024 },
    { node: 1, cpus: '56-111,168-223', memory_mib: 1_024 * 1024 },
  ],
  hugepages: { size_kib: 1024 * 1024, per_node: 896 },
  gpu: {
    vendor_device: '10de:2335',
    subsystem: '10de:18bf',
    class_code: '030200',
    driver: 'nvidia',
    model: 'NVIDIA H200',
    memory_mib: 143_771,
    driver_version: '580.159.04',
    bars: [
      { index: 0, size_bytes: 16 * MIB },
      { index: 2, size_bytes: 256 * GIB },
      { index: 4, size_bytes: 32 * MIB },
    ],
    reset_methods: ['flr', 'bus'],
    link: { speed: '32.0 GT/s PCIe', width: 16 },
  },
  drive: DATA_DRIVE,
  boot_drive: BOOT_DRIVE,
  boot_drives: [
    { address: at('27'), root_port: '0000:26:01.0', numa_node: 0 },
    { address: at('28'), root_port: '0000:26:03.0', numa_node: 0 },
  ],
  nic: { vendor_device: '15b3:1021', vf_vendor_device: '15b3:101e', class_code: '020700', vf_count: 16 },
  slots,
  others: [...nvswitches, ...bluefield, ...lanOnMotherboard, graphics],
  fabric: {
    manager_version: '580.159.04',
    partitions: HGX_PARTITIONS.map((module_ids, partition_id) => ({ partition_id, module_ids })),
  },
  tools: { ...TOOLS, 'nvidia-smi': '580.159.04', 'nv-fabricmanager': '580.159.04' },
  bridge: BRIDGE,
  image_cache_bytes: 512 * GIB,
};
