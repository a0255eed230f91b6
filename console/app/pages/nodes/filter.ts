/**
 * Which nodes are shown. Filters come from the URL, so they are plain words and an unknown one matches nothing. The
 * count of an option is computed with the other filters applied, so that it equals the number of results.
 */
import type { SlotMapRow } from '@gpuaas/sdk';
import { needsAttention } from './attention.ts';

export const FACETS = ['region', 'state', 'occupancy', 'health', 'slot'] as const;
export type Facet = (typeof FACETS)[number];
export type NodeFilter = Readonly<Partial<Record<Facet | 'q' | 'attention', string | undefined>>>;

const NO_SLOTS: readonly string[] = [];

/** The values of a node under a facet; for slot facets there are several. */
const valuesOf = (node: SlotMapRow, facet: Facet): readonly string[] => {
  switch (facet) {
    case 'region':
      return [node.region_name];
    case 'state':
      return [node.state];
    case 'occupancy':
      return [node.occupancy];
    case 'health':
      return [node.health];
    case 'slot':
      return node.slots.length === 0
        ? NO_SLOTS
        : [
            ...new Set(
              node.slots.flatMap(({ status, approval }) => (approval === 'approved' ? [status] : [status, approval])),
            ),
          ];
  }
};

/** By name, ID, model, pool, or an allocation on it. */
const matchesText = (node: SlotMapRow, text: string): boolean => {
  const wanted = text.trim().toLowerCase();
  return (
    wanted === '' ||
    [node.name, node.node_id, node.gpu_model, node.pool_name, node.region_name].some((one) =>
      one.toLowerCase().includes(wanted),
    ) ||
    node.slots.some(({ id, allocation_id }) => id === wanted || allocation_id === wanted)
  );
};

const matches = (node: SlotMapRow, filter: NodeFilter, except?: Facet | 'attention'): boolean =>
  matchesText(node, filter.q ?? '') &&
  (except === 'attention' || filter.attention === undefined || needsAttention(node)) &&
  FACETS.every((facet) => {
    const wanted = filter[facet];
    return facet === except || wanted === undefined || valuesOf(node, facet).includes(wanted);
  });

export const filterNodes = (nodes: readonly SlotMapRow[], filter: NodeFilter): readonly SlotMapRow[] =>
  nodes.filter((node) => matches(node, filter));

export type FacetCounts = Readonly<Record<Facet, ReadonlyMap<string, number>>> & Readonly<{ attention: number }>;

export const countFacets = (nodes: readonly SlotMapRow[], filter: NodeFilter): FacetCounts => {
  const countsOf = (facet: Facet): ReadonlyMap<string, number> => {
    const counts = new Map<string, number>();
    for (const node of nodes)
      if (matches(node, filter, facet))
        for (const value of valuesOf(node, facet)) counts.set(value, (counts.get(value) ?? 0) + 1);
    return counts;
  };
  return {
    region: countsOf('region'),
    state: countsOf('state'),
    occupancy: countsOf('occupancy'),
    health: countsOf('health'),
    slot: countsOf('slot'),
    attention: nodes.filter((node) => matches(node, filter, 'attention') && needsAttention(node)).length,
  };
};

export const isFiltered = (filter: NodeFilter): boolean =>
  [...FACETS, 'q' as const, 'attention' as const].some((name) => filter[name] !== undefined);
