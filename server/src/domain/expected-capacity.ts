/**
 * When more GPUs are expected: where allocations reach their maximum duration, and where cleanup runs. Only what is
 * known counts. A protected allocation is not released by itself, and a cleanup that exceeds its usual time has no known
 * end. A whole node is expected when all its claims have a known end.
 *
 * Tenants read the result, so it is counts and times only, and times are rounded up to a quarter of an hour: no time
 * identifies an allocation. `db/expected-capacity.ts` is the same rule over the fleet.
 */
import type { EXPECTED_KINDS } from '@gpuaas/contract';
import { type CapacityShape, pathOf, taskKindOf } from './workflow-declaration.ts';
import { RELEASE_ALLOCATION } from './workflow-steps.ts';

export type ExpectedKind = (typeof EXPECTED_KINDS)[number];
/** `largest`: the most of these GPUs on one node, with those that are free on it now. */
export type ExpectedEntry = Readonly<{ at: string; kind: ExpectedKind; gpus: number; largest: number }>;
export type Expected = Readonly<Omit<ExpectedEntry, 'largest'>>;

export const EXPECTED_STEP_S = 900;
/** Later ones are of little use to a launch that waits. */
export const EXPECTED_ENTRIES_MAX = 8;

const roundedUp = (ms: number): number => Math.ceil(ms / (EXPECTED_STEP_S * 1_000)) * EXPECTED_STEP_S * 1_000;

const cleanupTasks = (shape: CapacityShape) =>
  pathOf(RELEASE_ALLOCATION).map(([, step]) => ({ kind: taskKindOf(step, shape), usual_s: step.usual_s }));

export const CLEANUP_KINDS: readonly string[] = (['gpu_slice', 'baremetal'] as const).flatMap((shape) =>
  cleanupTasks(shape).flatMap(({ kind }) => kind ?? []),
);

/** How long a cleanup takes: as recent ones did, or as declared. */
export const cleanupSeconds = (shape: CapacityShape, medians_s: Readonly<Record<string, number>>): number =>
  Math.ceil(cleanupTasks(shape).reduce((sum, { kind, usual_s }) => sum + ((kind && medians_s[kind]) ?? usual_s), 0));

export type HoldingClaim = Readonly<{
  /** Of the slots with these indexes; null for the whole node. */
  slots: readonly number[] | null;
  shape: CapacityShape;
  state: string;
  is_protected: boolean;
  release_at: string | null;
  release_requested_at: string | null;
  /** Left behind by a launch that moved. */
  is_left: boolean;
}>;

export type HeldNode = Readonly<{
  gpu_count: number;
  capacity_mode: 'slice' | 'baremetal' | 'flexible';
  is_held: boolean;
  is_validated: boolean;
  free_gpus: number;
  /** The indexes of its slots that are approved and healthy. */
  fit_slots: readonly number[];
  claims: readonly HoldingClaim[];
}>;

type End = Readonly<{ atMs: number; kind: ExpectedKind }>;

const endOf = (claim: HoldingClaim, nowMs: number, cleanupS: Readonly<Record<CapacityShape, number>>): End | null => {
  if (claim.is_left) return null;
  const from = claim.state === 'active' && !claim.is_protected ? claim.release_at : null;
  const since = claim.state === 'releasing' ? claim.release_requested_at : null;
  const start = from ?? since;
  if (start === null) return null;
  const atMs = Date.parse(start) + cleanupS[claim.shape] * 1_000;
  return atMs <= nowMs ? null : { atMs: roundedUp(atMs), kind: from === null ? 'cleanup' : 'release' };
};

/** What one node contributes to a shape. */
const ofNode = (node: HeldNode, shape: CapacityShape, endAt: (claim: HoldingClaim) => End | null): ExpectedEntry[] => {
  const ends = node.claims.map((claim) => ({ claim, end: endAt(claim) }));
  if (shape === 'baremetal') {
    const known = ends.flatMap(({ end }) => end ?? []);
    if (node.capacity_mode === 'slice' || known.length === 0 || known.length < ends.length) return [];
    const kind = known.some((end) => end.kind === 'release') ? 'release' : 'cleanup';
    const at = new Date(Math.max(...known.map(({ atMs }) => atMs))).toISOString();
    return [{ at, kind, gpus: node.gpu_count, largest: node.gpu_count }];
  }
  if (node.capacity_mode === 'baremetal' || node.is_held || !node.is_validated) return [];
  const found = ends.flatMap(({ claim, end }) => {
    const gpus = node.fit_slots.filter((slot) => claim.slots === null || claim.slots.includes(slot)).length;
    return end === null || gpus === 0
      ? []
      : [{ at: new Date(end.atMs).toISOString(), kind: end.kind, gpus, largest: gpus }];
  });
  return merge(found, (a, b) => a + b).map((entry) => ({ ...entry, largest: entry.gpus + node.free_gpus }));
};

const keyOf = ({ at, kind }: ExpectedEntry): string => `${at} ${kind}`;

/** One entry per time and kind, in order. */
const merge = (
  entries: readonly ExpectedEntry[],
  largest: (a: number, b: number) => number = Math.max,
): ExpectedEntry[] => {
  const merged = new Map<string, ExpectedEntry>();
  for (const entry of entries) {
    const key = keyOf(entry);
    const other = merged.get(key);
    merged.set(
      key,
      other === undefined
        ? entry
        : { ...entry, gpus: other.gpus + entry.gpus, largest: largest(other.largest, entry.largest) },
    );
  }
  return [...merged.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
};

/** Of schedulable nodes of one region, GPU model and pool. */
export const expectedEntries = (
  nodes: readonly HeldNode[],
  shape: CapacityShape,
  nowMs: number,
  cleanupS: Readonly<Record<CapacityShape, number>>,
): readonly ExpectedEntry[] =>
  merge(nodes.flatMap((node) => ofNode(node, shape, (claim) => endOf(claim, nowMs, cleanupS)))).slice(
    0,
    EXPECTED_ENTRIES_MAX,
  );

/** The first time at which a node may get a launch of this many GPUs; null where none is known. */
export const nextExpected = (
  pools: readonly (readonly ExpectedEntry[])[],
  gpuCount: number,
  after: string,
): Expected | null => {
  const later = pools.flatMap((entries) => entries.filter(({ at }) => Date.parse(at) > Date.parse(after)));
  const found = merge(later).find(({ largest }) => largest >= gpuCount);
  if (found === undefined) return null;
  const { largest: _, ...expected } = found;
  return expected;
};

const BECAUSE: Readonly<Record<ExpectedKind, string>> = {
  release: 'when allocations reach their maximum duration',
  cleanup: 'when a cleanup completes',
};

/** Without a promise: allocations may be released earlier or extended, and others may launch first. */
export const expectedSentence = ({ gpus, at, kind }: Expected): string =>
  `${gpus} more ${gpus === 1 ? 'GPU is' : 'GPUs are'} expected by ${at.slice(0, 16).replace('T', ' ')} UTC, ${BECAUSE[kind]}.`;
