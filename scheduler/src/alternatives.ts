/**
 * What the tenant could have now instead, nearest first: another count, another region, another shape, another SKU.
 * Each is tried on the same snapshot with the same filters and quota, so asking for it there succeeds. An empty
 * `slice` node is never offered as bare metal: converting it is an operator's decision.
 */
import { rejectedBy } from './filters.ts';
import type { Alternative, PlacementRequest, SkuFact, Snapshot } from './model.ts';

/** The request that an alternative stands for. */
export const placementRequestOf = (
  request: PlacementRequest,
  alternative: Alternative,
  snapshot: Snapshot,
): PlacementRequest => {
  const sku = snapshot.skus.find((fact) => fact.name === alternative.sku);
  const { shape, region, gpu_count } = alternative;
  return {
    ...request,
    shape,
    sku: alternative.sku,
    region,
    gpu_count,
    allowed_gpu_counts: sku?.allowed_gpu_counts ?? request.allowed_gpu_counts,
    gpus_per_node: sku?.gpus_per_node ?? request.gpus_per_node,
  };
};

const isOpen = (snapshot: Snapshot, sku: string, region: string): boolean =>
  snapshot.skus.every((fact) => fact.name !== sku || fact.enabled) &&
  snapshot.regions.every((fact) => fact.name !== region || fact.enabled);

const byName = <T extends { readonly name: string }>(facts: readonly T[]): readonly T[] =>
  [...facts].sort((a, b) => (a.name < b.name ? -1 : 1));

/** The smallest allowed count that is enough, else the largest there is. */
const nearestCount = (sku: SkuFact, gpuCount: number): number => {
  const enough = sku.allowed_gpu_counts.filter((count) => count >= gpuCount);
  return enough.length > 0 ? Math.min(...enough) : Math.max(...sku.allowed_gpu_counts);
};

type Wish = Alternative & Readonly<{ group: string }>;

/** Candidates in order of nearness. Of one group only the first that fits is told: fewer GPUs once, more GPUs once. */
const wishes = (request: PlacementRequest, snapshot: Snapshot): readonly Wish[] => {
  const { shape, sku, region, gpu_count } = request;
  const counts = [...new Set(request.allowed_gpu_counts)].sort((a, b) => a - b);
  const same = { shape, sku, region, gpu_count };
  const others = byName(snapshot.skus).filter((fact) => fact.name !== sku && fact.allowed_gpu_counts.length > 0);
  const asSku = (fact: SkuFact, kind: 'shape' | 'sku'): Wish => ({
    kind,
    shape: fact.shape,
    sku: fact.name,
    region,
    gpu_count: nearestCount(fact, gpu_count),
    group: `sku ${fact.name}`,
  });
  return [
    ...counts
      .filter((count) => count < gpu_count)
      .reverse()
      .map((count): Wish => ({ ...same, kind: 'gpu_count', gpu_count: count, group: 'fewer' })),
    ...counts
      .filter((count) => count > gpu_count)
      .map((count): Wish => ({ ...same, kind: 'gpu_count', gpu_count: count, group: 'more' })),
    ...(counts.includes(gpu_count) ? byName(snapshot.regions) : [])
      .filter((fact) => fact.name !== region)
      .map((fact): Wish => ({ ...same, kind: 'region', region: fact.name, group: `region ${fact.name}` })),
    ...others.filter((fact) => fact.shape !== shape).map((fact) => asSku(fact, 'shape')),
    ...others.filter((fact) => fact.shape === shape).map((fact) => asSku(fact, 'sku')),
  ];
};

export const alternativesFor = (
  request: PlacementRequest,
  snapshot: Snapshot,
  alternativesMax: number,
): readonly Alternative[] => {
  if (alternativesMax < 1) return [];
  const found: Alternative[] = [];
  const groups = new Set<string>();
  for (const { group, ...alternative } of wishes(request, snapshot)) {
    if (groups.has(group) || !isOpen(snapshot, alternative.sku, alternative.region)) continue;
    const wished = placementRequestOf(request, alternative, snapshot);
    if (!snapshot.nodes.some((node) => rejectedBy({ node, summary: null }, wished) === null)) continue;
    groups.add(group);
    found.push(alternative);
    if (found.length === alternativesMax) break;
  }
  return found;
};
