/** An estimate without a placement: the number of nodes that fit now, and the largest count that fits. */
import { candidateOf, rejectedBy } from './filters.ts';
import type { PlacementRequest, Snapshot } from './model.ts';

export type Fit = Readonly<{ nodes: number; largest_count: number }>;

/** `largest_count` is the largest count of the SKU that fits, quota included; 0 when none does. */
export const fitsNow = (request: PlacementRequest, snapshot: Snapshot): Fit => {
  const candidates = snapshot.nodes.map(candidateOf);
  const nodesFor = (gpu_count: number): number =>
    candidates.filter((candidate) => rejectedBy(candidate, { ...request, gpu_count }) === null).length;
  return {
    nodes: nodesFor(request.gpu_count),
    largest_count: Math.max(0, ...request.allowed_gpu_counts.filter((count) => nodesFor(count) > 0)),
  };
};
