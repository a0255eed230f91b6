export { placementRequestOf } from './alternatives.ts';
export { afterClaim, afterRelease, INDEXED_GPU_COUNTS, type PlacementIndexRow, placementIndexRow } from './apply.ts';
export { cannotStart } from './boot-kind.ts';
export { explainToOperator, explainToUser } from './explain.ts';
export {
  type Candidate,
  candidateOf,
  FILTERS,
  type Filter,
  type FilterRefusal,
  OCCUPANCY_TEXT,
  type Refusal,
  rejectedBy,
} from './filters.ts';
export { type Fit, fitsNow } from './fit.ts';
export { type Fragmentation, fragmentation, fragmentationLine } from './fragmentation.ts';
export { hostShortfall } from './host-size.ts';
export {
  freeMask,
  isComplete,
  isUsable,
  type LegalSet,
  type LegalTable,
  largestLegalSet,
  legalSets,
  legalTable,
  popcount,
  SLOTS_MAX,
} from './legal-sets.ts';
export * from './model.ts';
export { place } from './place.ts';
export { type RefusalFacts, reasonsFor } from './reasons.ts';
export { bareMetalScoreKey, DEFAULT_POLICY, type NodeSummary, nodeScoreKey, summarise } from './scorers.ts';
export { type CapacityFacts, capacityFacts, NONE_UNAVAILABLE, slotReason } from './unavailable.ts';
