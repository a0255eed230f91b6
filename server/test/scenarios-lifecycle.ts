/** Scenarios of usage, and of what operators do to allocations. */

import type { Scenarios } from './scenario.ts';
import { newAllocation } from './scenarios-allocation.ts';
import type { Cast } from './tenants.ts';
import { must } from './tenants.ts';

const REASON = 'The tenant asked for it';

const atAllocation = async (cast: Cast) => ({
  as: cast.superadmin,
  params: { allocation_id: (await newAllocation(cast)).id },
});

type Mine =
  | 'usageList'
  | 'usageSummaryGet'
  | 'adminAllocationList'
  | 'adminAllocationGet'
  | 'adminAllocationForceRelease'
  | 'adminAllocationForceCleanup';

export const lifecycleScenarios: Pick<Scenarios, Mine> = {
  usageList: async (cast) => ({ as: cast.acme.owner, params: { project_id: cast.acme.ids.project_id } }),
  usageSummaryGet: async (cast) => ({ as: cast.acme.owner, params: { project_id: cast.acme.ids.project_id } }),
  adminAllocationList: async (cast) => ({ as: cast.superadmin }),
  adminAllocationGet: atAllocation,
  adminAllocationForceRelease: async (cast) => ({ ...(await atAllocation(cast)), body: { reason: REASON } }),
  adminAllocationForceCleanup: async (cast) => {
    const { as, params } = await atAllocation(cast);
    const path = `/api/v1/projects/${cast.acme.ids.project_id}/allocations/${params.allocation_id}/release`;
    must(await cast.acme.owner.post(path, {}), 202);
    return { as, params, body: { reason: REASON, runtime_verified_absent: true } };
  },
};
