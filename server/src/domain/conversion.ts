/**
 * The plan to convert a node to another capacity mode, which an operator reviews before applying it. The plan's hash
 * covers every fact it was made from: if a claim, slot or state changed since the review, the hash differs and the plan
 * is refused. A node is converted only while nothing claims any part of it; nothing running is moved. The digest is an
 * argument, so that these rules also run without node:crypto.
 */

import type { CONVERSION_TARGETS } from '@gpuaas/contract';
import { OCCUPANCY_TEXT, type Occupancy } from '@gpuaas/scheduler';
export type ConversionTarget = (typeof CONVERSION_TARGETS)[number];

export type ConversionFacts = Readonly<{
  node: Readonly<{
    id: string;
    state: string;
    capacity_mode: 'slice' | 'baremetal' | 'flexible';
    occupancy: Occupancy;
    is_held: boolean;
    gpu_count: number;
  }>;
  claims: readonly Readonly<{ id: string; allocation_id: string; claim_kind: string; gpu_count: number }>[];
  slots: readonly Readonly<{ slot_index: number; approval: string; status: string }>[];
}>;

export type ConversionPlan = Readonly<{
  node_id: string;
  from: ConversionFacts['node']['capacity_mode'];
  to: ConversionTarget;
  is_possible: boolean;
  blockers: string[];
  live_claims: number;
  steps: string[];
  gpus_gained: { slice: number; baremetal: number };
  plan_hash: string;
}>;

const CONVERTIBLE_STATES: readonly string[] = ['active', 'draining'];
const NAMES = { slice: 'slices', baremetal: 'bare metal' } as const;

const gpus = (count: number): string => `${count} ${count === 1 ? 'GPU' : 'GPUs'}`;

/** Who claims how much of the node, one sentence each. */
const claimBlockers = ({ claims }: ConversionFacts): string[] => {
  const held = new Map<string, number>();
  for (const claim of claims) held.set(claim.allocation_id, (held.get(claim.allocation_id) ?? 0) + claim.gpu_count);
  return [...held].map(([allocation, count]) => `Allocation ${allocation} holds ${gpus(count)}.`);
};

const DIRTY = new Set(['reserved', 'in_use', 'cleaning', 'cleanup_blocked']);

/** Blockers, as sentences. */
export const conversionBlockers = (facts: ConversionFacts, to: ConversionTarget): string[] => {
  const { node, slots, claims } = facts;
  const dirty = slots.filter((slot) => DIRTY.has(slot.status));
  return [
    ...(node.capacity_mode === to ? [`The node is already for ${NAMES[to]}.`] : []),
    ...(CONVERTIBLE_STATES.includes(node.state)
      ? []
      : [`The node is ${node.state}; only active and draining nodes can be converted.`]),
    ...claimBlockers(facts),
    // Without a claim to name, the states of the node and its slots still show that they are not clean.
    ...(claims.length === 0 && node.occupancy !== 'free' ? [`The node is ${OCCUPANCY_TEXT[node.occupancy]}.`] : []),
    ...(claims.length === 0 ? dirty.map((slot) => `Slot ${slot.slot_index} is ${slot.status}.`) : []),
    ...(node.is_held && to === 'slice' ? ['The node is held for bare metal. Remove the hold first.'] : []),
  ];
};

/** GPUs that could be allocated on the node in this mode once nothing claims it. */
const sellable = ({ node, slots }: ConversionFacts, mode: ConversionFacts['node']['capacity_mode']) => {
  const approved = slots.filter((slot) => slot.approval === 'approved' && slot.status !== 'quarantined').length;
  const isWhole = slots.every((slot) => slot.approval === 'approved' && slot.status !== 'quarantined');
  return {
    slice: mode === 'baremetal' ? 0 : approved,
    baremetal: mode === 'slice' || !isWhole ? 0 : node.gpu_count,
  };
};

const stepsOf = (facts: ConversionFacts, to: ConversionTarget): string[] => {
  const before = sellable(facts, facts.node.capacity_mode);
  const after = sellable(facts, to);
  const other = to === 'slice' ? 'baremetal' : 'slice';
  return [
    ...(before[other] > 0 ? [`Stop offering the node's ${gpus(before[other])} for ${NAMES[other]}.`] : []),
    ...(after[to] > 0
      ? [`Offer ${gpus(after[to])} for ${NAMES[to]}.`]
      : [`No GPUs can be offered for ${NAMES[to]} until the node's slots are approved and healthy.`]),
    to === 'slice'
      ? 'Slices start once the prerequisite check has passed after the last boot.'
      : 'The next bare-metal launch applies the bare-metal profile.',
  ];
};

/** Hash of the ordered facts; blockers, steps and gains follow from them. */
const seenText = ({ node, claims, slots }: ConversionFacts, to: ConversionTarget): string =>
  JSON.stringify([
    [node.id, node.state, node.capacity_mode, node.occupancy, node.is_held, node.gpu_count],
    claims.map((claim) => [claim.id, claim.allocation_id, claim.claim_kind, claim.gpu_count]),
    slots.map((slot) => [slot.slot_index, slot.approval, slot.status]),
    to,
  ]);

/** Sorted, so that the same facts always make the same plan. */
const inOrder = ({ node, claims, slots }: ConversionFacts): ConversionFacts => ({
  node,
  claims: claims.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  slots: slots.toSorted((a, b) => a.slot_index - b.slot_index),
});

/** `digest` returns 64 hexadecimal digits that differ when the text does: SHA-256 on the server. */
export const planConversion = (
  given: ConversionFacts,
  to: ConversionTarget,
  digest: (text: string) => string,
): ConversionPlan => {
  const facts = inOrder(given);
  const blockers = conversionBlockers(facts, to);
  const [before, after] = [sellable(facts, facts.node.capacity_mode), sellable(facts, to)];
  return {
    node_id: facts.node.id,
    from: facts.node.capacity_mode,
    to,
    is_possible: blockers.length === 0,
    blockers,
    live_claims: facts.claims.length,
    steps: stepsOf(facts, to),
    gpus_gained: { slice: after.slice - before.slice, baremetal: after.baremetal - before.baremetal },
    plan_hash: digest(seenText(facts, to)),
  };
};
