/**
 * Alternatives that fit now, nearest first: another count, another region, another shape, another SKU. Each is tried on
 * the same snapshot with the same filters and quota, so requesting it there succeeds. An empty `slice` node is never
 * offered as bare metal: converting it is an operator's decision.
 */
import { type Candidate, rejectedBy } from './filters.ts';
import type { Alternative, PlacementRequest, RegionFact, SkuFact, Snapshot } from './model.ts';

type Catalog = Pick<Snapshot, 'regions' | 'skus'>;

/** The request of an alternative. */
export const placementRequestOf = (
  request: PlacementRequest,
  alternative: Alternative,
  catalog: Catalog,
): PlacementRequest => {
  // The request includes its own SKU, which the catalog may lack.
  const sku = catalog.skus.find((fact) => fact.name === alternative.sku && fact.name !== request.sku);
  const { shape, region, gpu_count } = alternative;
  return {
    ...request,
    shape,
    sku: alternative.sku,
    region,
    gpu_count,
    allowed_gpu_counts: sku?.allowed_gpu_counts ?? request.allowed_gpu_counts,
    gpus_per_node: sku?.gpus_per_node ?? request.gpus_per_node,
    // Another count or SKU has a VM of another size.
    vm: alternative.sku === request.sku && gpu_count === request.gpu_count ? (request.vm ?? null) : null,
  };
};

const isOpen = (catalog: Catalog, sku: string, region: string): boolean =>
  catalog.skus.every((fact) => fact.name !== sku || fact.enabled) &&
  catalog.regions.every((fact) => fact.name !== region || fact.enabled);

const byName = <T extends { readonly name: string }>(facts: readonly T[]): readonly T[] =>
  [...facts].sort((a, b) => (a.name < b.name ? -1 : 1));

/** Nearest first: larger counts ascending, then smaller counts descending. */
const byDistance = (counts: readonly number[], gpuCount: number): readonly number[] => {
  const rising = [...new Set(counts)].sort((a, b) => a - b);
  return [...rising.filter((count) => count >= gpuCount), ...rising.filter((count) => count < gpuCount).reverse()];
};

type CandidateRequest = Alternative & Readonly<{ group: string }>;

/** In order of nearness. Of one group only the first that fits is reported: fewer GPUs once, more GPUs once. */
const closestFirst = (request: PlacementRequest, catalog: Catalog): readonly CandidateRequest[] => {
  const { shape, sku, region, gpu_count } = request;
  const same = { shape, sku, region, gpu_count };
  const counts = byDistance(request.allowed_gpu_counts, gpu_count);
  const inCount = (count: number): CandidateRequest => ({
    ...same,
    kind: 'gpu_count',
    gpu_count: count,
    group: count < gpu_count ? 'fewer' : 'more',
  });
  const inRegion = ({ name }: RegionFact): CandidateRequest => ({
    ...same,
    kind: 'region',
    region: name,
    group: `region ${name}`,
  });
  const inSku = (fact: SkuFact): readonly CandidateRequest[] =>
    byDistance(fact.allowed_gpu_counts, gpu_count).map((count) => ({
      kind: fact.shape === shape ? 'sku' : 'shape',
      shape: fact.shape,
      sku: fact.name,
      region,
      gpu_count: count,
      group: `sku ${fact.name}`,
    }));
  const others = byName(catalog.skus).filter((fact) => fact.name !== sku);
  return [
    ...counts.filter((count) => count < gpu_count).map(inCount),
    ...counts.filter((count) => count > gpu_count).map(inCount),
    ...(counts.includes(gpu_count) ? byName(catalog.regions) : []).filter(({ name }) => name !== region).map(inRegion),
    ...others.filter((fact) => fact.shape !== shape).flatMap(inSku),
    ...others.filter((fact) => fact.shape === shape).flatMap(inSku),
  ];
};

export const alternativesFor = (
  request: PlacementRequest,
  catalog: Catalog,
  candidates: readonly Candidate[],
  alternativesMax: number,
): readonly Alternative[] => {
  if (alternativesMax < 1) return [];
  const found: Alternative[] = [];
  const groups = new Set<string>();
  for (const { group, ...alternative } of closestFirst(request, catalog)) {
    if (groups.has(group) || !isOpen(catalog, alternative.sku, alternative.region)) continue;
    const wished = placementRequestOf(request, alternative, catalog);
    if (!candidates.some((candidate) => rejectedBy(candidate, wished) === null)) continue;
    groups.add(group);
    found.push(alternative);
    if (found.length === alternativesMax) break;
  }
  return found;
};
