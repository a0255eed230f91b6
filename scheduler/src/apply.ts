/**
 * The node after a decision, as the claim's transaction would leave it: the model for replays and properties, and the
 * source of the index row that is written with the claim.
 */
import { largestLegalSet, popcount } from './legal-sets.ts';
import type { CapacityShape, Policy, SchedulerNode, SlotStatus } from './model.ts';
import { DEFAULT_POLICY, nodeScoreKey, summarise } from './scorers.ts';

const withStatus = (node: SchedulerNode, slotIds: readonly string[], status: SlotStatus): SchedulerNode['slots'] =>
  node.slots.map((slot) => (slotIds.includes(slot.id) ? { ...slot, status } : slot));

/** The node after the placed slots are reserved. */
export const afterClaim = (
  node: SchedulerNode,
  claim: Readonly<{ slot_ids: readonly string[]; shape: CapacityShape; claimed_at_s: number }>,
): SchedulerNode => ({
  ...node,
  occupancy: claim.shape === 'baremetal' ? 'exclusive' : 'sliced',
  oldest_claim_at_s: node.oldest_claim_at_s ?? claim.claimed_at_s,
  slots: withStatus(node, claim.slot_ids, 'reserved'),
});

/** The node after those slots are proven wiped; the caller provides the oldest remaining claim. */
export const afterRelease = (
  node: SchedulerNode,
  release: Readonly<{ slot_ids: readonly string[]; oldest_claim_at_s: number | null }>,
): SchedulerNode => ({
  ...node,
  occupancy: release.oldest_claim_at_s === null ? 'free' : 'sliced',
  oldest_claim_at_s: release.oldest_claim_at_s,
  slots: withStatus(node, release.slot_ids, 'available'),
});

/** The placement index row of a node. A key is null where no free legal set of that count is left. */
export type PlacementIndexRow = Readonly<{
  free_mask: number;
  free_gpus: number;
  largest_legal_set: number;
  score_keys: Readonly<Record<number, number | null>>;
}>;

export const INDEXED_GPU_COUNTS = [1, 2, 4, 8] as const;

export const placementIndexRow = (node: SchedulerNode, policy: Policy = DEFAULT_POLICY): PlacementIndexRow => {
  const summary = summarise(node);
  return {
    free_mask: summary.free_mask,
    free_gpus: popcount(summary.free_mask),
    largest_legal_set: largestLegalSet(summary.free_mask, summary.table),
    score_keys: Object.fromEntries(INDEXED_GPU_COUNTS.map((count) => [count, nodeScoreKey(summary, count, policy)])),
  };
};
