import Type from 'typebox';
import {
  Action,
  Closed,
  DisplayText,
  HOST_ROLES,
  INT_MAX,
  Name,
  Nullable,
  Page,
  PageQuery,
  StringEnum,
  Time,
} from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { ALLOCATION_STATES, Allocation } from './allocation.ts';
import { Quota } from './capacity.ts';

export const NODE_STATES = [
  'bootstrap_issued',
  'enrolling',
  'active',
  'offline',
  'quarantined',
  'draining',
  'retired',
  'removing',
  'deleted',
] as const;
export const CAPACITY_MODES = ['slice', 'baremetal', 'flexible'] as const;
export const OCCUPANCIES = ['free', 'sliced', 'exclusive', 'cleaning', 'cleanup_blocked'] as const;
export const SLOT_STATUSES = ['available', 'reserved', 'in_use', 'cleaning', 'cleanup_blocked', 'quarantined'] as const;
export const HEALTHS = ['ok', 'unhealthy', 'unknown'] as const;
export const APPROVALS = ['approved', 'disabled', 'needs_reapproval'] as const;

export const Node = Closed({
  id: Id('node'),
  name: Type.String(),
  region_name: Type.String(),
  pool_name: Type.String(),
  pool_organization_id: Nullable(Type.String()),
  gpu_model: Type.String(),
  gpu_count: Type.Integer(),
  host_role: StringEnum(HOST_ROLES),
  state: StringEnum(NODE_STATES),
  state_reason: Nullable(Type.String()),
  state_since: Time('When it came into this state.'),
  capacity_mode: StringEnum(CAPACITY_MODES),
  occupancy: StringEnum(OCCUPANCIES),
  is_held: Type.Boolean({ description: 'Kept for bare metal.' }),
  held_reason: Nullable(Type.String()),
  health: StringEnum(HEALTHS),
  is_runtime_validated: Type.Boolean(),
  has_hardware_change: Type.Boolean({ description: 'The newest discovery differs from what was approved.' }),
  reboot_required: Type.Boolean(),
  reboot_reason: Nullable(
    Type.String({
      description: 'Why, beside what the newest discovery asks for. It stands until the host has booted.',
    }),
  ),
  reconciled_at: Nullable(Time('When its agent last told what is on the host.')),
  finding_count: Type.Integer({ description: 'Where the host is not as claims say; see its inventory.' }),
  last_seen_at: Nullable(Time('When its agent last asked for work.')),
  is_connected: Type.Boolean({ description: 'Its agent was seen within 25 seconds.' }),
  free_gpus: Type.Integer({ description: 'Could be launched now, in slices or with the whole node.' }),
  largest_set: Type.Integer({ description: 'The most one allocation could get of it now.' }),
  version: Type.Integer(),
  created_at: Time('When it was added.'),
  actions: Type.Array(Action, { description: 'What may be done with it now, or why not.' }),
});

export const Slot = Closed({
  id: Id('slot'),
  node_id: Id('node'),
  slot_index: Type.Integer(),
  approval: StringEnum(APPROVALS),
  status: StringEnum(SLOT_STATUSES),
  status_reason: Nullable(Type.String()),
  status_since: Time('When it came into this status.'),
  health: StringEnum(HEALTHS),
  health_detail: Type.Object({}, { additionalProperties: true }),
  generation: Type.Integer(),
  host_generation: Nullable(
    Type.Integer({
      description: 'What its host knows, where that is newer: this database was restored from a backup.',
    }),
  ),
  module_id: Nullable(Type.Integer()),
  numa_node: Nullable(Type.Integer()),
  gpu_pci_address: Nullable(Type.String()),
  nvme_serial: Nullable(Type.String()),
  mac_address: Nullable(Type.String()),
  private_ip: Nullable(Type.String()),
  fabric_vf_pci_address: Nullable(Type.String()),
  allocation_id: Nullable(Type.String({ description: 'Who holds it, by the live claim.' })),
  last_claimed_at: Nullable(Time('Last claim.')),
  wiped_at: Nullable(Time('Last verified wipe.')),
  wipe_proof_id: Nullable(Type.String()),
  drift: Nullable(
    Type.Record(Type.String(), Closed({ approved: Type.Unknown(), found: Type.Unknown() }), {
      additionalProperties: false,
      description: 'What the newest discovery found otherwise than approved, by field.',
    }),
  ),
  approved_by: Nullable(Type.String()),
  approved_at: Nullable(Time('When it was approved.')),
  version: Type.Integer(),
  actions: Type.Array(Action, { description: 'What may be done with it now, or why not.' }),
});

const Claim = Closed({
  id: Id('claim'),
  claim_kind: StringEnum(['slot', 'node_exclusive']),
  node_id: Id('node'),
  slot_id: Nullable(Type.String()),
  gpu_count: Type.Integer(),
  created_at: Time('When it was taken.'),
  released_at: Nullable(Time('When a proof released it.')),
  wipe_proof_id: Nullable(Type.String()),
});

