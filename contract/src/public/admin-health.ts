import Type from 'typebox';
import { Closed, Nullable, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { CLASSIFICATIONS, HealthAlert, HealthReport } from '../node/health.ts';
import { HEALTHS, node } from './admin-node.ts';
import { NodeTask } from './admin-node-task.ts';
import { operatorChanges, operatorReads, Reason } from './operator.ts';

const operatorRead = operatorReads('Nodes');
const operatorChange = operatorChanges('Nodes');

export const OVERRIDE_MODES = ['merge', 'replace'] as const;

const Override = Closed({
  source: Type.String(),
  mode: StringEnum(OVERRIDE_MODES),
  alerts: Type.Array(HealthAlert),
  muted_alert_ids: Type.Array(Type.String()),
  reason: Type.String(),
  created_by: Type.String(),
  created_at: Time('When it was set.'),
  expires_at: Nullable(Time('When the override expires; null if it does not.')),
});

const NodeHealth = Closed({
  node_id: Id('node'),
  health: StringEnum(HEALTHS),
  prevents: Type.Array(StringEnum(CLASSIFICATIONS), { description: 'Operations that the effective alerts prevent.' }),
  alerts: Type.Array(HealthAlert, { description: 'Effective alerts, after overrides.' }),
  reports: Type.Array(HealthReport),
  overrides: Type.Array(Override),
  slots: Type.Array(
    Closed({
      slot_id: Id('slot'),
      slot_index: Type.Integer(),
      health: StringEnum(HEALTHS),
      alerts: Type.Array(HealthAlert),
    }),
  ),
});

const Breaker = Closed({
  is_tripped: Type.Boolean(),
  tripped_at: Nullable(Time('When the circuit breaker tripped: too many hosts became unhealthy within 10 minutes.')),
  reason: Nullable(Type.String()),
  reset_by: Nullable(Type.String()),
  reset_at: Nullable(Time('When an operator reset it.')),
  version: Type.Integer(),
});

const source = Closed({ node_id: Id('node'), source: Type.String({ pattern: '^[a-z0-9_.-]{1,64}$' }) });

export const adminHealthApi = define({
  adminNodeHealthGet: {
    ...operatorRead,
    path: '/api/v1/admin/nodes/{node_id}/health',
    summary: 'Get health reports, overrides and effective alerts of a node and its slots',
    permission: 'admin.node.read',
    params: node,
    response: NodeHealth,
  },
  adminNodeHealthProbe: {
    ...operatorChange,
    path: '/api/v1/admin/nodes/{node_id}/health/probe',
    summary: 'Run the health checks of the host now',
    permission: 'admin.node.update',
    audit: 'node.health.probe',
    params: node,
    body: Closed({}),
    status: 202,
    response: NodeTask,
    location: '/api/v1/admin/nodes/{node_id}/health',
    errors: ['conflict'],
  },
  adminNodeHealthOverridePut: {
    ...operatorChange,
    method: 'PUT',
    idempotency: 'none',
    path: '/api/v1/admin/nodes/{node_id}/health/overrides/{source}',
    summary: 'Override the alerts of a source: add, mute or replace them',
    permission: 'admin.node.update',
    audit: 'node.health.override',
    freshSignIn: true,
    params: source,
    body: Closed({
      mode: StringEnum(OVERRIDE_MODES),
      alerts: Type.Array(HealthAlert, { maxItems: 50 }),
      muted_alert_ids: Type.Array(Type.String({ pattern: '^[a-z0-9_.-]{1,64}$' }), { maxItems: 50 }),
      expires_at: Nullable(Time('When the override expires; null for no expiry.')),
      reason: Reason,
    }),
    status: 200,
    response: NodeHealth,
  },
  adminNodeHealthOverrideDelete: {
    ...operatorChange,
    method: 'DELETE',
    idempotency: 'none',
    path: '/api/v1/admin/nodes/{node_id}/health/overrides/{source}',
    summary: 'Remove a health override',
    permission: 'admin.node.update',
    audit: 'node.health.override_remove',
    freshSignIn: true,
    params: source,
    status: 204,
    response: null,
  },
  adminHealthBreakerGet: {
    ...operatorRead,
    path: '/api/v1/admin/health/breaker',
    summary: 'Get the state of the circuit breaker',
    permission: 'admin.node.read',
    query: Closed({}),
    response: Breaker,
  },
  adminHealthBreakerReset: {
    ...operatorChange,
    path: '/api/v1/admin/health/breaker/reset',
    summary: 'Reset the circuit breaker, so that reports mark hosts unhealthy again',
    permission: 'admin.node.update',
    audit: 'health.breaker.reset',
    ifMatch: true,
    body: Closed({ reason: Reason }),
    status: 200,
    response: Breaker,
    errors: ['conflict'],
  },
});
