/**
 * Placement as a pure function: the same request, snapshot and policy give the same decision, for any order of nodes,
 * slots or partitions. Every node is checked by every filter until one refuses it; of those left, the lowest score key
 * wins, then the lowest id. A decision is a plan: the claim's transaction checks the locked rows again.
 */
import { alternativesFor } from './alternatives.ts';
import { type Candidate, candidateOf, FILTERS, rejectedBy, summaryOf } from './filters.ts';
import type {
  Decision,
  Placed,
  PlacementRequest,
  Policy,
  SchedulerNode,
  Snapshot,
  Unplaceable,
  UnplaceableCode,
} from './model.ts';
import { reasonsFor } from './reasons.ts';
import { bareMetalScoreKey, bestSet, DEFAULT_POLICY, type NodeSummary, type ScoredSet, scoresOf } from './scorers.ts';
import { type CheckedNode, capacityFacts } from './unavailable.ts';

type Ranked = Readonly<{
  node: SchedulerNode;
  key: number;
  slice: Readonly<{ summary: NodeSummary; best: ScoredSet }> | null;
}>;

/** Refusals before any node is examined. */
const alwaysRefused = (request: PlacementRequest, snapshot: Snapshot): UnplaceableCode | null => {
  if (snapshot.regions.some((region) => region.name === request.region && !region.enabled)) return 'region_disabled';
  if (snapshot.skus.some((sku) => sku.name === request.sku && !sku.enabled)) return 'sku_disabled';
  return request.allowed_gpu_counts.includes(request.gpu_count) ? null : 'gpu_count_not_allowed';
};

const rank = (candidate: Candidate, request: PlacementRequest, policy: Policy): Ranked | null => {
  const { node } = candidate;
  if (rejectedBy(candidate, request) !== null) return null;
  if (request.shape === 'baremetal') return { node, key: bareMetalScoreKey(node), slice: null };
  const summary = summaryOf(candidate);
  const best = bestSet(summary, request.gpu_count, policy);
  return best && { node, key: best.key, slice: { summary, best } };
};

const isBefore = (a: Ranked, b: Ranked): boolean => (a.key === b.key ? a.node.id < b.node.id : a.key < b.key);

const byIndex = (slots: SchedulerNode['slots']): readonly string[] =>
  [...slots].sort((a, b) => a.slot_index - b.slot_index).map((slot) => slot.id);

const placed = ({ node, slice }: Ranked, policy: Policy): Placed => {
  if (slice === null) {
    return { kind: 'placed', node_id: node.id, slot_ids: byIndex(node.slots), partition_id: null, scores: {} };
  }
  const { set } = slice.best;
  return {
    kind: 'placed',
    node_id: node.id,
    slot_ids: byIndex(node.slots.filter((slot) => (set.mask >>> slot.slot_index) & 1)),
    partition_id: set.partition_id,
    scores: scoresOf(slice.summary, set, policy),
  };
};

/** Nodes that would take this bare-metal request if an operator converted them. */
const convertible = (nodes: readonly SchedulerNode[], request: PlacementRequest): readonly string[] =>
  request.shape !== 'baremetal'
    ? []
    : nodes
        .filter((node) => node.capacity_mode === 'slice')
        .filter((node) => {
          const converted: SchedulerNode = { ...node, capacity_mode: 'flexible' };
          return rejectedBy(candidateOf(converted), request) === null;
        })
        .map((node) => node.id)
        .sort();

const unplaceable = (
  request: PlacementRequest,
  snapshot: Snapshot,
  policy: Policy,
  candidates: readonly Candidate[],
  refusedAlways: UnplaceableCode | null,
): Unplaceable => {
  const judged: readonly CheckedNode[] = candidates.map((candidate) => ({
    node: candidate.node,
    refusal: rejectedBy(candidate, request),
  }));
  const quota = request.quota_gpus_remaining;
  const isOverQuota = quota !== null && request.gpu_count > quota;
  const facts = {
    code: refusedAlways ?? (isOverQuota ? 'quota_exceeded' : 'insufficient_capacity'),
    ...capacityFacts(judged, request),
  } as const;
  let survivors = judged.length;
  const filters = FILTERS.map(({ name }, index) => {
    survivors -= judged.filter(({ refusal }) => refusal?.index === index).length;
    return { name, survivors };
  });
  return {
    kind: 'unplaceable',
    ...facts,
    filters,
    nodes_total: judged.length,
    rejections: judged
      .flatMap(({ node, refusal }) =>
        refusal ? [{ node_id: node.id, filter: refusal.filter, detail: refusal.detail }] : [],
      )
      .sort((a, b) => (a.node_id < b.node_id ? -1 : 1)),
    reasons: reasonsFor(facts, request),
    alternatives: alternativesFor(request, snapshot, candidates, policy.alternatives_max),
    convertible_node_ids: convertible(snapshot.nodes, request),
  };
};

export const place = (request: PlacementRequest, snapshot: Snapshot, policy: Policy = DEFAULT_POLICY): Decision => {
  const refusedAlways = alwaysRefused(request, snapshot);
  const candidates = snapshot.nodes.map(candidateOf);
  let winner: Ranked | null = null;
  if (refusedAlways === null) {
    for (const candidate of candidates) {
      const ranked = rank(candidate, request, policy);
      if (ranked !== null && (winner === null || isBefore(ranked, winner))) winner = ranked;
    }
  }
  return winner === null ? unplaceable(request, snapshot, policy, candidates, refusedAlways) : placed(winner, policy);
};
