/** Answers about allocations, capacity and nodes. */
import type { AdminAllocation, Capacity, Node, Operations, Quota, Slot, TimelineEntry, UsageRecord } from '@gpuaas/sdk';
import { allocation, estimate, placementIds, released, releasing, requested } from './fixtures-allocation.ts';
import { powerAnswers } from './fixtures-power.ts';
import { snapshot } from './fixtures-snapshot.ts';

const id = (prefix: string, last: string): string => `${prefix}_01k9zv3m8q4t6w2x5y7r0s1n${last.padStart(2, '0')}`;
const time = '2026-11-15T10:03:21.000Z';
const usd = (amount_minor: number) => ({ amount_minor, currency: 'USD' });
const page = <T>(...items: T[]) => ({ items, next_cursor: null });
const project_id = id('prj', '1a');
const organization_id = id('org', '1a');

const entry: TimelineEntry = {
  sequence: 1,
  workflow: 'provision-slice',
  step: 'leaseBundle',
  label: 'Set the GPUs aside',
  attempt: 1,
  outcome: 'next',
  detail: null,
  started_at: time,
  finished_at: time,
  duration_ms: 840,
};
const stepAfter = (sequence: number, step: string, label: string, endsAt: string): TimelineEntry => ({
  ...entry,
  sequence,
  step,
  label,
  finished_at: `2026-11-15T10:0${endsAt}.402Z`,
  duration_ms: 402,
});
/** A launch from its first step to its last; the copy of the image was waited for. */
export const entries: readonly TimelineEntry[] = [
  { ...entry, finished_at: '2026-11-15T10:03:21.840Z' },
  {
    ...stepAfter(2, 'cloneImage', 'Copy the image', '3:21'),
    outcome: 'wait',
    detail: 'The image is being copied.',
  },
  stepAfter(3, 'cloneImage', 'Copy the image', '3:33'),
  { ...stepAfter(4, 'startVm', 'Start the machine', '3:35'), started_at: '2026-11-15T10:03:33.402Z' },
  { ...stepAfter(5, 'awaitReady', 'Boot', '4:02'), started_at: '2026-11-15T10:03:35.402Z' },
  { ...stepAfter(6, 'activate', 'Hand it over', '4:02'), started_at: '2026-11-15T10:04:02.402Z', outcome: 'done' },
];
export const adminAllocation: AdminAllocation = {
  allocation,
  organization_id,
  node_id: placementIds.node,
  claims: [
    {
      id: id('clm', '1a'),
      claim_kind: 'slot',
      node_id: placementIds.node,
      slot_id: id('slt', '1a'),
      gpu_count: 1,
      created_at: time,
      released_at: null,
      wipe_proof_id: null,
    },
  ],
};
const node: Node = {
  id: placementIds.node,
  name: 'demo-h200-01',
  region_name: 'eu-north-1',
  pool_name: 'shared',
  pool_organization_id: null,
  gpu_model: 'H200 SXM',
  gpu_count: 8,
  host_role: 'worker_compute',
  state: 'active',
  state_reason: null,
  state_since: time,
  capacity_mode: 'flexible',
  occupancy: 'sliced',
  is_held: false,
  held_reason: null,
  health: 'ok',
  is_runtime_validated: true,
  has_drift: false,
  reboot_required: false,
  reconciled_at: '2026-11-15T10:02:33.000Z',
  finding_count: 0,
  reboot_reason: null,
  last_seen_at: time,
  is_connected: true,
  free_gpus: 3,
  largest_set: 2,
  version: 6,
  created_at: time,
};
const slot: Slot = {
  id: id('slt', '1a'),
  node_id: placementIds.node,
  slot_index: 0,
  approval: 'approved',
  status: 'in_use',
  status_reason: null,
  status_since: time,
  health: 'ok',
  health_detail: {},
  generation: 3,
  host_generation: null,
  module_id: 5,
  numa_node: 0,
  gpu_pci_address: '0000:1b:00.0',
  nvme_serial: 'S6XN0001',
  mac_address: '02:00:00:00:00:01',
  private_ip: '10.20.0.2',
  fabric_vf_pci_address: '0000:1c:00.1',
  allocation_id: placementIds.allocation,
  last_claimed_at: time,
  wiped_at: time,
  wipe_proof_id: id('wpf', '1a'),
  drift: null,
  approved_by: id('usr', '1a'),
  approved_at: time,
  version: 4,
};
const capacity: Capacity = {
  region_name: 'eu-north-1',
  sku_name: 'h200-sxm-slice',
  capacity_shape: 'gpu_slice',
  available_gpus: 11,
  largest_set: 4,
  counted_at: time,
};
const quota: Quota = { organization_id, project_id: null, gpu_limit: 64, gpu_used: 20, version: 2 };
const record: UsageRecord = {
  id: id('usg', '1a'),
  allocation_id: placementIds.allocation,
  sku_name: 'h200-sxm-slice',
  gpu_count: 4,
  gpu_hourly_price: usd(450),
  started_at: '2026-11-15T10:04:02.000Z',
  ended_at: null,
  cost: usd(2_731),
};
export const plan: Operations['adminNodeConvertPlan']['response'] = {
  node_id: placementIds.node,
  from: 'slice',
  to: 'baremetal',
  is_possible: true,
  blockers: [],
  live_claims: 0,
  steps: ['Take the node out of slice placement.', 'Offer it as a whole.'],
  gpus_gained: { slice: -8, baremetal: 8 },
  plan_hash: '9f'.repeat(32),
};
export const placementAnswers = {
  allocationEstimate: estimate,
  allocationCreate: requested,
  allocationList: page(allocation, { ...released, id: id('alc', '2b'), name: 'evaluation-of-the-week' }),
  allocationGet: allocation,
  allocationTimeline: page<TimelineEntry>(...entries.slice(0, 3)),
  allocationUpdate: { ...allocation, version: 5 },
  allocationRelease: releasing,
  ...powerAnswers,
  capacityList: page<Capacity>(capacity, {
    ...capacity,
    sku_name: 'h200-sxm-baremetal-8g',
    capacity_shape: 'baremetal',
    available_gpus: 8,
    largest_set: 8,
  }),
  quotaGet: {
    organization: quota,
    project: { ...quota, project_id, gpu_limit: null, gpu_used: 4 },
    gpus_remaining: 44,
  },
  usageList: page<UsageRecord>(record, {
    ...record,
    id: id('usg', '2b'),
    allocation_id: id('alc', '2b'),
    ended_at: '2026-11-15T13:24:07.000Z',
    cost: usd(6_003),
  }),
  adminAllocationList: page(adminAllocation),
  adminAllocationGet: adminAllocation,
  adminAllocationForceRelease: { ...adminAllocation, allocation: releasing },
  adminAllocationForceCleanup: { ...adminAllocation, allocation: releasing },
  adminNodeList: page(node),
  adminNodeGet: node,
  adminNodeSlotList: page<Slot>(slot, {
    ...slot,
    id: id('slt', '2b'),
    slot_index: 1,
    status: 'cleanup_blocked',
    status_reason: 'the disk did not read back as zeros',
    allocation_id: null,
  }),
  adminNodeHold: { ...node, is_held: true, held_reason: 'for acme' },
  adminHoldCreate: { held_node_ids: [placementIds.node], wanted: 1 },
  adminNodeDrain: { ...node, state: 'draining' },
  adminNodeConvertPlan: plan,
  adminNodeConvert: { ...node, capacity_mode: 'baremetal' },
  adminCapacityList: page({
    region_name: 'eu-north-1',
    gpu_model: 'H200 SXM',
    nodes: 5,
    delivered_gpus: 40,
    healthy_gpus: 39,
    reserved_gpus: 8,
    active_gpus: 20,
    free_gpus: 11,
    largest_set: 4,
    empty_nodes: 0,
    fragmentation: `free 11, largest set 4; draining ${placementIds.node} would free a whole node (2 to move)`,
    counted_at: time,
  }),
  adminQuotaList: page<Quota>(quota, { ...quota, project_id, gpu_limit: null, gpu_used: 4 }),
  adminQuotaPut: { ...quota, gpu_limit: 96 },
  adminSchedulerSnapshot: { ...snapshot },
  adminInvariantCheck: { is_clean: true, checked_at: time, violations: [], checks: 24 },
  adminClaimBackfill: {
    is_dry_run: true,
    claimed: [{ allocation_id: placementIds.allocation, node_id: placementIds.node }],
    skipped: [{ allocation_id: id('alc', '2b'), reason: 'its node is claimed by another' }],
    next_after_id: null,
  },
} satisfies { [K in keyof Operations]?: Operations[K]['response'] };