export const AdminAllocation = Closed({
  allocation: Allocation,
  organization_id: Id('organization'),
  node_id: Nullable(Type.String()),
  claims: Type.Array(Claim),
});

const ConversionPlan = Closed({
  node_id: Id('node'),
  from: StringEnum(CAPACITY_MODES),
  to: StringEnum(['slice', 'baremetal']),
  is_possible: Type.Boolean(),
  blockers: Type.Array(Type.String(), { description: 'Why it cannot be done now, as sentences.' }),
  live_claims: Type.Integer(),
  steps: Type.Array(Type.String()),
  gpus_gained: Closed({ slice: Type.Integer(), baremetal: Type.Integer() }),
  plan_hash: Type.String({ description: 'Send it back to apply exactly this plan.' }),
});

const Report = Type.Object({}, { additionalProperties: true });
const tag = 'Placement';
const read = { method: 'GET', tag, access: 'platform', audit: null, idempotency: 'none', status: 200 } as const;
const change = { method: 'POST', tag, access: 'platform', idempotency: 'required' } as const;
const node = Closed({ node_id: Id('node') });
const allocation = Closed({ allocation_id: Id('allocation') });
const Reason = DisplayText('Why; kept in the audit row.', 240);

export const adminPlacementApi = define({
  adminAllocationList: {
    ...read,
    path: '/api/v1/admin/allocations',
    summary: 'Allocations of every tenant, newest first',
    permission: 'admin.allocation.read',
    query: Closed({
      ...PageQuery,
      state: Type.Optional(StringEnum(ALLOCATION_STATES)),
      node_id: Type.Optional(Id('node')),
      organization_id: Type.Optional(Id('organization')),
    }),
    response: Page(AdminAllocation),
  },
  adminAllocationGet: {
    ...read,
    path: '/api/v1/admin/allocations/{allocation_id}',
    summary: 'One allocation with shape, placement and claims',
    permission: 'admin.allocation.read',
    params: allocation,
    response: AdminAllocation,
  },
  adminAllocationForceRelease: {
    ...change,
    path: '/api/v1/admin/allocations/{allocation_id}/force-release',
    summary: 'Release on behalf of the tenant, protection notwithstanding',
    description: 'Cleanup and proof are the same as of any release.',
    permission: 'admin.allocation.release',
    audit: 'allocation.force_release',
    params: allocation,
    body: Closed({ reason: Reason }),
    status: 202,
    response: AdminAllocation,
    location: '/api/v1/admin/allocations/{allocation_id}',
    errors: ['conflict'],
  },
  adminAllocationForceCleanup: {
    ...change,
    path: '/api/v1/admin/allocations/{allocation_id}/force-cleanup',
    summary: 'Start cleanup again for an allocation whose cleanup is blocked',
    description:
      'runtime_verified_absent only skips stopping the machine. adopted_generations is for a database that was restored ' +
      'from a backup: it repeats, for each slot that has a host_generation, what the host knows, and so confirms that ' +
      'what the host has there may be erased. Nothing but a verified wipe frees slots.',
    permission: 'admin.allocation.release',
    audit: 'allocation.force_cleanup',
    params: allocation,
    body: Closed({
      reason: Reason,
      runtime_verified_absent: Type.Boolean(),
      adopted_generations: Type.Optional(
        Type.Array(Closed({ slot_id: Id('slot'), host_generation: Type.Integer({ minimum: 0, maximum: INT_MAX }) }), {
          minItems: 1,
          maxItems: 64,
        }),
      ),
    }),
    status: 202,
    response: AdminAllocation,
    location: '/api/v1/admin/allocations/{allocation_id}',
    errors: ['conflict', 'precondition_failed'],
  },
  adminNodeList: {
    ...read,
    path: '/api/v1/admin/nodes',
    summary: 'Nodes with mode, occupancy and what is free',
    permission: 'admin.node.read',
    query: Closed({
      ...PageQuery,
      name: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$', description: 'Only the node of this name.' })),
      region_name: Type.Optional(Name()),
      state: Type.Optional(StringEnum(NODE_STATES)),
    }),
    response: Page(Node),
  },
  adminNodeGet: {
    ...read,
    path: '/api/v1/admin/nodes/{node_id}',
    summary: 'One node',
    permission: 'admin.node.read',
    params: node,
    response: Node,
  },
  adminNodeSlotList: {
    ...read,
    path: '/api/v1/admin/nodes/{node_id}/resource-slots',
    summary: 'Slots of a node with bindings, claim and wipe proof',
    permission: 'admin.node.read',
    params: node,
    query: Closed({ ...PageQuery }),
    response: Page(Slot),
  },
  adminNodeHold: {
    ...change,
    path: '/api/v1/admin/nodes/{node_id}/hold',
    summary: 'Keep a node for bare metal, or let it go',
    permission: 'admin.node.update',
    audit: 'node.hold',
    params: node,
    body: Closed({ is_held: Type.Boolean(), reason: Reason }),
    status: 200,
    response: Node,
  },
  adminHoldCreate: {
    ...change,
    path: '/api/v1/admin/holds',
    summary: 'Keep a number of clean nodes for bare metal; the platform picks them',
    permission: 'admin.node.update',
    audit: 'node.hold',
    body: Closed({
      region_name: Name(),
      gpu_model: DisplayText('GPU model.', 64),
      node_count: Type.Integer({ minimum: 1, maximum: 1000 }),
      reason: Reason,
    }),
    status: 200,
    response: Closed({ held_node_ids: Type.Array(Id('node')), wanted: Type.Integer() }),
    errors: ['insufficient_capacity'],
  },
  adminNodeDrain: {
    ...change,
    path: '/api/v1/admin/nodes/{node_id}/drain',
    summary: 'Stop placing on a node, or take it back into use; what runs is untouched',
    permission: 'admin.node.update',
    audit: 'node.drain',
    params: node,
    body: Closed({ is_draining: Type.Boolean(), reason: Reason }),
    status: 200,
    response: Node,
    errors: ['conflict'],
  },
  adminNodeConvertPlan: {
    ...read,
    path: '/api/v1/admin/nodes/{node_id}/convert',
    summary: 'What converting a node would take and give',
    permission: 'admin.node.read',
    params: node,
    query: Closed({ to: StringEnum(['slice', 'baremetal']) }),
    response: ConversionPlan,
  },
  adminNodeConvert: {
    ...change,
    path: '/api/v1/admin/nodes/{node_id}/convert',
    summary: 'Convert a node that nothing claims, by the plan that was shown',
    permission: 'admin.node.update',
    audit: 'node.convert',
    params: node,
    body: Closed({
      to: StringEnum(['slice', 'baremetal']),
      plan_hash: Type.String({ pattern: '^[0-9a-f]{64}$', examples: ['0'.repeat(64)] }),
    }),
    status: 200,
    response: Node,
    errors: ['conflict', 'precondition_failed'],
  },
  adminQuotaList: {
    ...read,
    path: '/api/v1/admin/quotas',
    summary: 'GPU limits and what is used',
    permission: 'admin.quota.read',
    query: Closed({
      ...PageQuery,
      organization_id: Type.Optional(Id('organization')),
      project_id: Type.Optional(Id('project')),
    }),
    response: Page(Quota),
  },
  adminQuotaPut: {
    method: 'PUT',
    tag,
    access: 'platform',
    idempotency: 'none',
    path: '/api/v1/admin/quotas',
    summary: 'Set the GPU limit of an organization or one of its projects',
    description:
      'A limit below what is used stops new launches and touches nothing that runs. A limit that was never set has version 1.',
    permission: 'admin.quota.update',
    audit: 'quota.update',
    ifMatch: true,
    body: Closed({
      organization_id: Id('organization'),
      project_id: Type.Optional(Id('project')),
      gpu_limit: Nullable(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
    }),
    status: 200,
    response: Quota,
  },
  adminSchedulerSnapshot: {
    ...read,
    path: '/api/v1/admin/scheduler/snapshot',
    summary: 'What the scheduler sees, for replay with `gpuaas admin scheduler explain`',
    permission: 'admin.node.read',
    query: Closed({
      region_name: Type.Optional(Name()),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 5000, default: 1000, description: 'Nodes.' })),
    }),
    response: Report,
  },
  adminInvariantCheck: {
    ...read,
    path: '/api/v1/admin/invariants',
    summary: 'Run the read-only invariant queries now',
    permission: 'admin.invariant.read',
    query: Closed({}),
    response: Closed({
      is_clean: Type.Boolean(),
      checked_at: Time('When they ran.'),
      violations: Type.Array(Closed({ invariant: Type.String(), subject_id: Type.String(), detail: Type.String() })),
      checks: Type.Integer({ description: 'How many invariants were looked at.' }),
    }),
  },
  adminClaimBackfill: {
    ...change,
    path: '/api/v1/admin/claims/backfill',
    summary: 'Give node-bound allocations without claims their claim rows',
    description:
      'One request is one batch in one transaction. Ask on with `after_id` until `next_after_id` is null. A dry run shows what it would do; running it again changes nothing.',
    permission: 'admin.allocation.release',
    audit: 'claim.backfill',
    body: Closed({
      is_dry_run: Type.Boolean(),
      after_id: Type.Optional(Id('allocation')),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100, description: 'Allocations.' })),
    }),
    status: 200,
    response: Closed({
      is_dry_run: Type.Boolean(),
      claimed: Type.Array(Closed({ allocation_id: Id('allocation'), node_id: Id('node') })),
      skipped: Type.Array(Closed({ allocation_id: Id('allocation'), reason: Type.String() })),
      next_after_id: Nullable(Id('allocation')),
    }),
  },
});
