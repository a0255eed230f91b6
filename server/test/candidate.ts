/** A candidate without faults, as a discovery of an H200 host finds it; `over` changes fields. */
import type { Candidate } from '@gpuaas/contract/node';

/** The default size of every test disk. */
export const DISK_BYTES = 3_840_755_982_336;

const hex = (value: number): string => value.toString(16).padStart(2, '0');

export const candidate = (slotIndex: number, over: Partial<Candidate> = {}, host = 1): Candidate => ({
  slot_index: slotIndex,
  gpu_pci_address: `0000:${hex(0x10 + slotIndex)}:00.0`,
  gpu_uuid: `GPU-${host}-${slotIndex}`,
  gpu_vendor_device: '10de:2335',
  gpu_model: 'NVIDIA H200',
  module_id: slotIndex + 1,
  mig_mode: 'disabled',
  mediated_devices: 0,
  numa_node: slotIndex < 4 ? 0 : 1,
  upstream_port: `0000:${hex(0x40 + slotIndex)}:00.0`,
  iommu_group: 20 + slotIndex,
  iommu_group_other_devices: [],
  nvme_serial: `S${host}N${slotIndex}`,
  nvme_device: `/dev/disk/by-id/nvme-S${host}N${slotIndex}`,
  nvme_size_bytes: DISK_BYTES,
  nvme_mounts: [],
  nvme_holders: [],
  nvme_filesystems: [],
  wipe_method: 'nvme_format',
  fabric_parent_pci_address: `0000:${hex(0x70 + slotIndex)}:00.0`,
  fabric_claim_mode: 'per_slot_vf',
  fabric_vf_pci_address: `0000:${hex(0x70 + slotIndex)}:00.1`,
  fabric_vf_guid: `0c42:a103:00${hex(host & 255)}:${hex(slotIndex)}01`,
  mac_address: `02:00:00:${hex(host >> 8)}:${hex(host & 255)}:${hex(slotIndex)}`,
  private_ip: `10.100.0.${10 + slotIndex}`,
  ovs_port: `gp${host}-${slotIndex}`,
  blockers: [],
  ...over,
});
