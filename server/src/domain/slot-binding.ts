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

/** `owner`: another slot, or a whole node of which it is a data disk. */
export type TakenBinding = Readonly<{
  slot_index: number;
  field: string;
  value: string;
  node_name: string;
  owner: 'slot' | 'node';
}>;

const ownerSentence = ({ node_name, owner }: TakenBinding): string =>
  owner === 'slot'
    ? `belongs to a slot of ${node_name}. Disable that slot while it is free, or change this one.`
    : `is a data disk of ${node_name}, which wipes it or is allocated. Wait for its release, or revoke the approval of the disk.`;

export const bindingConflicts = (taken: readonly TakenBinding[]) =>
  taken.map((binding) => ({
    pointer: `/candidates/${binding.slot_index}/${binding.field}`,
    code: 'taken',
    message: `Slot ${binding.slot_index}: ${binding.field} ${binding.value} ${ownerSentence(binding)}`,
  }));
