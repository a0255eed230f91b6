/** A slot of no host, with all its fields unique. */
import type { TaskSlot } from '@gpuaas/contract/node';

export const slotOf = (index: number): TaskSlot => ({
  slot_id: `slt_${index}`,
  slot_index: index,
  generation: 1,
  module_id: index + 1,
  gpu_pci_address: `0000:${10 + index}:00.0`,
  nvme_serial: `SERIAL${index}`,
  nvme_device: `/dev/disk/by-id/nvme-${index}`,
  mac_address: `02:00:00:00:00:0${index}`,
  private_ip: `10.100.0.1${index}`,
  fabric_vf_pci_address: `0000:${20 + index}:00.1`,
  wipe_method: null,
});
