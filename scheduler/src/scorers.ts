/**
 * Which of the fitting sets is best. Each scorer is a small integer, smaller being better, and a policy orders them:
 * together they are one sortable key per set. A node's key for a GPU count is the key of its best set, so an index
 * over (key, id) has the fleet's winner in its first row. The scheduler and that index must use this one function.
 *
 * The default order is a buddy allocator's over the whole fleet: leave whole nodes whole, then break the smallest set
 * that will do, then fill the fullest node, so that emptier ones drain.
 */
import { freeLegalSets, freeMask, type LegalSet, type LegalTable, legalTable, popcount } from './legal-sets.ts';
import type { CapacityMode, Occupancy, Policy, SchedulerNode, ScorerName } from './model.ts';

/** What scoring needs of a node. */
export type NodeSummary = Readonly<{
  free_mask: number;
  table: LegalTable;
  capacity_mode: CapacityMode;
  occupancy: Occupancy;
}>;

type Scorer = Readonly<{
  /** Values are below this. */
  radix: number;
  score: (summary: NodeSummary, set: LegalSet) => number;
}>;

/** Two to three GPUs, four to seven, eight to fifteen, sixteen and more. */
const SIZE_CLASSES = 4;
const CLASS_RADIX = 32;
const sizeClass = (size: number): number => 30 - Math.clz32(size);

/** Legal sets of two and more that are whole now and would not be afterwards, by size class. */
const lostSets = (summary: NodeSummary, set: LegalSet): readonly number[] => {
  const lost = [0, 0, 0, 0];
  const { sets } = summary.table;
  if (sets === null) {
    const free = popcount(summary.free_mask);
    return lost.map((_, index) => (free >> (index + 1)) - ((free - set.size) >> (index + 1)));
  }
  for (const other of sets) {
    if (other.size < 2 || (other.mask & set.mask) === 0 || (other.mask & summary.free_mask) !== other.mask) continue;
    const index = sizeClass(other.size);
    lost[index] = (lost[index] ?? 0) + 1;
  }
  return lost;
};

const isClean = (summary: NodeSummary): boolean =>
  summary.occupancy === 'free' && summary.free_mask === summary.table.slot_mask;

export const SCORERS: Readonly<Record<ScorerName, Scorer>> = {
  /** A clean node is what bare metal and eight-GPU slices need; a clean flexible one most of all. */
  clean_node: {
    radix: 3,
    score: (summary) => (isClean(summary) ? (summary.capacity_mode === 'flexible' ? 2 : 1) : 0),
  },
  /** The sets that this one breaks, largest first. */
  fragmentation: {
    radix: CLASS_RADIX ** SIZE_CLASSES,
    score: (summary, set) =>
      lostSets(summary, set).reduceRight((key, count) => key * CLASS_RADIX + Math.min(count, CLASS_RADIX - 1), 0),
  },
  /** GPUs that stay free on the node: the fullest node first. */
  leftover: { radix: 32, score: (summary, set) => popcount(summary.free_mask) - set.size },
  /** Sliced flexible nodes are left to drain, so that they become clean. */
  flexible: { radix: 2, score: (summary) => (summary.capacity_mode === 'flexible' ? 1 : 0) },
  /** NUMA domains beyond the first that the set touches. */
  numa_span: {
    radix: 8,
    score: (summary, set) => {
      let touched = 0;
      for (const domain of summary.table.domains) if ((domain & set.mask) !== 0) touched += 1;
      return Math.min(touched - 1, 7);
    },
  },
};

export const DEFAULT_POLICY: Policy = {
  scorers: ['clean_node', 'fragmentation', 'leftover', 'flexible', 'numa_span'],
  alternatives_max: 6,
  candidates: 16,
};

export const summarise = (node: SchedulerNode): NodeSummary => ({
  free_mask: freeMask(node.slots),
  table: legalTable(node),
  capacity_mode: node.capacity_mode,
  occupancy: node.occupancy,
});

export type ScoredSet = Readonly<{ set: LegalSet; key: number }>;

const keyOf = (summary: NodeSummary, set: LegalSet, policy: Policy): number => {
  let key = 0;
  for (const name of policy.scorers) key = key * SCORERS[name].radix + SCORERS[name].score(summary, set);
  return key;
};

/** Equal sets are told apart by their slots, and two partitions over the same slots by their ids. */
const isBefore = (a: ScoredSet, b: ScoredSet): boolean =>
  a.key !== b.key
    ? a.key < b.key
    : a.set.mask !== b.set.mask
      ? a.set.mask < b.set.mask
      : `${a.set.partition_id}` < `${b.set.partition_id}`;

/** The best set of this size on the node, or null. */
export const bestSet = (summary: NodeSummary, gpuCount: number, policy: Policy): ScoredSet | null => {
  let best: ScoredSet | null = null;
  for (const set of freeLegalSets(summary.free_mask, summary.table, gpuCount)) {
    const scored = { set, key: keyOf(summary, set, policy) };
    if (best === null || isBefore(scored, best)) best = scored;
  }
  return best;
};

/**
 * The node's place in the order for slices of this size: the least key, then the least id, wins. Null when it has no
 * free legal set. Below 2^31 under the default policy.
 */
export const nodeScoreKey = (summary: NodeSummary, gpuCount: number, policy: Policy = DEFAULT_POLICY): number | null =>
  bestSet(summary, gpuCount, policy)?.key ?? null;

/** Bare metal takes nodes that can do nothing else first. */
export const bareMetalScoreKey = (node: Pick<SchedulerNode, 'capacity_mode'>): number =>
  node.capacity_mode === 'baremetal' ? 0 : 1;

export const scoresOf = (summary: NodeSummary, set: LegalSet, policy: Policy): Partial<Record<ScorerName, number>> =>
  Object.fromEntries(policy.scorers.map((name) => [name, SCORERS[name].score(summary, set)]));
