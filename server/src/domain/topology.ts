/**
 * Whether two discoveries of a slot are the same. A slot is its bindings: devices by identity, their place on the bus,
 * fabric functions and addresses. Disk contents and mounts are not part of it, because tenants change them. Some fields
 * are known only to a host driver; while a device is passed through they are null, which is no difference from the
 * approval. Every other null is a difference.
 */
import type { Candidate } from '@gpuaas/contract/node';

export const BINDING_FIELDS = [
  'gpu_pci_address',
  'gpu_uuid',
  'gpu_vendor_device',
  'gpu_model',
  'module_id',
  'mig_mode',
  'mediated_devices',
  'numa_node',
  'upstream_port',
  'iommu_group_other_devices',
  'nvme_serial',
  'nvme_device',
  'nvme_size_bytes',
  'wipe_method',
  'fabric_parent_pci_address',
  'fabric_claim_mode',
  'fabric_vf_pci_address',
  'mac_address',
  'private_ip',
  'ovs_port',
] as const satisfies readonly (keyof Candidate)[];

export const DRIVER_FIELDS: ReadonlySet<string> = new Set(['gpu_uuid', 'gpu_model', 'module_id', 'mig_mode']);

export type Difference = Readonly<{ approved: unknown; found: unknown }>;
export type Diff = Readonly<Record<string, Difference>>;

const byText = (a: unknown, b: unknown): number => (String(a) < String(b) ? -1 : 1);
const normalized = (value: unknown): string =>
  JSON.stringify(Array.isArray(value) ? [...value].sort(byText) : (value ?? null));

/** Field by field; a missing candidate differs in its GPU. */
export const diffOf = (approved: Candidate, found: Candidate | undefined): Diff => {
  if (found === undefined) return { gpu_pci_address: { approved: approved.gpu_pci_address, found: null } };
  const differences = BINDING_FIELDS.filter(
    (field) =>
      normalized(approved[field]) !== normalized(found[field]) && !(DRIVER_FIELDS.has(field) && found[field] === null),
  );
  return Object.fromEntries(differences.map((field) => [field, { approved: approved[field], found: found[field] }]));
};

export type KnownSlot = Readonly<{ id: string; slot_index: number; gpu_pci_address: string | null }>;

/** Matches candidates to slots by GPU, because indexes move when a GPU disappears; then by index. */
export const pairSlots = <S extends KnownSlot>(
  slots: readonly S[],
  candidates: readonly Candidate[],
): ReadonlyMap<S, Candidate | undefined> => {
  const byGpu = new Map(candidates.map((candidate) => [candidate.gpu_pci_address, candidate]));
  const taken = new Set<Candidate>();
  const pairs = new Map<S, Candidate | undefined>();
  for (const slot of slots) {
    const found = slot.gpu_pci_address === null ? undefined : byGpu.get(slot.gpu_pci_address);
    if (found !== undefined) taken.add(found);
    pairs.set(slot, found);
  }
  for (const slot of slots) {
    if (pairs.get(slot) !== undefined) continue;
    const found = candidates.find((candidate) => candidate.slot_index === slot.slot_index && !taken.has(candidate));
    // A candidate with another GPU in this place is the new content of the slot.
    if (found !== undefined) taken.add(found);
    pairs.set(slot, found);
  }
  return pairs;
};
