/** Eight MI300X: links between the GPUs need no switch and no partition, so any set of them is a slice. */
import type { Profile, SlotPlace } from '../profile-shape.ts';
import { BOOT_DRIVE, BRIDGE, DATA_DRIVE, GIB, MIB, TOOLS } from './common.ts';

const ROOTS = ['00', '10', '20', '30', '80', '90', 'a0', 'b0'];

const slots: readonly SlotPlace[] = ROOTS.map((root, index) => {
  const at = (offset: number): string =>
    `0000:${(Number.parseInt(root, 16) + offset).toString(16).padStart(2, '0')}:00.0`;
  return {
    numa_node: index < 4 ? 0 : 1,
    root_port: `0000:${root}:01.1`,
    upstream_port: at(2),
    gpu: at(5),
    module_id: index,
    nvme: at(6),
    nic: at(7),
    rdma_device: `mlx5_${index}`,
    management: at(8),
  };
});

export const AMD_MI300X: Profile = {
  product: 'AS -8125GS-TNMR2',
  kernel: '6.8.0-60-generic',
  kernel_command_line:
    'BOOT_IMAGE=/vmlinuz-6.8.0-60-generic root=/dev/md0p2 ro amd_iommu=on iommu=pt default_hugepagesz=1G hugepagesz=1G hugepages=1792',
  secure_boot: false,
  memory_mib: 2_048 * 1024,
  numa: [
    { node: 0, cpus: '0-95,192-287', memory_mib: 1_024 * 1024 },
    { node: 1, cpus: '96-191,288-383', memory_mib: 1_024 * 1024 },
  ],
  hugepages: { size_kib: 1024 * 1024, per_node: 896 },
  gpu: {
    vendor_device: '1002:74a1',
    subsystem: '1002:74a1',
    class_code: '120000',
    driver: 'amdgpu',
    model: 'AMD Instinct MI300X',
    memory_mib: 196_592,
    driver_version: '6.12.12',
    bars: [
      { index: 0, size_bytes: 256 * GIB },
      { index: 2, size_bytes: 2 * MIB },
      { index: 5, size_bytes: MIB / 2 },
    ],
    reset_methods: ['flr', 'bus'],
    link: { speed: '32.0 GT/s PCIe', width: 16 },
  },
  drive: DATA_DRIVE,
  boot_drive: BOOT_DRIVE,
  boot_drives: [
    { address: '0000:41:00.0', root_port: '0000:40:01.1', numa_node: 0 },
    { address: '0000:42:00.0', root_port: '0000:40:01.2', numa_node: 0 },
  ],
  nic: { vendor_device: '15b3:1021', vf_vendor_device: '15b3:101e', class_code: '020700', vf_count: 8 },
  slots,
  others: [],
  fabric: null,
  tools: { ...TOOLS, 'amd-smi': '25.5.1' },
  bridge: BRIDGE,
  image_cache_bytes: 512 * GIB,
};
