/** Scenarios of proofs and certificates of erasure. */

import { playHost } from './host.ts';
import type { Scenarios } from './scenario.ts';
import { newAllocation } from './scenarios-allocation.ts';
import { newApprovedSlot } from './scenarios-topology.ts';
import type { Cast } from './tenants.ts';
import { must } from './tenants.ts';
import { until } from './until.ts';

/** An allocation of acme that was given back and proven clean, by a host that does what it is asked. */
export const newReleased = async (cast: Cast): Promise<Readonly<{ id: string; path: string }>> => {
  const { id } = await newAllocation(cast);
  const path = `/api/v1/projects/${cast.acme.ids.project_id}/allocations/${id}`;
  must(await cast.acme.owner.post(`${path}/release`, {}), 202);
  const { rows } = await cast.sql.query(
    'select n.name from nodes n join allocations a on a.node_id = n.id where a.id = $1',
    [id],
  );
  await until('the allocation is released', async () => {
    await playHost(cast.test.db.database, { node_name: rows[0].name });
    return must(await cast.acme.owner.get(path), 200).body.released_at !== null;
  });
  return { id, path };
};

type Mine =
  | 'allocationWipeCertificateGet'
  | 'wipeCertificateKeyList'
  | 'adminNodeSlotProofList'
  | 'adminWipeProofVerify';

export const wipeScenarios: Pick<Scenarios, Mine> = {
  allocationWipeCertificateGet: async (cast) => {
    const { id } = await newReleased(cast);
    return { as: cast.acme.owner, params: { project_id: cast.acme.ids.project_id, allocation_id: id } };
  },
  wipeCertificateKeyList: async () => ({ as: null }),
  adminNodeSlotProofList: async (cast) => {
    const { version: _, ...params } = await newApprovedSlot(cast);
    return { as: cast.superadmin, params };
  },
  adminWipeProofVerify: async ({ superadmin }) => ({ as: superadmin }),
};
