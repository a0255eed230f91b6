/** Scenarios of health: what is reported, what operators say otherwise, and the breaker. */

import type { Scenarios } from './scenario.ts';
import { newDiscovered } from './scenarios-topology.ts';
import type { Cast } from './tenants.ts';
import { must } from './tenants.ts';

const atNode = async (cast: Cast) => ({ as: cast.superadmin, params: { node_id: await newDiscovered(cast) } });
const override = {
  mode: 'merge' as const,
  alerts: [],
  muted_alert_ids: ['gpu_temperature'],
  expires_at: null,
  reason: 'The sensor is broken',
};

const atOverride = async (cast: Cast) => {
  const { as, params } = await atNode(cast);
  return { as, params: { ...params, source: 'agent' } };
};

type Mine =
  | 'adminNodeHealthGet'
  | 'adminNodeHealthProbe'
  | 'adminNodeHealthOverridePut'
  | 'adminNodeHealthOverrideDelete'
  | 'adminHealthBreakerGet'
  | 'adminHealthBreakerReset';

export const healthScenarios: Pick<Scenarios, Mine> = {
  adminNodeHealthGet: atNode,
  adminNodeHealthProbe: async (cast) => ({ ...(await atNode(cast)), body: {} }),
  adminNodeHealthOverridePut: async (cast) => ({ ...(await atOverride(cast)), body: override }),
  adminNodeHealthOverrideDelete: async (cast) => {
    const ask = await atOverride(cast);
    const path = `/api/v1/admin/nodes/${ask.params.node_id}/health/overrides/agent`;
    must(await cast.superadmin.call('PUT', path, override), 200);
    return ask;
  },
  adminHealthBreakerGet: async (cast) => ({ as: cast.superadmin }),
  adminHealthBreakerReset: async (cast) => {
    await cast.sql.query(
      "update health_breaker set is_tripped = true, tripped_at = now(), reason = 'Tried', version = version + 1",
    );
    const { version } = must(await cast.superadmin.get('/api/v1/admin/health/breaker'), 200).body;
    return { as: cast.superadmin, body: { reason: 'Looked at it' }, if_match: version };
  },
};
