/** Scenarios of operator actions on the fleet, and of capacity and quota for tenants. */

import type { Scenarios } from './scenario.ts';
import { newNode } from './scenarios-allocation.ts';
import { newPool } from './scenarios-catalog.ts';
import { must, type Tenants } from './tenants.ts';

const asOperator = async ({ superadmin }: Tenants) => ({ as: superadmin });
const atProject = async ({ acme }: Tenants) => ({ as: acme.owner, params: { project_id: acme.ids.project_id } });
const atNode = async (tenants: Tenants) => ({
  as: tenants.superadmin,
  params: { node_id: (await newNode(tenants)).id },
});

type Mine =
  | 'capacityList'
  | 'quotaGet'
  | 'adminNodeList'
  | 'adminSlotMapList'
  | 'adminNodeGet'
  | 'adminNodeSlotList'
  | 'adminNodeUpdate'
  | 'adminNodeHold'
  | 'adminNodeLaunchFailuresClear'
  | 'adminHoldCreate'
  | 'adminNodeDrain'
  | 'adminNodeConvertPlan'
  | 'adminNodeConvert'
  | 'adminCapacityList'
  | 'adminCapacityHistoryList'
  | 'adminQuotaList'
  | 'adminQuotaPut'
  | 'adminSchedulerSnapshot'
  | 'adminInvariantCheck'
  | 'adminClaimBackfill';

export const fleetScenarios: Pick<Scenarios, Mine> = {
  capacityList: atProject,
  quotaGet: atProject,
  adminNodeList: asOperator,
  adminSlotMapList: async (tenants) => {
    await newNode(tenants);
    return { as: tenants.superadmin, query: { limit: 200 } };
  },
  adminNodeGet: atNode,
  adminNodeSlotList: atNode,
  adminNodeUpdate: async (tenants) => {
    const { as, params } = await atNode(tenants);
    const pool = must(await as.post('/api/v1/admin/pools', newPool()), 201).body;
    const { version } = must(await as.get(`/api/v1/admin/nodes/${params.node_id}`), 200).body;
    return { as, params, body: { pool_name: pool.name, reason: 'Another purpose' }, if_match: version };
  },
  adminNodeHold: async (tenants) => ({
    ...(await atNode(tenants)),
    body: { is_held: true, reason: 'For the big run' },
  }),
  adminNodeLaunchFailuresClear: async (tenants) => ({
    ...(await atNode(tenants)),
    body: { reason: 'New cables' },
  }),
  adminHoldCreate: async (tenants) => {
    await newNode(tenants, { capacity_mode: 'baremetal' });
    const body = { region_name: 'us-buffalo-1', gpu_model: 'H200 SXM', node_count: 1, reason: 'For the big run' };
    return { as: tenants.superadmin, body };
  },
  adminNodeDrain: async (tenants) => ({
    ...(await atNode(tenants)),
    body: { is_draining: true, reason: 'New firmware' },
  }),
  adminNodeConvertPlan: async (tenants) => ({ ...(await atNode(tenants)), query: { to: 'slice' } }),
  adminNodeConvert: async (tenants) => {
    const { as, params } = await atNode(tenants);
    const { plan_hash } = (await as.get(`/api/v1/admin/nodes/${params.node_id}/convert?to=slice`)).body;
    return { as, params, body: { to: 'slice', plan_hash } };
  },
  adminCapacityList: asOperator,
  adminCapacityHistoryList: asOperator,
  adminQuotaList: asOperator,
  adminQuotaPut: async (tenants) => ({
    as: tenants.superadmin,
    body: { organization_id: tenants.rival.organization_id, gpu_limit: 64 },
    if_match: 1,
  }),
  adminSchedulerSnapshot: asOperator,
  adminInvariantCheck: asOperator,
  adminClaimBackfill: async (tenants) => ({ as: tenants.superadmin, body: { is_dry_run: true } }),
};
