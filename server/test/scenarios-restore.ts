/** Scenarios of a restored database. Nothing of the test is older than the time they name, so nothing of it ends. */
import type { Scenarios } from './scenario.ts';
import { newInventoried } from './scenarios-inventory.ts';
import { must, type Tenants } from './tenants.ts';

const BEGIN = { older_than: '2020-01-01T00:00:00.000Z', reason: 'Restored' };

export const restoreScenarios: Pick<Scenarios, 'adminRestoreGet' | 'adminRestoreBegin' | 'adminNodeRestoreRelease'> = {
  adminRestoreGet: async (tenants) => ({ as: tenants.superadmin }),
  adminRestoreBegin: async (tenants) => ({ as: tenants.superadmin, body: BEGIN }),
  adminNodeRestoreRelease: async (tenants: Tenants) => {
    const node_id = await newInventoried(tenants);
    must(await tenants.superadmin.post('/api/v1/admin/restore', BEGIN), 201);
    await tenants.sql.query('update node_inventories set received_at = clock_timestamp() where node_id = $1', [
      node_id,
    ]);
    return { as: tenants.superadmin, params: { node_id }, body: { accepts_findings: true, reason: 'Compared' } };
  },
};
