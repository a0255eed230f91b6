/** The bindings of a slot: written from a candidate, and refused where another slot has them. */
import { type Candidate, candidateHash } from '@gpuaas/contract/node';

/** The row of a slot, from its candidate. */
export const boundSlot = (id: string, index: number, found: Candidate) => ({
  id,
  slot_index: index,
  gpu_pci_address: found.gpu_pci_address ?? '',
  gpu_uuid: found.gpu_uuid,
  module_id: found.module_id,
  numa_node: found.numa_node,
  nvme_serial: found.nvme_serial ?? '',
  nvme_device: found.nvme_device ?? '',
  mac_address: found.mac_address ?? '',
  private_ip: found.private_ip ?? '',
  fabric_vf_pci_address: found.fabric_vf_pci_address ?? '',
  wipe_method: found.wipe_method ?? 'blkdiscard',
  content_hash: candidateHash(found),
  content: found,
});

type Taken = Readonly<{ slot_index: number; field: string; value: string; node_name: string }>;

export const bindingConflicts = (taken: readonly Taken[]) =>
  taken.map(({ slot_index, field, value, node_name }) => ({
    pointer: `/candidates/${slot_index}/${field}`,
    code: 'taken',
    message: `Slot ${slot_index}: ${field} ${value} belongs to a slot of ${node_name}. Disable that slot while it is free, or change this one.`,
  }));
