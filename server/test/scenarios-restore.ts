/** Scenarios of a restored database. Nothing of the test is older than the time they name, so nothing of it ends but one old ticket. */
import { aSession } from './access.ts';
import type { Scenarios } from './scenario.ts';
import { newActive } from './scenarios-allocation.ts';
import { newInventoried } from './scenarios-inventory.ts';
import { must, type Tenants } from './tenants.ts';

const BEGIN = { older_than: '2020-01-01T00:00:00.000Z', reason: 'Restored' };

export const restoreScenarios: Pick<Scenarios, 'adminRestoreGet' | 'adminRestoreBegin' | 'adminNodeRestoreRelease'> = {
  adminRestoreGet: async (tenants) => ({ as: tenants.superadmin }),
  adminRestoreBegin: async (tenants) => {
    const ticket = await aSession(tenants.sql, await newActive(tenants), {
      state: 'ticketed',
      principal_id: tenants.acme.owner.me.id,
    });
    await tenants.sql.query("update terminal_sessions set created_at = '2000-01-01' where id = $1", [ticket]);
    return { as: tenants.superadmin, body: BEGIN };
  },
  adminNodeRestoreRelease: async (tenants: Tenants) => {
    const node_id = await newInventoried(tenants);
    must(await tenants.superadmin.post('/api/v1/admin/restore', BEGIN), 201);
    await tenants.sql.query('update node_inventories set received_at = clock_timestamp() where node_id = $1', [
      node_id,
    ]);
    return { as: tenants.superadmin, params: { node_id }, body: { accepts_findings: true, reason: 'Compared' } };
  },
};
