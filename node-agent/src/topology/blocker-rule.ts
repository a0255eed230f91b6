/** What a blocker rule sees of a candidate, and shared texts. */
import type { Blocker, Candidate, DiskFacts, HostFacts, NicFacts } from '@gpuaas/contract/node';
import type { Place } from './places.ts';

export type JudgedCandidate = Readonly<{
  place: Place;
  facts: HostFacts;
  found: Omit<Candidate, 'blockers'>;
  disk: DiskFacts | null;
  vf_nic: NicFacts | undefined;
  card_nic: NicFacts | undefined;
  vf_iommu_group: number | null;
}>;

export type Rule = (judged: JudgedCandidate) => Blocker[];

export const block = (code: string, field: keyof Candidate, message: string): Blocker[] => [{ code, field, message }];
export const under = (place: Place): string =>
  place.upstream_port === null ? '' : ` under the switch ${place.upstream_port}`;
export const NO_SWITCH = 'No PCIe switch carries this GPU, so nothing can be paired with it';

export const list = (items: readonly string[]): string => items.join(', ');
