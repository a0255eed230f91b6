/**
 * Why capacity is unavailable: every GPU that could serve the request's region, SKU and shape for this tenant is
 * counted once, under its unavailable reason. A GPU's own state comes before its node's, because freeing the node would
 * not free that GPU. Nodes that are not capacity for the request (another region, SKU, tenant or shape) are not
 * counted, so a refusal reveals nothing about other tenants.
 */
import { candidateOf, FILTERS, type FilterRefusal, OCCUPANCY_REASONS } from './filters.ts';
import { freeMask, isComplete, largestLegalSet, legalTable } from './legal-sets.ts';
import type { PlacementRequest, SchedulerNode, SchedulerSlot, UnavailableGpus, UnavailableReason } from './model.ts';

export const NONE_UNAVAILABLE: UnavailableGpus = {
  claimed: 0,
  cleaning: 0,
  cleanup_blocked: 0,
  quarantined: 0,
  unapproved: 0,
  hardware_changed: 0,
  unhealthy: 0,
  incomplete: 0,
  not_ready: 0,
  held: 0,
  fabric: 0,
  fragmented: 0,
  boot_kind: 0,
  quota: 0,
};

/** The reason in the slot's own columns, or null when it is free. Completeness matters to slices only. */
export const slotReason = (slot: SchedulerSlot, isSlice: boolean): UnavailableReason | null => {
  if (slot.status === 'reserved' || slot.status === 'in_use') return 'claimed';
  if (slot.status !== 'available') return slot.status;
  if (slot.approval !== 'approved') return slot.approval === 'disabled' ? 'unapproved' : 'hardware_changed';
  if (slot.health !== 'ok') return 'unhealthy';
  return isSlice && !isComplete(slot) ? 'incomplete' : null;
};

/** Filters for region, SKU, tenant and shape: a node that fails one is not capacity for this request. */
const SCOPE = new Set(['region', 'host_role', 'pool', 'sku', 'capacity_mode']);

const isInScope = (node: SchedulerNode, request: PlacementRequest): boolean => {
  const candidate = candidateOf(node);
  return FILTERS.every((filter) => !SCOPE.has(filter.name) || filter.reject(candidate, request) === null);
};

/** GPUs of one node: the free ones for the request, the rest by unavailable reason. */
const countNode = (
  unavailable: Record<UnavailableReason, number>,
  node: SchedulerNode,
  request: PlacementRequest,
): number => {
  const total = node.slots.length || request.gpus_per_node;
  if (node.occupancy !== 'free' && node.occupancy !== 'sliced') {
    // A claim on the whole node takes every GPU of it, regardless of the slots' own rows.
    unavailable[OCCUPANCY_REASONS[node.occupancy]] += total;
    return 0;
  }
  if (request.shape === 'gpu_slice' && node.slots.length === 0) {
    // Slices need approved slots, and none is approved yet.
    unavailable.unapproved += total;
    return 0;
  }
  let free = total;
  for (const slot of node.slots) {
    const reason = slotReason(slot, request.shape === 'gpu_slice');
    if (reason === null) continue;
    unavailable[reason] += 1;
    free -= 1;
  }
  return free;
};

/** The largest part of the node that one allocation could get. */
const largestOf = (node: SchedulerNode, request: PlacementRequest, free: number): number =>
  request.shape === 'baremetal' ? free : largestLegalSet(freeMask(node.slots), legalTable(node));

/** Free GPUs in the wrong place or number: the user may still get them in another shape. */
const STILL_FREE = new Set<UnavailableReason>(['fabric', 'fragmented', 'quota']);

export type CapacityFacts = Readonly<{
  unavailable_gpus: UnavailableGpus;
  free_gpus: number;
  largest_set: number;
  gpus_total: number;
}>;

export type CheckedNode = Readonly<{ node: SchedulerNode; refusal: FilterRefusal | null }>;

/** `free_gpus` and `largest_set` cover only nodes that are ready. */
export const capacityFacts = (judged: readonly CheckedNode[], request: PlacementRequest): CapacityFacts => {
  const unavailable: Record<UnavailableReason, number> = { ...NONE_UNAVAILABLE };
  let free_gpus = 0;
  let largest_set = 0;
  let gpus_total = 0;
  for (const { node, refusal } of judged) {
    if ((refusal && refusal.reason === null) || !isInScope(node, request)) continue;
    gpus_total += node.slots.length || request.gpus_per_node;
    const free = countNode(unavailable, node, request);
    if (refusal?.reason) unavailable[refusal.reason] += free;
    if (refusal?.reason && !STILL_FREE.has(refusal.reason)) continue;
    free_gpus += free;
    largest_set = Math.max(largest_set, largestOf(node, request, free));
  }
  return { unavailable_gpus: unavailable, free_gpus, largest_set, gpus_total };
};
