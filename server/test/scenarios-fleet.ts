/** Scenarios of what operators do to the fleet, and of capacity and quota as tenants read them. */

import type { Scenarios } from './scenario.ts';
import { newNode } from './scenarios-allocation.ts';
import type { Cast } from './tenants.ts';

const asOperator = async ({ superadmin }: Cast) => ({ as: superadmin });
const atProject = async ({ acme }: Cast) => ({ as: acme.owner, params: { project_id: acme.ids.project_id } });
const atNode = async (cast: Cast) => ({ as: cast.superadmin, params: { node_id: (await newNode(cast)).id } });

type Mine =
  | 'capacityList'
  | 'quotaGet'
  | 'adminNodeList'
  | 'adminSlotMapList'
  | 'adminNodeGet'
  | 'adminNodeSlotList'
  | 'adminNodeHold'
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
  adminSlotMapList: async (cast) => {
    await newNode(cast);
    return { as: cast.superadmin, query: { limit: 200 } };
  },
  adminNodeGet: atNode,
  adminNodeSlotList: atNode,
  adminNodeHold: async (cast) => ({ ...(await atNode(cast)), body: { is_held: true, reason: 'For the big run' } }),
  adminHoldCreate: async (cast) => {
    await newNode(cast, { capacity_mode: 'baremetal' });
    const body = { region_name: 'us-buffalo-1', gpu_model: 'H200 SXM', node_count: 1, reason: 'For the big run' };
    return { as: cast.superadmin, body };
  },
  adminNodeDrain: async (cast) => ({ ...(await atNode(cast)), body: { is_draining: true, reason: 'New firmware' } }),
  adminNodeConvertPlan: async (cast) => ({ ...(await atNode(cast)), query: { to: 'slice' } }),
  adminNodeConvert: async (cast) => {
    const { as, params } = await atNode(cast);
    const { plan_hash } = (await as.get(`/api/v1/admin/nodes/${params.node_id}/convert?to=slice`)).body;
    return { as, params, body: { to: 'slice', plan_hash } };
  },
  adminCapacityList: asOperator,
  adminCapacityHistoryList: asOperator,
  adminQuotaList: asOperator,
  adminQuotaPut: async (cast) => ({
    as: cast.superadmin,
    body: { organization_id: cast.rival.organization_id, gpu_limit: 64 },
    if_match: 1,
  }),
  adminSchedulerSnapshot: asOperator,
  adminInvariantCheck: asOperator,
  adminClaimBackfill: async (cast) => ({ as: cast.superadmin, body: { is_dry_run: true } }),
};
