/** Shapes that several task kinds share. */
import Type from 'typebox';
import { Closed, INT_MAX, Nullable, StringEnum } from '../common.ts';
import { Id } from '../ids.ts';
import { NETWORK_KINDS, STORAGE_KINDS } from '../public/launch-choice.ts';
import { WIPE_METHODS } from './candidate.ts';
import { BOOT_KINDS, PciAddress } from './facts.ts';
import { WipeLevelShape } from './wipe.ts';

export const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** One slot as approved: what the host must find, or refuse. */
export const TaskSlot = Closed({
  slot_id: Id('slot'),
  slot_index: Count,
  generation: Count,
  module_id: Nullable(Type.Integer()),
  gpu_pci_address: PciAddress,
  nvme_serial: Type.String(),
  nvme_device: Type.String(),
  mac_address: Type.String(),
  private_ip: Type.String(),
  fabric_vf_pci_address: PciAddress,
  wipe_method: Nullable(StringEnum(WIPE_METHODS)),
});
/**
 * A disk that belongs to no slot. Its generation is the time of the claim or approval behind the task, in seconds: a host
 * that has seen a later one refuses the task, also of a control plane that was restored from a backup.
 */
export const TaskDisk = Closed({ serial: Type.String(), device: Type.String(), generation: Count });

/** A slot that the task does not work on, whose claim the host must know. */
export const SlotGeneration = Closed({ slot_id: Id('slot'), generation: Count });

/** What a task that works on slots names: at least one. */
export const slots = Type.Array(TaskSlot, { minItems: 1, maxItems: 64 });
export const TaskImage = Closed({ name: Type.String(), digest: Nullable(Type.String()) });
/** Boot kind of the image; absent: `uefi`. Agents of earlier releases take no other. */
export const TaskBootKind = Type.Optional(StringEnum(BOOT_KINDS));
/** Above 0 the image overwrites the tenant's boot disk, and cloud-init in the guest OS sees a new instance. */
export const Install = Type.Optional(
  Type.Integer({ minimum: 0, maximum: INT_MAX, description: 'Number of reinstallations.' }),
);

/** Pages of a VM's memory: `auto` is the largest size that every NUMA node of its GPUs has, otherwise ordinary memory. */
export const HUGEPAGES = ['auto', 'none', '2M', '1G'] as const;
/**
 * Where CPUs and memory of a VM come from: only the NUMA nodes of its GPUs (`strict`), these first and other memory if they
 * have too little (`preferred`), or anywhere, without NUMA nodes in the guest (`none`).
 */
export const NUMA_POLICIES = ['strict', 'preferred', 'none'] as const;

/** The concrete bundle: what the VM will be made of. */
export const BundlePlan = Closed({
  boot_slot_id: Id('slot'),
  slots: Type.Array(
    Closed({
      slot_id: Id('slot'),
      generation: Count,
      gpu_pci_address: PciAddress,
      fabric_vf_pci_address: PciAddress,
      nvme_device: Type.String(),
      nvme_serial: Type.String(),
      nvme_major_minor: Nullable(Type.String()),
    }),
  ),
  mac_address: Type.String(),
  private_ip: Type.String(),
  ovs_port: Type.String(),
  numa_nodes: Type.Array(Type.Integer()),
  cpuset: Type.String(),
  vcpu_count: Count,
  memory_mib: Count,
  hugepages: Nullable(Closed({ size_kib: Count, count: Count })),
  fabric_partition_id: Nullable(Type.Integer()),
  profile: Type.String(),
  /** Absent: strict. With `none` it has no numa_nodes. */
  numa_policy: Type.Optional(StringEnum(NUMA_POLICIES)),
});

export const SshKeys = Type.Array(Type.String({ maxLength: 16_384 }), { maxItems: 100 });
/** What the guest OS does with its data disks; absent in tasks of an older control plane: nothing. */
export const Storage = Type.Optional(StringEnum(STORAGE_KINDS));
/** What the agent connects the VM to; absent in tasks of an older control plane, which knew `private_nat` only. */
export const VmNetwork = Type.Optional(StringEnum(NETWORK_KINDS));
/**
 * Whether the fabric function of each slot is passed into the VM. Absent: it stays bound on the host, out of reach of the
 * guest OS. The control plane sets it only where the provider of the region isolates tenants.
 */
export const PassesFabric = Type.Optional(Type.Boolean());
/** What the image promises of a guest: its own program answers for each, and all must hold. */
export const ReadinessChecks = Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_]{0,31}$' }), { maxItems: 32 });
/** The weakest wipe level that the region allows (default `clear`). A host may require more. */
export const wipe_minimum = Type.Optional(WipeLevelShape);
export const Username = Type.String({ pattern: '^[a-z][a-z0-9-]{0,30}$' });
