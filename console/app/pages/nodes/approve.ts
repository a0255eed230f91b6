/** Which candidates may be approved, and every blocker of the others: naming one of five would cost five attempts. */
import type { Discovery } from '@gpuaas/sdk';

export type TopologyMap = NonNullable<Discovery['map']>;
export type Candidate = TopologyMap['candidates'][number];
export type Blocker = Candidate['blockers'][number];

/** The blockers found by the agent and those found by the control plane, each once. */
export const blockersOf = ({ blockers, content }: Candidate): readonly Blocker[] => [
  ...new Map(
    [...content.blockers, ...blockers].map((blocker) => [`${blocker.code} ${blocker.message}`, blocker]),
  ).values(),
];

/** Sentences; empty if the selected candidates can be approved now. */
export const approvalReasons = (
  map: TopologyMap,
  chosen: readonly number[],
  nodeRefusal: string | null,
): readonly string[] => {
  const candidates = map.candidates.filter(({ slot_index }) => chosen.includes(slot_index));
  if (candidates.length === 0) return ['Select at least one candidate.'];
  return [
    ...(nodeRefusal === null ? [] : [nodeRefusal]),
    ...map.prerequisites.filter(({ is_met }) => !is_met).map(({ name, message }) => `${name}: ${message}`),
    ...(map.reboot_required ? ['Reboot the host first.'] : []),
    ...candidates.flatMap((candidate) =>
      blockersOf(candidate).map(({ message }) => `Slot ${candidate.slot_index}: ${message}`),
    ),
    ...(candidates.every(({ approval_status }) => approval_status === 'approved') ? ['Already approved.'] : []),
  ];
};

/** The initial selection: every new or changed candidate without blockers. */
export const proposedChoice = (map: TopologyMap): readonly number[] =>
  map.candidates
    .filter((candidate) => candidate.approval_status !== 'approved' && blockersOf(candidate).length === 0)
    .map(({ slot_index }) => slot_index);

/** A new candidate has no approved counterpart: all of it is new. */
export const differences = ({ approval_status, diff, content }: Candidate): Candidate['diff'] =>
  approval_status === 'new'
    ? Object.fromEntries(
        Object.entries(content)
          .filter(([name, value]) => name !== 'blockers' && name !== 'slot_index' && !isNothing(value))
          .map(([name, value]) => [name, { approved: null, found: value }]),
      )
    : diff;

const isNothing = (value: unknown): boolean =>
  value === null || value === 0 || (Array.isArray(value) && value.length === 0);

/** Disks with existing data: they are wiped only after an operator approves it. */
export const disksToApprove = (map: TopologyMap): readonly Readonly<{ serial: string; slot: number; why: string }>[] =>
  map.candidates.flatMap((candidate) => {
    const { nvme_serial: serial, slot_index: slot } = candidate.content;
    const why = blockersOf(candidate)
      .filter(({ field }) => field.startsWith('nvme_'))
      .map(({ message }) => message);
    return serial === null || why.length === 0 ? [] : [{ serial, slot, why: why.join(' ') }];
  });
