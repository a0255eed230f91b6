/**
 * Refusal reasons, in words for the user and codes for programs. They use only counts, so a server with such counts for
 * the whole fleet gives the same reasons as a replay over every node. No host, device or other tenant is named.
 */
import type { PlacementRequest, Reason, UnavailableGpus, UnavailableReason, UnplaceableCode } from './model.ts';

export type RefusalFacts = Readonly<{
  code: UnplaceableCode;
  unavailable_gpus: UnavailableGpus;
  gpus_total: number;
  free_gpus: number;
  largest_set: number;
}>;

export const gpus = (count: number): string => (count === 1 ? '1 GPU' : `${count} GPUs`);

const REASON_TEXT: Readonly<Record<UnavailableReason, string>> = {
  claimed: 'in use',
  cleaning: 'being wiped before reuse',
  cleanup_blocked: 'waiting for a wipe that could not finish',
  quarantined: 'quarantined after a fault',
  unapproved: 'not approved for use',
  hardware_changed: 'waiting for approval after a hardware change',
  unhealthy: 'unhealthy',
  incomplete: 'not ready: storage, network or fabric is not assigned',
  not_ready: 'on nodes that are not ready',
  held: 'held by the operator',
  fabric: 'free, but not joined as one set by the fabric',
  fragmented: 'free, but on nodes that each have too few',
  boot_kind: 'on nodes that cannot start the image',
  quota: 'free, but beyond the quota',
};

/** The order for users: reasons that resolve automatically first. */
const REASON_ORDER: readonly UnavailableReason[] = [
  'claimed',
  'cleaning',
  'fragmented',
  'fabric',
  'boot_kind',
  'held',
  'cleanup_blocked',
  'quarantined',
  'unapproved',
  'hardware_changed',
  'unhealthy',
  'incomplete',
  'not_ready',
  'quota',
];

const reasonText = (kind: UnavailableReason, unavailable: UnavailableGpus): string =>
  `${gpus(unavailable[kind])} ${REASON_TEXT[kind]}`;

const reasonsIn = (unavailable: UnavailableGpus): readonly UnavailableReason[] =>
  REASON_ORDER.filter((kind) => unavailable[kind] > 0);

/** No capacity, capacity that no single node has, or capacity that something blocks. */
const capacityReason = (facts: RefusalFacts, request: PlacementRequest): Reason => {
  const { unavailable_gpus, free_gpus, largest_set } = facts;
  const what = `${request.sku} in ${request.region}`;
  if (facts.gpus_total === 0)
    return { code: 'no_nodes', gpus: 0, detail: `No node in ${request.region} offers SKU ${request.sku}.` };
  if (free_gpus >= request.gpu_count) {
    const blocker =
      unavailable_gpus.fabric > 0
        ? `the fabric joins no ${request.gpu_count} of them on one node`
        : `no single node fits ${request.gpu_count}`;
    const detail = `${gpus(free_gpus)} of ${what} are free, but ${blocker}; the largest set is ${largest_set}.`;
    return { code: 'one_node', gpus: free_gpus, detail };
  }
  const verdict =
    free_gpus === 0
      ? `No ${what} is free`
      : `Only ${gpus(free_gpus)} of ${what} ${free_gpus === 1 ? 'is' : 'are'} free`;
  const others = reasonsIn(unavailable_gpus).map((kind) => reasonText(kind, unavailable_gpus));
  return { code: 'no_capacity', gpus: free_gpus, detail: `${verdict}: ${others.join(', ')}.` };
};

const headReason = (facts: RefusalFacts, request: PlacementRequest, quotaLeft: number): Reason => {
  switch (facts.code) {
    case 'sku_disabled':
      return { code: facts.code, gpus: 0, detail: `${request.sku} is disabled.` };
    case 'region_disabled':
      return { code: facts.code, gpus: 0, detail: `Region ${request.region} is disabled.` };
    case 'gpu_count_not_allowed':
      return {
        code: facts.code,
        gpus: request.gpu_count,
        detail: `${request.sku} comes in ${request.allowed_gpu_counts.join(', ')} GPUs, not ${request.gpu_count}.`,
      };
    case 'quota_exceeded':
      return {
        code: facts.code,
        gpus: quotaLeft,
        detail: `${gpus(request.gpu_count)} requested, ${quotaLeft} left in the quota.`,
      };
    case 'insufficient_capacity':
      return capacityReason(facts, request);
  }
};

/** The verdict first, then the unavailable capacity. */
export const reasonsFor = (facts: RefusalFacts, request: PlacementRequest): readonly Reason[] => [
  headReason(facts, request, Math.max(0, request.quota_gpus_remaining ?? 0)),
  ...reasonsIn(facts.unavailable_gpus).map((kind) => ({
    code: kind,
    gpus: facts.unavailable_gpus[kind],
    detail: `${reasonText(kind, facts.unavailable_gpus)}.`,
  })),
];
