import Type from 'typebox';
import {
  Action,
  Closed,
  DisplayText,
  HOST_ROLES,
  Name,
  Nullable,
  Page,
  PageQuery,
  StringEnum,
  Time,
} from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { Enrollment, NamedHost, NodeHost } from './admin-enrollment.ts';
import { operatorChanges, operatorReads, operatorUpdates, Reason } from './operator.ts';

export const NODE_STATES = [
  'bootstrap_issued',
  'enrolling',
  'active',
  'offline',
  'draining',
  'retired',
  'deleted',
] as const;
/** The node is no longer part of the fleet: its agent has no access and its slots are disabled. */
export const OVER_NODE_STATES = ['retired', 'deleted'] as const satisfies readonly (typeof NODE_STATES)[number][];
export const CAPACITY_MODES = ['slice', 'baremetal', 'flexible'] as const;
/** Modes that a node can be converted to. */
export const CONVERSION_TARGETS = ['slice', 'baremetal'] as const satisfies readonly (typeof CAPACITY_MODES)[number][];
export const OCCUPANCIES = ['free', 'sliced', 'exclusive', 'cleaning', 'cleanup_blocked'] as const;
export const HEALTHS = ['ok', 'unhealthy', 'unknown'] as const;

/** A disk that discovery found. */
export const FoundDisk = Closed({
  name: Type.String({ description: 'Kernel name at the discovery.', examples: ['nvme3n1'] }),
  serial: Nullable(
    Type.String({ description: 'Null where the disk reports none: it can be neither approved nor excluded.' }),
  ),
  is_wipe_pending: Type.Boolean({ description: 'An operator approved its wipe, which is not proven yet.' }),
});

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
  state_since: Time('When this state began.'),
  state_deadline_at: Nullable(Time('When this state is overdue; null where it may last.')),
  capacity_mode: StringEnum(CAPACITY_MODES),
  occupancy: StringEnum(OCCUPANCIES),
  is_held: Type.Boolean({ description: 'Held for bare metal.' }),
  held_reason: Nullable(Type.String()),
  health: StringEnum(HEALTHS),
  launch_failures: Type.Integer({
    description: 'Launches that failed on it since one last succeeded. At 3, placement stops until they are cleared.',
  }),
  launch_failed_at: Nullable(Time('When a launch last failed on it.')),
  is_runtime_validated: Type.Boolean(),
  has_hardware_change: Type.Boolean({ description: 'The newest discovery differs from what was approved.' }),
  gpus_found: Type.Array(
    Closed({
      vendor_device: Type.String({ description: 'PCI ID.', examples: ['10de:2335'] }),
      driver_name: Nullable(Type.String({ description: 'Name that a driver of the host reports; null under VFIO.' })),
      gpu_model: Type.String({ description: 'Model by this ID; the ID itself if it is not known.' }),
      gpu_count: Type.Integer(),
    }),
    { description: 'GPUs of the newest discovery, by PCI ID; empty before the first one.' },
  ),
  gpu_model_conflict: Nullable(
    Type.String({
      description: 'Why the GPUs found are not of gpu_model. Meanwhile nothing is placed or approved on the node.',
    }),
  ),
  unapproved_disks: Type.Array(FoundDisk, {
    description:
      'Disks of the newest discovery that a release of the whole node would not wipe: no boot disk, in no slot, and neither wiped under an approval nor excluded. While there is one, the node is not allocated as bare metal. Empty for a node of slices.',
  }),
  reboot_required: Type.Boolean(),
  reboot_reason: Nullable(
    Type.String({
      description: 'Why the host must reboot, in addition to the newest discovery. Cleared when the host has booted.',
    }),
  ),
  reconciled_at: Nullable(Time('Last inventory report of its agent.')),
  finding_count: Type.Integer({ description: 'Differences between host and claims; see its inventory.' }),
  host: NodeHost,
  last_seen_at: Nullable(Time('Last heartbeat of its agent.')),
  is_connected: Type.Boolean({ description: 'Its agent was seen within 25 seconds.' }),
  free_gpus: Type.Integer({ description: 'GPUs that can be launched now, as slices or as the whole node.' }),
  largest_set: Type.Integer({ description: 'Largest GPU count that one allocation can get on this node now.' }),
  version: Type.Integer(),
  created_at: Time('When it was added.'),
  actions: Type.Array(Action, { description: 'Actions available now, with the reason for each unavailable one.' }),
});

const ConversionPlan = Closed({
  node_id: Id('node'),
  from: StringEnum(CAPACITY_MODES),
  to: StringEnum(CONVERSION_TARGETS),
  is_possible: Type.Boolean(),
  blockers: Type.Array(Type.String(), { description: 'Blockers, as sentences.' }),
  live_claims: Type.Integer(),
  steps: Type.Array(Type.String()),
  gpus_gained: Closed({ slice: Type.Integer(), baremetal: Type.Integer() }),
  plan_hash: Type.String({ description: 'Send it back to apply exactly this plan.' }),
});

export const node = Closed({ node_id: Id('node') });
const operatorRead = operatorReads('Nodes');
const operatorChange = operatorChanges('Nodes');

