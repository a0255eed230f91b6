/**
 * The params of each task kind for an allocation, in the shapes of the contract. A host gets only what the task needs;
 * keys are public keys, and no secret of the control plane goes to a host.
 */
import type { TaskParams, TaskSlot, WipeLevel } from '@gpuaas/contract/node';
import type { AllocationRow } from '../db/allocation.ts';
import type { GuestImage } from '../db/guest.ts';
import type { HeldNode, HeldSlot } from '../db/lifecycle.ts';
import { hostnameOf, usernameOf } from '../domain/host-name.ts';
import type { AllocationTaskKind } from '../domain/workflow-steps.ts';

export type TaskFacts = Readonly<{
  allocation: AllocationRow;
  slots: readonly HeldSlot[];
  node: HeldNode | undefined;
  image: GuestImage | undefined;
  ssh_public_keys: readonly string[];
  user_data: string | null;
  wipe_minimum: WipeLevel;
}>;

/** Default time for the guest OS to shut down before the VM is powered off. */
export const STOP_GRACE_S = 60;

/** A slot without a binding has no devices to work on; the wipe verdict reports it as missing. */
const isComplete = (slot: HeldSlot): boolean =>
  [slot.gpu_pci_address, slot.nvme_serial, slot.nvme_device, slot.mac_address, slot.private_ip].every(
    (value) => value !== null,
  ) && slot.fabric_vf_pci_address !== null;

const slotsOf = ({ slots }: TaskFacts): TaskSlot[] =>
  slots.filter(isComplete).map((slot) => ({
    slot_id: slot.id,
    slot_index: slot.slot_index,
    generation: slot.generation,
    module_id: slot.module_id,
    gpu_pci_address: slot.gpu_pci_address ?? '',
    nvme_serial: slot.nvme_serial ?? '',
    nvme_device: slot.nvme_device ?? '',
    mac_address: slot.mac_address ?? '',
    private_ip: slot.private_ip ?? '',
    fabric_vf_pci_address: slot.fabric_vf_pci_address ?? '',
    wipe_method: slot.wipe_method as TaskSlot['wipe_method'],
  }));

const held = (facts: TaskFacts) => ({ allocation_id: facts.allocation.id, slots: slotsOf(facts) });
const user = (facts: TaskFacts) => ({
  allocation_id: facts.allocation.id,
  username: usernameOf(facts.allocation.id),
});

const PARAMS: { readonly [K in AllocationTaskKind]: (facts: TaskFacts) => TaskParams<K> } = {
  'slice.bundle_lease': (facts) => ({
    ...held(facts),
    vcpu_count: facts.allocation.vcpu_count ?? 0,
    memory_mib: facts.allocation.memory_mib ?? 0,
    profile: facts.allocation.vm_profile_name ?? 'default',
  }),
  'slice.image_clone': (facts) => ({
    ...held(facts),
    image: { name: facts.image?.name ?? '', digest: facts.image?.digest ?? null },
    install: facts.allocation.install_number,
    // Checked before the old system is wiped; a launch has nothing to lose and is checked at its start.
    ...(facts.allocation.install_number > 0 && facts.user_data !== null ? { user_data: facts.user_data } : {}),
  }),
  'slice.vm_start': (facts) => ({
    ...held(facts),
    hostname: hostnameOf(facts.allocation.name),
    ssh_public_keys: [...facts.ssh_public_keys],
    user_data: facts.user_data,
    install: facts.allocation.install_number,
    readiness_checks: facts.image?.readiness_checks ?? [],
  }),
  'slice.vm_readiness': (facts) => ({ ...held(facts), readiness_checks: facts.image?.readiness_checks ?? [] }),
  'slice.vm_reboot': (facts) => ({ ...held(facts), is_hard: facts.allocation.power_grace_s === 0 }),
  'slice.vm_stop': (facts) => ({
    ...held(facts),
    grace_s: facts.allocation.power_grace_s ?? STOP_GRACE_S,
    will_start_again: facts.allocation.state === 'active',
  }),
  'slice.cleanup': (facts) => ({ ...held(facts), wipe_minimum: facts.wipe_minimum }),
  'allocation.provision_user': (facts) => ({ ...user(facts), ssh_public_keys: [...facts.ssh_public_keys] }),
  'allocation.deprovision_user': user,
  'node.cleanup': (facts) => ({
    ...held(facts),
    disks: [...(facts.node?.data_disks ?? [])],
    wipe_minimum: facts.wipe_minimum,
  }),
};

export const taskParams = <K extends AllocationTaskKind>(kind: K, facts: TaskFacts): TaskParams<K> =>
  PARAMS[kind](facts);
