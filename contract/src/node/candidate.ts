/**
 * What the agent concludes from the facts: the slots that an operator may approve. A candidate is never schedulable;
 * it carries the evidence that approval checks again, and its blockers in plain words.
 */
import Type from 'typebox';
import { Closed, Nullable, StringEnum } from '../common.ts';
import { FabricPartition, PciAddress } from './facts.ts';

export const Blocker = Closed({
  code: Type.String({ description: 'Stable code, e.g. nvme_mounted.' }),
  field: Type.String({ description: 'The field of the candidate it concerns.' }),
  message: Type.String({ description: 'The blocker and what would fix it.' }),
});

/** Strongest first. */
export const WIPE_METHODS = ['nvme_sanitize', 'nvme_format', 'blkdiscard'] as const;
export type WipeMethod = (typeof WIPE_METHODS)[number];

export const Candidate = Closed({
  slot_index: Type.Integer({ minimum: 0, maximum: 63 }),
  gpu_pci_address: Nullable(PciAddress),
  gpu_uuid: Nullable(Type.String()),
  gpu_vendor_device: Nullable(Type.String({ pattern: '^[0-9a-f]{4}:[0-9a-f]{4}$', examples: ['10de:2335'] })),
  gpu_model: Nullable(Type.String()),
  module_id: Nullable(Type.Integer()),
  mig_mode: Nullable(StringEnum(['enabled', 'disabled'])),
  mediated_devices: Type.Integer({ minimum: 0 }),
  numa_node: Nullable(Type.Integer()),
  upstream_port: Nullable(PciAddress),
  iommu_group: Nullable(Type.Integer()),
  /** Functions of that group which are neither the slot's nor a bridge. */
  iommu_group_other_devices: Type.Array(PciAddress),
  nvme_serial: Nullable(Type.String()),
  nvme_device: Nullable(Type.String()),
  nvme_size_bytes: Nullable(Type.Integer()),
  nvme_mounts: Type.Array(Type.String()),
  nvme_holders: Type.Array(Type.String()),
  nvme_filesystems: Type.Array(Type.String()),
  wipe_method: Nullable(StringEnum(WIPE_METHODS)),
  fabric_parent_pci_address: Nullable(PciAddress),
  fabric_claim_mode: Nullable(StringEnum(['per_slot_vf', 'shared'])),
  fabric_vf_pci_address: Nullable(PciAddress),
  fabric_vf_guid: Nullable(Type.String()),
  /** Suggested from node and slot, always the same; the control plane decides. */
  mac_address: Nullable(Type.String({ pattern: '^[0-9a-f]{2}(:[0-9a-f]{2}){5}$', examples: ['02:67:70:00:00:01'] })),
  private_ip: Nullable(Type.String()),
  ovs_port: Nullable(Type.String()),
  blockers: Type.Array(Blocker),
});

export const Prerequisite = Closed({
  name: Type.String(),
  is_met: Type.Boolean(),
  needs_reboot: Type.Boolean(),
  message: Type.String({ description: 'What discovery found and, if the prerequisite is not met, what to do.' }),
});

export const TopologyMap = Closed({
  candidates: Type.Array(Candidate),
  partitions: Type.Array(FabricPartition),
  prerequisites: Type.Array(Prerequisite),
  reboot_required: Type.Boolean(),
});
