/**
 * What a host is asked to have, by the names its facts use. Each host says of every one of them which version it has, or
 * null: a name that is missing from the list was not looked for, which is not the same as not there.
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
