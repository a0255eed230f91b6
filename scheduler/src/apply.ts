/**
 * What a node looks like after a decision, as the claim's transaction would leave it: the model for replays and
 * properties, and the source of the index row that is written with the claim.
 */
import { freeMask, largestLegalSet, legalTable, popcount } from './legal-sets.ts';
import type { Placed, PlacementRequest, Policy, SchedulerNode, SlotStatus } from './model.ts';
import { DEFAULT_POLICY, nodeScoreKey } from './scorers.ts';

const withStatus = (node: SchedulerNode, slotIds: readonly string[], status: SlotStatus): SchedulerNode['slots'] =>
  node.slots.map((slot) => (slotIds.includes(slot.id) ? { ...slot, status } : slot));

/** The node once the placed slots are reserved. */
export const afterClaim = (
  node: SchedulerNode,
  placed: Pick<Placed, 'slot_ids'>,
  shape: PlacementRequest['shape'],
): SchedulerNode => ({
  ...node,
  occupancy: shape === 'baremetal' ? 'exclusive' : 'sliced',
  slots: withStatus(node, placed.slot_ids, 'reserved'),
});

/** The node once those slots are proven clean. */
export const afterRelease = (node: SchedulerNode, slotIds: readonly string[]): SchedulerNode => {
  const slots = withStatus(node, slotIds, 'available');
  const isTaken = slots.some((slot) => slot.status === 'reserved' || slot.status === 'in_use');
  return { ...node, occupancy: isTaken ? 'sliced' : 'free', slots };
};

/** What the placement index keeps of a node. A key is null where no free legal set of that count is left. */
export type PlacementIndexRow = Readonly<{
  free_mask: number;
  free_gpus: number;
  largest_legal_set: number;
  score_keys: Readonly<Record<number, number | null>>;
}>;

export const INDEXED_GPU_COUNTS = [1, 2, 4, 8] as const;

export const placementIndexRow = (node: SchedulerNode, policy: Policy = DEFAULT_POLICY): PlacementIndexRow => {
  const free_mask = freeMask(node.slots);
  const table = legalTable(node);
  const summary = { free_mask, table, capacity_mode: node.capacity_mode, occupancy: node.occupancy };
  return {
    free_mask,
    free_gpus: popcount(free_mask),
    largest_legal_set: largestLegalSet(free_mask, table),
    score_keys: Object.fromEntries(INDEXED_GPU_COUNTS.map((count) => [count, nodeScoreKey(summary, count, policy)])),
  };
};
