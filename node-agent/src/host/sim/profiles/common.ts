/** Parts that more than one profile has. */
import type { DriveModel } from '../profile-shape.ts';

export const MIB = 1024 ** 2;
export const GIB = 1024 ** 3;

/** Sanitize and plain format, but no cryptographic erase: disks of this class reject it. */
export const DATA_DRIVE: DriveModel = {
  model: 'SAMSUNG MZWLO3T8HCLS-00A07',
  vendor_device: '144d:a826',
  serial_prefix: 'S795NC0',
  erase: { sanitize_crypto: false, sanitize_block: true, format: true, format_crypto: false, discard: true },
};

export const BOOT_DRIVE: DriveModel = {
  model: 'Dell DC NVMe PE8010 RI U.2 960GB',
  vendor_device: '1c5c:2839',
  serial_prefix: 'SSB4N71',
  erase: { sanitize_crypto: false, sanitize_block: false, format: true, format_crypto: false, discard: true },
};

export const TOOLS = {
  libvirt: '10.0.0',
  qemu: '8.2.2',
  'qemu-img': '8.2.2',
  'uefi-firmware': '2024.02',
  'cloud-localds': '0.33',
  'ovs-vsctl': '3.3.0',
  dnsmasq: '2.90',
  nft: '1.0.9',
  conntrack: '1.4.8',
  nvme: '2.8',
  blkdiscard: '2.39.3',
  rdma: '6.1.0',
  'vfio-pci': '6.8.0',
} as const;

export const BRIDGE = { name: 'br-gpuaas', uplink: 'eno8303', address: '10.100.0.1/24', ovs_version: '3.3.0' } as const;
