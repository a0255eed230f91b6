/** Scenarios of wipe proofs and certificates. */

import { playHost } from './host.ts';
import type { Scenarios } from './scenario.ts';
import { newAllocation } from './scenarios-allocation.ts';
import { newApprovedSlot } from './scenarios-topology.ts';
import type { Tenants } from './tenants.ts';
import { must } from './tenants.ts';
import { until } from './until.ts';

/** A released allocation of acme with a proven wipe, by a host that completes its tasks. `held`: called before its release. */
export const newReleased = async (
  tenants: Tenants,
  held: (id: string) => Promise<void> = async () => {},
): Promise<Readonly<{ id: string; path: string }>> => {
  const { id } = await newAllocation(tenants);
  await held(id);
  const path = `/api/v1/projects/${tenants.acme.ids.project_id}/allocations/${id}`;
  must(await tenants.acme.owner.post(`${path}/release`, {}), 202);
  const { rows } = await tenants.sql.query(
    'select n.name from nodes n join allocations a on a.node_id = n.id where a.id = $1',
    [id],
  );
  await until('the allocation is released', async () => {
    await playHost(tenants.test.db.database, { node_name: rows[0].name });
    return must(await tenants.acme.owner.get(path), 200).body.released_at !== null;
  });
  return { id, path };
};

type Mine =
  | 'allocationWipeCertificateGet'
  | 'wipeCertificateKeyList'
  | 'adminNodeSlotProofList'
  | 'adminWipeProofVerify';

export const wipeScenarios: Pick<Scenarios, Mine> = {
  allocationWipeCertificateGet: async (tenants) => {
    const { id } = await newReleased(tenants);
    return { as: tenants.acme.owner, params: { project_id: tenants.acme.ids.project_id, allocation_id: id } };
  },
  wipeCertificateKeyList: async () => ({ as: null }),
  adminNodeSlotProofList: async (tenants) => {
    const { version: _, ...params } = await newApprovedSlot(tenants);
    return { as: tenants.superadmin, params };
  },
  adminWipeProofVerify: async ({ superadmin }) => ({ as: superadmin }),
};
