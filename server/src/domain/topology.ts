/**
 * Whether two looks at a slot are the same. A slot is its bindings: devices by identity, their place on the bus, what
 * the fabric lets it claim, its addresses. What is on a disk or mounted is not part of it: tenants change that all day.
 *
 * Some fields only a driver of the host can tell. While a device is given to guests they read as null, which is no
 * difference from what was approved; every other null is.
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

export const TOLD_BY_DRIVER: ReadonlySet<string> = new Set(['gpu_uuid', 'gpu_model', 'module_id', 'mig_mode']);

export type Difference = Readonly<{ approved: unknown; found: unknown }>;
export type Diff = Readonly<Record<string, Difference>>;

const byText = (a: unknown, b: unknown): number => (String(a) < String(b) ? -1 : 1);
const spelled = (value: unknown): string =>
  JSON.stringify(Array.isArray(value) ? [...value].sort(byText) : (value ?? null));

/** Field by field; a candidate that is not there any more differs in its GPU. */
export const diffOf = (approved: Candidate, found: Candidate | undefined): Diff => {
  if (found === undefined) return { gpu_pci_address: { approved: approved.gpu_pci_address, found: null } };
  const differences = BINDING_FIELDS.filter(
    (field) =>
      spelled(approved[field]) !== spelled(found[field]) && !(TOLD_BY_DRIVER.has(field) && found[field] === null),
  );
  return Object.fromEntries(differences.map((field) => [field, { approved: approved[field], found: found[field] }]));
};

export type KnownSlot = Readonly<{ id: string; slot_index: number; gpu_pci_address: string | null }>;

/** Which candidate is which slot: by GPU, because indexes move when a GPU disappears; then by index. */
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
    // A candidate with another GPU in this place is what the slot has become.
    if (found !== undefined) taken.add(found);
    pairs.set(slot, found);
  }
  return pairs;
};
