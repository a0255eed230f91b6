/**
 * Ranks the fitting sets. Each scorer is a small integer, smaller being better, and a policy orders them: together they
 * are one sortable key per set. A node's key for a GPU count is the key of its best set, so an index over (key, id) has
 * the fleet's winner in its first row. The scheduler and that index must use this one function.
 *
 * A node with failed launches ranks last: it cools down until a launch succeeds there or its failures expire. Then the
 * order is that of a buddy allocator over the whole fleet: keep empty nodes empty, then split the smallest sufficient
 * set. Among equals the node with the oldest claim ranks first: durations are long-tailed, so old claims will continue,
 * and the other nodes drain.
 */
import { freeLegalSets, freeMask, type LegalSet, type LegalTable, legalTable, popcount } from './legal-sets.ts';
import type { CapacityMode, Occupancy, Policy, SchedulerNode, ScorerName } from './model.ts';

/** The inputs of scoring for a node. */
export type NodeSummary = Readonly<{
  free_mask: number;
  table: LegalTable;
  capacity_mode: CapacityMode;
  occupancy: Occupancy;
  oldest_claim_at_s: number | null;
  launch_failures: number;
}>;

type Scorer = Readonly<{
  /** Values are below this. */
  radix: number;
  score: (summary: NodeSummary, set: LegalSet) => number;
}>;

/** The weight of a lost set by its class: two to three GPUs, four to seven, eight to fifteen, sixteen and more. */
const CLASS_WEIGHTS = [1, 16, 16 ** 2, 16 ** 3] as const;
const LOST_MAX = 16 ** 4 - 1;
const weightOf = (size: number): number => CLASS_WEIGHTS[30 - Math.clz32(size)] ?? 0;

/** Where any set is legal, disjoint sets are counted: nine free GPUs hold one of eight, two of four, four of two. */
const lostOfAny = (free: number, size: number): number =>
  CLASS_WEIGHTS.reduce((sum, weight, index) => {
    const lost = (free >> (index + 1)) - ((free - size) >> (index + 1));
    return sum + lost * weight;
  }, 0);

/** Legal sets of two and more that are free now and would not be afterwards. A larger one outweighs all smaller. */
const lostSets = ({ table, free_mask }: NodeSummary, set: LegalSet): number => {
  if (table.sets === null) return lostOfAny(popcount(free_mask), set.size);
  let lost = 0;
  for (const { mask, size } of table.sets) {
    if ((mask & set.mask) !== 0 && (mask & free_mask) === mask) lost += weightOf(size);
  }
  return Math.min(lost, LOST_MAX);
};

/** Unix time until the year 2106 in steps of four seconds; whole, because a key is an integer. */
const AGE_STEP_S = 4;
const AGE_MAX = 2 ** 30 - 1;

/** More failures than this cool a node down no further. */
const COOLING_MAX = 3;
const coolingOf = (failures: number): number => Math.min(Math.max(Math.trunc(failures), 0), COOLING_MAX);

const isClean = (summary: NodeSummary): boolean =>
  summary.occupancy === 'free' && summary.free_mask === summary.table.slot_mask;

export const SCORERS: Readonly<Record<ScorerName, Scorer>> = {
  /** Recently failed launches on the node. */
  cooling: { radix: COOLING_MAX + 1, score: ({ launch_failures }) => coolingOf(launch_failures) },
  /** Bare metal and eight-GPU slices need an empty node; an empty flexible node is the most valuable. */
  clean_node: {
    radix: 3,
    score: (summary) => (isClean(summary) ? (summary.capacity_mode === 'flexible' ? 2 : 1) : 0),
  },
  /** The sets that this one breaks, largest first. */
  fragmentation: { radix: LOST_MAX + 1, score: lostSets },
  /** Sliced flexible nodes are left to drain, so that they become empty. */
  flexible: { radix: 2, score: (summary) => (summary.capacity_mode === 'flexible' ? 1 : 0) },
  /** The NUMA domains beyond the first that the set touches. */
  numa_span: {
    radix: 4,
    score: (summary, set) => {
      let touched = 0;
      for (const domain of summary.table.domains) if ((domain & set.mask) !== 0) touched += 1;
      return Math.min(touched - 1, 3);
    },
  },
  /** When the oldest claim was made: the oldest claims will last longest. */
  age: {
    radix: AGE_MAX + 1,
    score: (summary) => Math.min(Math.max(Math.trunc((summary.oldest_claim_at_s ?? 0) / AGE_STEP_S), 0), AGE_MAX),
  },
};

export const DEFAULT_POLICY: Policy = {
  scorers: ['cooling', 'clean_node', 'fragmentation', 'flexible', 'numa_span', 'age'],
  alternatives_max: 6,
};

export const summarise = (node: SchedulerNode): NodeSummary => ({
  free_mask: freeMask(node.slots),
  table: legalTable(node),
  capacity_mode: node.capacity_mode,
  occupancy: node.occupancy,
  oldest_claim_at_s: node.oldest_claim_at_s,
  launch_failures: node.launch_failures ?? 0,
});

export type ScoredSet = Readonly<{ set: LegalSet; key: number }>;

const keyOf = (summary: NodeSummary, set: LegalSet, policy: Policy): number => {
  let key = 0;
  for (const name of policy.scorers) key = key * SCORERS[name].radix + SCORERS[name].score(summary, set);
  return key;
};

/** Equal sets are distinguished by their slots, and two partitions over the same slots by their ids. */
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
 * The node's position in the order for slices of this size: the lowest key, then the lowest id, wins. Null when it has
 * no free legal set. Under the default policy it is an integer below 2^53: a JavaScript number and an SQL bigint.
 */
export const nodeScoreKey = (summary: NodeSummary, gpuCount: number, policy: Policy = DEFAULT_POLICY): number | null =>
  bestSet(summary, gpuCount, policy)?.key ?? null;

/** Bare metal prefers nodes that can serve nothing else, among those without cooldown. */
export const bareMetalScoreKey = (node: Pick<SchedulerNode, 'capacity_mode' | 'launch_failures'>): number =>
  coolingOf(node.launch_failures ?? 0) * 2 + (node.capacity_mode === 'baremetal' ? 0 : 1);

export const scoresOf = (summary: NodeSummary, set: LegalSet, policy: Policy): Partial<Record<ScorerName, number>> =>
  Object.fromEntries(policy.scorers.map((name) => [name, SCORERS[name].score(summary, set)]));
