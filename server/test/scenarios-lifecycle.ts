/** Scenarios of usage, and of operator actions on allocations. */

import type { Scenarios } from './scenario.ts';
import { newAllocation } from './scenarios-allocation.ts';
import type { Tenants } from './tenants.ts';
import { must } from './tenants.ts';

const REASON = 'The tenant asked for it';

const atAllocation = async (tenants: Tenants) => ({
  as: tenants.superadmin,
  params: { allocation_id: (await newAllocation(tenants)).id },
});

type Mine =
  | 'usageList'
  | 'usageSummaryGet'
  | 'adminAllocationList'
  | 'adminAllocationGet'
  | 'adminAllocationForceRelease'
  | 'adminAllocationForceCleanup';

export const lifecycleScenarios: Pick<Scenarios, Mine> = {
  usageList: async (tenants) => ({ as: tenants.acme.owner, params: { project_id: tenants.acme.ids.project_id } }),
  usageSummaryGet: async (tenants) => ({ as: tenants.acme.owner, params: { project_id: tenants.acme.ids.project_id } }),
  adminAllocationList: async (tenants) => ({ as: tenants.superadmin }),
  adminAllocationGet: atAllocation,
  adminAllocationForceRelease: async (tenants) => ({ ...(await atAllocation(tenants)), body: { reason: REASON } }),
  adminAllocationForceCleanup: async (tenants) => {
    const { as, params } = await atAllocation(tenants);
    const path = `/api/v1/projects/${tenants.acme.ids.project_id}/allocations/${params.allocation_id}/release`;
    must(await tenants.acme.owner.post(path, {}), 202);
    return { as, params, body: { reason: REASON, runtime_verified_absent: true } };
  },
};
