import Type from 'typebox';
import { Closed, Nullable, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { Enrollment, NamedHost } from './admin-enrollment.ts';
import { node } from './admin-node.ts';
import { NodeTask } from './admin-node-task.ts';
import { operatorChanges, operatorReads, Reason } from './operator.ts';

const NodeAgent = Closed({
  node_id: Id('node'),
  is_connected: Type.Boolean(),
  last_seen_at: Nullable(Time('Last heartbeat.')),
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

const operatorRead = operatorReads('Nodes');
const operatorChange = operatorChanges('Nodes');

export const adminNodeAgentApi = define({
  adminNodeEnrollmentCreate: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/enrollment',
    summary: 'Create another enrollment token, if the first is lost or the certificate has expired',
    description:
      'An unused earlier token stops working. Using the new one revokes the earlier certificates of the node. A node that is bound to a host accepts no other; `host` names the host of a node that is not bound yet.',
    permission: 'admin.node.create',
    audit: 'node.enroll',
    freshSignIn: true,
    secret: true,
    params: node,
    body: Closed({ reason: Reason, host: Type.Optional(NamedHost) }),
    status: 201,
    response: Enrollment,
    location: '/api/v1/admin/nodes/{node_id}/agent',
    errors: ['conflict'],
  },
  adminNodeRebind: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/rebind',
    summary: 'Rebind a node to another host, and create its enrollment token',
    description:
      'For a replaced host or mainboard. Refused for an active node, which must be drained first, and while it has claims. Ends every slot approval, wipe proof and disk approval of the node and its discoveries: the new host is discovered, approved and wiped like a new one.',
    permission: 'admin.node.delete',
    audit: 'node.rebind',
    freshSignIn: true,
    secret: true,
    params: node,
    body: Closed({ reason: Reason, host: Type.Optional(NamedHost) }),
    status: 201,
    response: Enrollment,
    location: '/api/v1/admin/nodes/{node_id}/agent',
    errors: ['conflict'],
  },
  adminNodeAgentGet: {
    ...operatorRead,
    path: '/api/v1/admin/nodes/{node_id}/agent',
    summary: 'Get the agent of a node: heartbeat, task kinds and certificates',
    permission: 'admin.node.read',
    params: node,
    response: NodeAgent,
  },
  adminNodeAgentRevoke: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/agent/revoke',
    summary: 'Revoke every certificate of a node; its agent cannot connect until it is enrolled again',
    description: 'Running allocations are untouched.',
    permission: 'admin.node.update',
    audit: 'node.agent.revoke',
    freshSignIn: true,
    params: node,
    body: Closed({ reason: Reason }),
    status: 200,
    response: NodeAgent,
  },
  adminNodeAgentUpdate: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/agent/update',
    summary: 'Update the agent to a release, by digest',
    permission: 'admin.node.update',
    audit: 'node.agent.update',
    freshSignIn: true,
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
});
