/** What an estimate says without placing anything: on how many nodes it fits now, and the most that would. */
import { rejectedBy } from './filters.ts';
import type { PlacementRequest, Snapshot } from './model.ts';

export type Fit = Readonly<{ nodes: number; largest_count: number }>;

const nodesFor = (request: PlacementRequest, snapshot: Snapshot): number =>
  snapshot.nodes.filter((node) => rejectedBy({ node, summary: null }, request) === null).length;

/** `largest_count` is the largest count of the SKU that fits, quota included; 0 when none does. */
export const fitsNow = (request: PlacementRequest, snapshot: Snapshot): Fit => ({
  nodes: nodesFor(request, snapshot),
  largest_count: Math.max(
    0,
    ...request.allowed_gpu_counts.filter((gpu_count) => nodesFor({ ...request, gpu_count }, snapshot) > 0),
  ),
});
