/**
 * Four L40S without any fabric between them, in PCI domain 0001, on NUMA nodes 0 and 4, so that no number starts at
 * zero.
 */
import type { Profile, SlotPlace } from '../profile-shape.ts';
import { BOOT_DRIVE, BRIDGE, DATA_DRIVE, GIB, MIB, TOOLS } from './common.ts';

const slots: readonly SlotPlace[] = ['10', '20', '80', '90'].map((root, index) => {
  const bus = (offset: number): string => (Number.parseInt(root, 16) + offset).toString(16).padStart(2, '0');
  const at = (offset: number): string => `0001:${bus(offset)}:00.0`;
  return {
    numa_node: index < 2 ? 0 : 4,
    root_port: `0001:${root}:01.0`,
    upstream_port: at(1),
    gpu: at(3),
    module_id: null,
    nvme: at(4),
    nic: at(5),
    rdma_device: `mlx5_${index}`,
    management: null,
  };
});

export const NO_NVSWITCH: Profile = {
  product: 'PowerEdge R760xa',
  kernel: '6.8.0-60-generic',
  kernel_command_line:
    'BOOT_IMAGE=/vmlinuz-6.8.0-60-generic root=/dev/md0p2 ro intel_iommu=on iommu=pt default_hugepagesz=1G hugepagesz=1G hugepages=384',
  secure_boot: false,
  memory_mib: 512 * 1024,
  numa: [
    { node: 0, cpus: '0-31', memory_mib: 256 * 1024 },
    { node: 4, cpus: '32-63', memory_mib: 256 * 1024 },
  ],
  hugepages: { size_kib: 1024 * 1024, per_node: 192 },
  gpu: {
    vendor_device: '10de:26b9',
    subsystem: '10de:1851',
    class_code: '030200',
    driver: 'nvidia',
    model: 'NVIDIA L40S',
    memory_mib: 46_068,
    driver_version: '580.159.04',
    bars: [
      { index: 0, size_bytes: 16 * MIB },
      { index: 1, size_bytes: 64 * GIB },
      { index: 3, size_bytes: 32 * MIB },
    ],
    reset_methods: ['flr', 'bus'],
    link: { speed: '16.0 GT/s PCIe', width: 16 },
  },
  drive: DATA_DRIVE,
  boot_drive: BOOT_DRIVE,
  boot_drives: [{ address: '0001:41:00.0', root_port: '0001:40:01.0', numa_node: 0 }],
  nic: { vendor_device: '15b3:1021', vf_vendor_device: '15b3:101e', class_code: '020000', vf_count: 4 },
  slots,
  others: [],
  fabric: null,
  tools: { ...TOOLS, 'nvidia-smi': '580.159.04' },
  bridge: BRIDGE,
  image_cache_bytes: 256 * GIB,
};
