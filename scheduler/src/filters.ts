/**
 * Whether a node may take a request at all. A rule is a named value in a list, cheapest first; operators see the name
 * with the number of nodes it left. Each rule evaluates the current node, so the same list applies to a snapshot before
 * the claim and to the locked rows during it.
 */
import { cannotStart } from './boot-kind.ts';
import { hostShortfall } from './host-size.ts';
import { freeLegalSets, isUsable, popcount } from './legal-sets.ts';
import type { FilterName, PlacementRequest, SchedulerNode, SchedulerSlot, UnavailableReason } from './model.ts';
import { type NodeSummary, summarise } from './scorers.ts';

/** A node under evaluation; its summary is computed when a filter first needs it, and reused for later requests. */
export type Candidate = { readonly node: SchedulerNode; summary: NodeSummary | null };

export const candidateOf = (node: SchedulerNode): Candidate => ({ node, summary: null });

export const summaryOf = (candidate: Candidate): NodeSummary => {
  candidate.summary ??= summarise(candidate.node);
  return candidate.summary;
};

export type Refusal = Readonly<{
  detail: string;
  /** The unavailable reason of the node's otherwise free GPUs; null where the node is not capacity for the request. */
  reason: UnavailableReason | null;
}>;

export type Filter = Readonly<{
  name: FilterName;
  reject: (candidate: Candidate, request: PlacementRequest) => Refusal | null;
}>;

const elsewhere = (detail: string): Refusal => ({ detail, reason: null });

const count = (slots: readonly SchedulerSlot[], is: (slot: SchedulerSlot) => boolean): number => {
  let matching = 0;
  for (const slot of slots) if (is(slot)) matching += 1;
  return matching;
};

/** For operators. */
export const OCCUPANCY_TEXT: Readonly<Record<SchedulerNode['occupancy'], string>> = {
  free: 'free',
  sliced: 'in use by slices',
  exclusive: 'in use as bare metal',
  cleaning: 'being wiped',
  cleanup_blocked: 'blocked in cleanup',
};

/** How a node's occupancy refuses a request that needs more than it leaves. */
export const OCCUPANCY_REASONS = {
  sliced: 'fragmented',
  exclusive: 'claimed',
  cleaning: 'cleaning',
  cleanup_blocked: 'cleanup_blocked',
} as const;

/** A whole node is allocated with all its GPUs and disks, so one unwiped or unhealthy slot refuses it. */
const rejectWholeNode = (node: SchedulerNode, request: PlacementRequest): Refusal | null => {
  const { slots, data_disks, unapproved_disks = 0 } = node;
  // The next tenant could read what this one left there.
  if (unapproved_disks > 0) {
    const disks = unapproved_disks === 1 ? '1 disk is' : `${unapproved_disks} disks are`;
    return { detail: `${disks} neither wiped under an approval nor excluded`, reason: 'unapproved' };
  }
  // Without a slot or a disk to wipe, a release could prove nothing.
  if (slots.length === 0)
    return data_disks === 0 ? { detail: 'no slot and no data disk is approved', reason: 'unapproved' } : null;
  const dirty = count(slots, (slot) => slot.status !== 'available');
  if (dirty > 0) return { detail: `${dirty} of ${slots.length} slots are not available`, reason: 'fragmented' };
  const usable = count(slots, isUsable);
  if (usable >= request.gpu_count) return null;
  return { detail: `${usable} usable GPUs, ${request.gpu_count} requested`, reason: 'fragmented' };
};

