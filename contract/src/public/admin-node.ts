import Type from 'typebox';
import { Closed, DisplayText, Name, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { CAPACITY_MODES, Node } from './admin-placement.ts';

export const TASK_STATES = ['queued', 'dispatched', 'running', 'completed', 'failed', 'expired', 'cancelled'] as const;

/** A task as operators see it. Its parameters name hardware, never secrets. */
export const NodeTask = Closed({
  id: Id('node_task'),
  node_id: Id('node'),
  allocation_id: Nullable(Type.String()),
  kind: Type.String(),
  label: Type.String({ description: 'What the host does, in words for people.', examples: ['Copy image'] }),
  attempt: Type.Integer(),
  state: StringEnum(TASK_STATES),
  state_reason: Nullable(Type.String()),
  error_code: Nullable(Type.String()),
  percent: Nullable(Type.Integer()),
  correlation_id: Type.String(),
  created_at: Time('When it was asked for.'),
  dispatched_at: Nullable(Time('When the agent got it.')),
  started_at: Nullable(Time('When the host began.')),
  finished_at: Nullable(Time('When it ended.')),
  expires_at: Time('When it is given up.'),
});

const Enrollment = Closed({
  id: Id('enrollment'),
  token: Type.String({ description: 'Single use, shown once.' }),
  expires_at: Time('15 minutes after it was made.'),
  node_api_url: Type.String(),
  ca_sha256: Type.String({ description: 'Fingerprint of the CA that the agent must find.' }),
  install_command: Type.String({ description: 'Run it on the host as root.' }),
});

const NodeAgent = Closed({
  node_id: Id('node'),
  is_connected: Type.Boolean(),
  last_seen_at: Nullable(Time('When it last asked for work.')),
  agent_version: Nullable(Type.String()),
  boot_id: Nullable(Type.String()),
  booted_at: Nullable(Time('When the host booted.')),
  clock_skew_ms: Nullable(Type.Integer()),
  kinds: Type.Array(Type.String()),
  certificates: Type.Array(
    Closed({
      serial_number: Type.String(),
      not_before: Time('From.'),
      not_after: Time('Until.'),
      revoked_at: Nullable(Time('When it was revoked.')),
      revoked_reason: Nullable(Type.String()),
    }),
  ),
});

export const node = Closed({ node_id: Id('node') });
export const Reason = DisplayText('Why; kept in the audit row.', 240);
const tag = 'Nodes';
export const nodeRead = {
  method: 'GET',
  tag,
  access: 'platform',
  audit: null,
  idempotency: 'none',
  status: 200,
} as const;
export const nodeChange = { method: 'POST', tag, access: 'platform', idempotency: 'required' } as const;

export const adminNodeApi = define({
  adminNodeCreate: {
    ...nodeChange,
    path: '/api/v1/admin/nodes',
    summary: 'Add a host and mint the token that its agent enrols with',
    description:
      'Nothing is placed on it before its agent is seen, its health is ok and, for slices, slots are approved.',
    permission: 'admin.node.create',
    audit: 'node.create',
    secret: true,
    body: Closed({
      name: Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$', examples: ['j22u15'] }),
      region_name: Name('Region the host stands in.'),
      pool_name: Type.Optional(Name('Pool it belongs to; "shared" if left out.')),
      gpu_model: DisplayText('GPU model as SKUs name it.', 64),
      gpu_count: Type.Integer({ minimum: 1, maximum: 64 }),
      capacity_mode: StringEnum(CAPACITY_MODES),
      private_network: Type.Optional(
        Type.String({
          pattern: '^(\\d{1,3}\\.){3}\\d{1,3}/(1[6-9]|2[0-8])$',
          description: 'Network behind the host’s NAT that slices get addresses of.',
          examples: ['10.100.0.0/24'],
        }),
      ),
    }),
    status: 201,
    response: Closed({ node: Node, enrollment: Enrollment }),
    location: '/api/v1/admin/nodes/{node.id}',
    errors: ['already_exists'],
  },
  adminNodeEnrollmentCreate: {
    ...nodeChange,
    path: '/api/v1/admin/nodes/{node_id}/enrollment',
    summary: 'Mint another enrolment token: the first was lost, or the agent was away for too long',
    description:
      'An unused earlier token stops working. Using the new one revokes the earlier certificates of the node.',
    permission: 'admin.node.create',
    audit: 'node.enroll',
    secret: true,
    params: node,
    body: Closed({ reason: Reason }),
    status: 201,
    response: Enrollment,
    location: '/api/v1/admin/nodes/{node_id}/agent',
    errors: ['conflict'],
  },
  adminNodeAgentGet: {
    ...nodeRead,
    path: '/api/v1/admin/nodes/{node_id}/agent',
    summary: 'The agent of a node: when it was seen, what it can do, its certificates',
    permission: 'admin.node.read',
    params: node,
    response: NodeAgent,
  },
  adminNodeAgentRevoke: {
    ...nodeChange,
    path: '/api/v1/admin/nodes/{node_id}/agent/revoke',
    summary: 'Revoke every certificate of a node; its agent is let in no more until it is enrolled again',
    description: 'What runs on the host is untouched.',
    permission: 'admin.node.update',
    audit: 'node.agent.revoke',
    params: node,
    body: Closed({ reason: Reason }),
    status: 200,
    response: NodeAgent,
  },
  adminNodeAgentUpdate: {
    ...nodeChange,
    path: '/api/v1/admin/nodes/{node_id}/agent/update',
    summary: 'Have the agent replace itself with a release, named by digest',
    permission: 'admin.node.update',
    audit: 'node.agent.update',
    params: node,
    body: Closed({
      version: Type.String({ pattern: '^[0-9A-Za-z.+-]{1,64}$', examples: ['0.2.0'] }),
      digest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$', examples: [`sha256:${'0'.repeat(64)}`] }),
    }),
    status: 202,
    response: NodeTask,
    location: '/api/v1/admin/nodes/{node_id}/tasks',
    errors: ['conflict'],
  },
  adminNodeRetire: {
    ...nodeChange,
    path: '/api/v1/admin/nodes/{node_id}/retire',
    summary: 'Take a host out for good: nothing is placed on it and its agent is let in no more',
    description:
      'Refused for an active node, which is drained first, and while anything stands on it. Its certificates are revoked, open tasks cancelled, slots disabled. There is no way back: the host may come again as a new node.',
    permission: 'admin.node.delete',
    audit: 'node.retire',
    params: node,
    body: Closed({ reason: Reason }),
    status: 200,
    response: Node,
    errors: ['conflict'],
  },
  adminNodeDelete: {
    ...nodeChange,
    method: 'DELETE',
    idempotency: 'none',
    path: '/api/v1/admin/nodes/{node_id}',
    summary: 'Delete a retired node; its name and its disks are free for others',
    description: 'Refused while an approval to erase one of its disks is open. Its history is kept.',
    permission: 'admin.node.delete',
    audit: 'node.delete',
    params: node,
    status: 204,
    response: null,
    errors: ['conflict'],
  },
  adminNodeTaskList: {
    ...nodeRead,
    path: '/api/v1/admin/nodes/{node_id}/tasks',
    summary: 'Tasks of a node, newest first',
    permission: 'admin.node.read',
    params: node,
    query: Closed({ ...PageQuery, state: Type.Optional(StringEnum(TASK_STATES)) }),
    response: Page(NodeTask),
  },
});
