/**
 * The tools whose versions a host reports, by the names in its facts. Every listed tool has a version or null; a tool
 * that is not listed was not checked.
 */
export const TOOL_NAMES = [
  'libvirt',
  'qemu',
  'qemu-img',
  'uefi-firmware',
  'cloud-localds',
  'ovs-vsctl',
  'dnsmasq',
  'nft',
  'conntrack',
  'nvme',
  'blkdiscard',
  'rdma',
  'vfio-pci',
  'nvidia-smi',
  'amd-smi',
  'nv-fabricmanager',
] as const;

export type ToolName = (typeof TOOL_NAMES)[number];
