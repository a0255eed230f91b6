/**
 * The params of each task kind for an allocation, in the shapes of the contract. Every field has its value here once, and
 * a task gets the fields that the params of its kind name: a kind of known fields needs no entry, and one with a new field
 * does not compile without it. A host gets only what the task needs; keys are public keys, and no secret of the control
 * plane goes to a host.
 */
import { TASKS, type TaskParams, type TaskSlot, type WipeLevel } from '@gpuaas/contract/node';
import type { AllocationRow } from '../db/allocation.ts';
import type { GuestImage } from '../db/guest.ts';
import type { HeldNode, HeldSlot } from '../db/lifecycle.ts';
import { hostnameOf, usernameOf } from '../domain/host-name.ts';
import { networkOf } from '../domain/launch-choice.ts';
import type { AllocationTaskKind } from '../domain/workflow-steps.ts';

export type TaskFacts = Readonly<{
  allocation: AllocationRow;
  slots: readonly HeldSlot[];
  node: HeldNode | undefined;
  image: GuestImage | undefined;
  ssh_public_keys: readonly string[];
  sealed_user_data: Buffer | null;
  wipe_minimum: WipeLevel;
  /** Whether the provider of the region isolates tenants on the fabric. */
  isolates_fabric: boolean;
}>;

/** Default time for the guest OS to shut down before the VM is powered off. */
export const STOP_GRACE_S = 60;

const BINDING = [
  'gpu_pci_address',
  'nvme_serial',
  'nvme_device',
  'mac_address',
  'private_ip',
  'fabric_vf_pci_address',
] as const;
type BoundSlot = HeldSlot & { readonly [B in (typeof BINDING)[number]]: string };

/**
 * Whether a task can name the devices. This is not the scheduler's `isComplete`, which decides whether a
 * slice may be placed: a held slot that could not be placed again must still be wiped. A slot without a binding has no
 * devices to work on; the wipe verdict reports it as missing.
 */
const hasBinding = (slot: HeldSlot): slot is BoundSlot => BINDING.every((part) => slot[part] !== null);

const slotsOf = ({ slots }: TaskFacts): TaskSlot[] =>
  slots.filter(hasBinding).map((slot) => ({
    slot_id: slot.id,
    slot_index: slot.slot_index,
    generation: slot.generation,
    module_id: slot.module_id,
    gpu_pci_address: slot.gpu_pci_address,
    nvme_serial: slot.nvme_serial,
    nvme_device: slot.nvme_device,
    mac_address: slot.mac_address,
    private_ip: slot.private_ip,
    fabric_vf_pci_address: slot.fabric_vf_pci_address,
    wipe_method: slot.wipe_method as TaskSlot['wipe_method'],
  }));

type FieldName<K = AllocationTaskKind> = K extends AllocationTaskKind ? keyof TaskParams<K> : never;
type Takes<F, K = AllocationTaskKind> = K extends AllocationTaskKind
  ? F extends keyof TaskParams<K>
    ? (value: TaskParams<K>[F]) => void
    : never
  : never;
/** The value of the field for every kind that has it. */
type Field<F> = Takes<F> extends (value: infer V) => void ? V : never;
/** Only optional fields of a kind can be omitted. */
type LeftOut<F, K = AllocationTaskKind> = K extends AllocationTaskKind
  ? F extends keyof TaskParams<K>
    ? Record<never, never> extends Pick<TaskParams<K>, F>
      ? undefined
      : never
    : never
  : never;

const FIELDS: { readonly [F in FieldName]: (facts: TaskFacts, kind: AllocationTaskKind) => Field<F> | LeftOut<F> } = {
  allocation_id: ({ allocation }) => allocation.id,
  slots: slotsOf,
  slot_generations: ({ slots }) => slots.map(({ id: slot_id, generation }) => ({ slot_id, generation })),
  disks: ({ node }) =>
    (node?.data_disks ?? []).map(({ serial, device }) => ({ serial, device, generation: node?.generation ?? 0 })),
  wipe_minimum: ({ wipe_minimum }) => wipe_minimum,
  vcpu_count: ({ allocation }) => allocation.vcpu_count ?? 0,
  memory_mib: ({ allocation }) => allocation.memory_mib ?? 0,
  hugepages: ({ allocation: { hugepages } }) => (hugepages === 'auto' ? undefined : (hugepages ?? undefined)),
  numa_policy: ({ allocation: { numa_policy } }) => (numa_policy === 'strict' ? undefined : (numa_policy ?? undefined)),
  profile: ({ allocation }) => allocation.vm_profile_name ?? 'default',
  image: ({ image }) => ({ name: image?.name ?? '', digest: image?.digest ?? null }),
  boot_kind: ({ image }) => (image?.boot_kind === 'uefi' ? undefined : image?.boot_kind),
  install: ({ allocation }) => allocation.install_number,
  hostname: ({ allocation }) => hostnameOf(allocation.name),
  username: ({ allocation }) => usernameOf(allocation.id),
  ssh_public_keys: ({ ssh_public_keys }) => [...ssh_public_keys],
  // Sent sealed beside the params, and opened for the host when the task is sent.
  user_data: (_, kind) => (kind === 'slice.image_clone' ? undefined : null),
  storage: ({ allocation }) => allocation.storage,
  network: ({ allocation }) => networkOf(allocation) ?? undefined,
  passes_fabric: ({ isolates_fabric }) => (isolates_fabric ? true : undefined),
  readiness_checks: ({ image }) => image?.readiness_checks ?? [],
  is_hard: ({ allocation }) => allocation.power_grace_s === 0,
  grace_s: ({ allocation }) => allocation.power_grace_s ?? STOP_GRACE_S,
  will_start_again: ({ allocation }) => allocation.state === 'active',
};

/** For the kinds that have it. It is checked before a reinstall wipes the old system; a launch checks it at its start. */
export const taskUserData = (
  kind: AllocationTaskKind,
  { allocation, sealed_user_data }: Pick<TaskFacts, 'allocation' | 'sealed_user_data'>,
): Buffer | null => {
  const isTaken = 'user_data' in TASKS[kind].params.properties;
  const isLaunch = kind === 'slice.image_clone' && allocation.install_number === 0;
  return isTaken && !isLaunch ? sealed_user_data : null;
};

export const taskParams = <K extends AllocationTaskKind>(kind: K, facts: TaskFacts): TaskParams<K> => {
  const names = Object.keys(TASKS[kind].params.properties) as FieldName[];
  const fields = names.map((name): [string, unknown] => [name, FIELDS[name](facts, kind)]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as TaskParams<K>;
};
