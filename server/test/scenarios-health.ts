/** Scenarios of health: reports, overrides, the circuit breaker and the clock of the database. */

import type { Scenarios } from './scenario.ts';
import { newDiscovered } from './scenarios-topology.ts';
import type { Tenants } from './tenants.ts';
import { must } from './tenants.ts';

const atNode = async (tenants: Tenants) => ({
  as: tenants.superadmin,
  params: { node_id: await newDiscovered(tenants) },
});
const override = {
  mode: 'merge' as const,
  alerts: [],
  muted_alert_ids: ['gpu_temperature'],
  expires_at: null,
  reason: 'The sensor is broken',
};

const atOverride = async (tenants: Tenants) => {
  const { as, params } = await atNode(tenants);
  return { as, params: { ...params, source: 'agent' } };
};

type Mine =
  | 'adminNodeHealthGet'
  | 'adminNodeHealthProbe'
  | 'adminNodeHealthOverridePut'
  | 'adminNodeHealthOverrideDelete'
  | 'adminClockGet'
  | 'adminClockConfirm'
  | 'adminHealthBreakerGet'
  | 'adminHealthBreakerReset';

export const healthScenarios: Pick<Scenarios, Mine> = {
  adminNodeHealthGet: atNode,
  adminNodeHealthProbe: async (tenants) => ({ ...(await atNode(tenants)), body: {} }),
  adminNodeHealthOverridePut: async (tenants) => ({ ...(await atOverride(tenants)), body: override }),
  adminNodeHealthOverrideDelete: async (tenants) => {
    const ask = await atOverride(tenants);
    const path = `/api/v1/admin/nodes/${ask.params.node_id}/health/overrides/agent`;
    must(await tenants.superadmin.call('PUT', path, override), 200);
    return ask;
  },
  adminClockGet: async (tenants) => ({ as: tenants.superadmin }),
  adminClockConfirm: async (tenants) => {
    await tenants.sql.query(
      `insert into clock_guard (seen_at, hold_since, reason, jump_ms) values (now(), now(), 'Tried', 1)
       on conflict (id) do update set hold_since = now(), reason = 'Tried', jump_ms = 1`,
    );
    const { version } = must(await tenants.superadmin.get('/api/v1/admin/clock'), 200).body;
    return { as: tenants.superadmin, body: { reason: 'Compared it with a second clock' }, if_match: version };
  },
  adminHealthBreakerGet: async (tenants) => ({ as: tenants.superadmin }),
  adminHealthBreakerReset: async (tenants) => {
    await tenants.sql.query(
      "update health_breaker set is_tripped = true, tripped_at = now(), reason = 'Tried', version = version + 1",
    );
    const { version } = must(await tenants.superadmin.get('/api/v1/admin/health/breaker'), 200).body;
    return { as: tenants.superadmin, body: { reason: 'Looked at it' }, if_match: version };
  },
};