export const adminNodeApi = define({
  adminNodeList: {
    ...operatorRead,
    path: '/api/v1/admin/nodes',
    summary: 'List nodes with mode, occupancy and free GPUs',
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
    ...operatorRead,
    path: '/api/v1/admin/nodes/{node_id}',
    summary: 'Get a node',
    permission: 'admin.node.read',
    params: node,
    response: Node,
  },
  adminNodeCreate: {
    ...operatorChange,
    path: '/api/v1/admin/nodes',
    summary: 'Add a host and create the enrollment token for its agent',
    description:
      'Nothing is placed on it before its agent is seen, its health is ok and, for slices, slots are approved.',
    permission: 'admin.node.create',
    audit: 'node.create',
    freshSignIn: true,
    secret: true,
    body: Closed({
      name: Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$', examples: ['j22u15'] }),
      region_name: Name('Region of the host.'),
      pool_name: Type.Optional(Name('Pool of the node (default: "shared").')),
      gpu_model: DisplayText('GPU model, as in the SKUs.', 64),
      gpu_count: Type.Integer({ minimum: 1, maximum: 64 }),
      capacity_mode: StringEnum(CAPACITY_MODES),
      host: Type.Optional(NamedHost),
      private_network: Type.Optional(
        Type.String({
          pattern: '^(\\d{1,3}\\.){3}\\d{1,3}/(1[6-9]|2[0-8])$',
          description: 'Private network of the slices, behind the NAT of the host.',
          examples: ['10.100.0.0/24'],
        }),
      ),
    }),
    status: 201,
    response: Closed({ node: Node, enrollment: Enrollment }),
    location: '/api/v1/admin/nodes/{node.id}',
    errors: ['already_exists', 'conflict'],
  },
  adminNodeUpdate: {
    ...operatorUpdates('Nodes'),
    path: '/api/v1/admin/nodes/{node_id}',
    summary: 'Move a node to another pool',
    description: 'Refused while other organizations than that of a dedicated pool hold claims on the node.',
    permission: 'admin.node.update',
    audit: 'node.update',
    freshSignIn: true,
    params: node,
    body: Closed({ pool_name: Name('The pool to move it to.'), reason: Reason }),
    response: Node,
    errors: ['conflict'],
  },
  adminNodeHold: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/hold',
    summary: 'Hold a node for bare metal, or end the hold',
    permission: 'admin.node.update',
    audit: 'node.hold',
    params: node,
    body: Closed({ is_held: Type.Boolean(), reason: Reason }),
    status: 200,
    response: Node,
  },
  adminNodeLaunchFailuresClear: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/launch-failures/clear',
    summary: 'Clear the failed launches of a node, so that placement resumes',
    permission: 'admin.node.update',
    audit: 'node.launch_failures.clear',
    freshSignIn: true,
    params: node,
    body: Closed({ reason: Reason }),
    status: 200,
    response: Node,
  },
  adminHoldCreate: {
    ...operatorChange,
    path: '/api/v1/admin/holds',
    summary: 'Hold a number of clean nodes for bare metal; the scheduler selects them',
    permission: 'admin.node.update',
    audit: 'node.hold',
    body: Closed({
      region_name: Name(),
      gpu_model: DisplayText('GPU model.', 64),
      node_count: Type.Integer({ minimum: 1, maximum: 1000 }),
      reason: Reason,
    }),
    status: 200,
    response: Closed({ held_node_ids: Type.Array(Id('node')), requested: Type.Integer() }),
    errors: ['insufficient_capacity'],
  },
  adminNodeDrain: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/drain',
    summary: 'Drain a node, or resume it; running allocations are untouched',
    permission: 'admin.node.update',
    audit: 'node.drain',
    params: node,
    body: Closed({ is_draining: Type.Boolean(), reason: Reason }),
    status: 200,
    response: Node,
    errors: ['conflict'],
  },
  adminNodeConvertPlan: {
    ...operatorRead,
    path: '/api/v1/admin/nodes/{node_id}/convert',
    summary: 'Plan the conversion of a node',
    permission: 'admin.node.read',
    params: node,
    query: Closed({ to: StringEnum(CONVERSION_TARGETS) }),
    response: ConversionPlan,
  },
  adminNodeConvert: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/convert',
    summary: 'Convert a node without claims, by plan hash',
    permission: 'admin.node.update',
    audit: 'node.convert',
    params: node,
    body: Closed({
      to: StringEnum(CONVERSION_TARGETS),
      plan_hash: Type.String({ pattern: '^[0-9a-f]{64}$', examples: ['0'.repeat(64)] }),
    }),
    status: 200,
    response: Node,
    errors: ['conflict', 'precondition_failed'],
  },
  adminNodeRetire: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/retire',
    summary: 'Retire a host: nothing is placed on it and its agent cannot connect',
    description:
      'Refused for an active node, which must be drained first, and while it has claims. Its certificates are revoked, open tasks cancelled, slots disabled. This cannot be undone; the host can be added again as a new node.',
    permission: 'admin.node.delete',
    audit: 'node.retire',
    freshSignIn: true,
    params: node,
    body: Closed({ reason: Reason }),
    status: 200,
    response: Node,
    errors: ['conflict'],
  },
  adminNodeDelete: {
    ...operatorChange,
    method: 'DELETE',
    idempotency: 'none',
    path: '/api/v1/admin/nodes/{node_id}',
    summary: 'Delete a retired node; its name and disks can be registered again',
    description: 'Refused while an approval to wipe one of its disks is open. Its history is kept.',
    permission: 'admin.node.delete',
    audit: 'node.delete',
    freshSignIn: true,
    params: node,
    status: 204,
    response: null,
    errors: ['conflict'],
  },
});