export const FILTERS: readonly Filter[] = [
  {
    name: 'region',
    reject: ({ node }, request) => (node.region === request.region ? null : elsewhere(`node is in ${node.region}`)),
  },
  {
    name: 'node_state',
    reject: ({ node: { state } }) => {
      if (state === 'active') return null;
      const detail = `node is ${state}`;
      return state === 'offline' || state === 'draining' ? { detail, reason: 'not_ready' } : elsewhere(detail);
    },
  },
  {
    name: 'gpu_model',
    reject: ({ node }) =>
      node.has_other_gpus === true ? { detail: 'discovery found GPUs of another model', reason: 'not_ready' } : null,
  },
  {
    name: 'host_role',
    reject: ({ node }) => (node.host_role === 'worker_compute' ? null : elsewhere(`host role is ${node.host_role}`)),
  },
  {
    name: 'pool',
    reject: ({ node: { pool } }, request) =>
      pool.tenant_id === null || pool.tenant_id === request.tenant_id
        ? null
        : elsewhere(`pool ${pool.id} is dedicated to another tenant`),
  },
  {
    name: 'sku',
    reject: ({ node }, request) =>
      node.sku_names.includes(request.sku) ? null : elsewhere(`node offers ${node.sku_names.join(', ') || 'no SKU'}`),
  },
  {
    name: 'capacity_mode',
    reject: ({ node }, request) =>
      node.capacity_mode === (request.shape === 'baremetal' ? 'slice' : 'baremetal')
        ? elsewhere(`node is for ${node.capacity_mode === 'slice' ? 'slices' : 'bare metal'}`)
        : null,
  },
  {
    name: 'occupancy',
    reject: ({ node: { occupancy } }, request) =>
      occupancy === 'free' || (occupancy === 'sliced' && request.shape === 'gpu_slice')
        ? null
        : { detail: `node is ${OCCUPANCY_TEXT[occupancy]}`, reason: OCCUPANCY_REASONS[occupancy] },
  },
  {
    name: 'held',
    reject: ({ node }, request) =>
      node.held_for === null || node.held_for === request.shape
        ? null
        : { detail: `node is held for ${node.held_for}`, reason: 'held' },
  },
  {
    name: 'node_health',
    reject: ({ node: { health } }) =>
      health === 'ok' ? null : { detail: `node health is ${health}`, reason: 'unhealthy' },
  },
  {
    name: 'runtime_validated',
    reject: ({ node }, request) =>
      node.runtime_validated || request.shape === 'baremetal'
        ? null
        : { detail: 'no prerequisite check has passed since the node booted', reason: 'not_ready' },
  },
  {
    name: 'boot_kind',
    reject: ({ node }, { shape, boot_kind }) => {
      const detail = shape === 'baremetal' || boot_kind == null ? null : cannotStart(node.boot_kinds, boot_kind);
      return detail === null ? null : { detail, reason: 'boot_kind' };
    },
  },
  {
    name: 'host_size',
    reject: ({ node: { host } }, { gpu_count, vm }) => {
      const shortfall = host && vm ? hostShortfall(host, gpu_count, vm) : null;
      return shortfall === null ? null : elsewhere(`VM does not fit: ${shortfall}`);
    },
  },
  {
    name: 'slot_completeness',
    reject: (candidate, request) => {
      if (request.shape === 'baremetal') return null;
      const usable = count(candidate.node.slots, isUsable);
      if (usable < request.gpu_count) return null;
      const complete = popcount(summaryOf(candidate).free_mask);
      if (complete >= request.gpu_count) return null;
      return { detail: `${usable - complete} of ${usable} usable slots are incomplete`, reason: 'fragmented' };
    },
  },
  {
    name: 'count_on_one_node',
    reject: (candidate, request) => {
      if (request.shape === 'baremetal') return rejectWholeNode(candidate.node, request);
      const free = popcount(summaryOf(candidate).free_mask);
      if (free >= request.gpu_count) return null;
      return { detail: `${free} free GPUs, ${request.gpu_count} requested`, reason: 'fragmented' };
    },
  },
  {
    name: 'fabric',
    reject: (candidate, request) => {
      if (request.shape === 'baremetal') return null;
      const { free_mask, table } = summaryOf(candidate);
      if (freeLegalSets(free_mask, table, request.gpu_count).length > 0) return null;
      return {
        detail: `${popcount(free_mask)} free GPUs form no legal set of ${request.gpu_count}`,
        reason: 'fabric',
      };
    },
  },
  {
    name: 'quota',
    reject: (_, { gpu_count, quota_gpus_remaining }) =>
      quota_gpus_remaining === null || gpu_count <= quota_gpus_remaining
        ? null
        : { detail: `${gpu_count} requested, ${quota_gpus_remaining} left in the quota`, reason: 'quota' },
  },
];

export type FilterRefusal = Refusal & Readonly<{ filter: FilterName; index: number }>;

/** The first filter that refuses the node, or null when it may take the request. */
export const rejectedBy = (candidate: Candidate, request: PlacementRequest): FilterRefusal | null => {
  let index = 0;
  for (const { name, reject } of FILTERS) {
    const refusal = reject(candidate, request);
    if (refusal !== null) return { detail: refusal.detail, reason: refusal.reason, filter: name, index };
    index += 1;
  }
  return null;
};
