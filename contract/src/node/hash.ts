/**
 * What an operator approves is a hash. It covers what a slot *is*: its devices, where they sit, how they are isolated
 * and wiped, and what is suggested for it. It leaves out values that change while the slot stays the
 * same: values that only a host driver can read (after approval VFIO holds the GPU), the number that a boot gave an IOMMU
 * group, the content of the disk, the identity lent to a VF, and the blockers that follow from these.
 */
import { createHash } from 'node:crypto';
import type { Static } from 'typebox';
import type { Candidate, TopologyMap } from './candidate.ts';

type Found = Static<typeof Candidate>;

const VOLATILE = [
  'gpu_uuid',
  'gpu_model',
  'module_id',
  'mig_mode',
  'mediated_devices',
  'iommu_group',
  'nvme_mounts',
  'nvme_holders',
  'nvme_filesystems',
  'fabric_vf_guid',
  'blockers',
] as const satisfies readonly (keyof Found)[];

const stable = (candidate: Found): Readonly<Record<string, unknown>> => {
  const volatile: readonly string[] = VOLATILE;
  const kept = Object.entries(candidate).filter(([key]) => !volatile.includes(key));
  return {
    ...Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1))),
    has_iommu_group: candidate.iommu_group !== null,
    iommu_group_other_devices: candidate.iommu_group_other_devices.toSorted(),
  };
};

const digest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

export const candidateHash = (candidate: Found): string => digest(stable(candidate));

/** The order in which candidates, partitions and modules were found has no meaning. Which partition is active is use. */
export const mapHash = (map: Pick<Static<typeof TopologyMap>, 'candidates' | 'partitions'>): string =>
  digest({
    candidates: map.candidates.toSorted((a, b) => a.slot_index - b.slot_index).map(stable),
    partitions: map.partitions
      .toSorted((a, b) => a.partition_id - b.partition_id)
      .map(({ partition_id, module_ids }) => ({ partition_id, module_ids: module_ids.toSorted((a, b) => a - b) })),
  });
