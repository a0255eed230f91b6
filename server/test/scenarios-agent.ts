/** Scenarios of agents, of the keys of their channel, and of logs. */

import { randomUUID } from 'node:crypto';
import { insertFreshKey } from '../src/agents/trust.ts';
import { PLATFORM } from '../src/db/client.ts';
import { insertTask } from '../src/db/node-task.ts';
import { anEnrolledNode } from './discovered.ts';
import type { Scenarios } from './scenario.ts';
import { must, type Tenants } from './tenants.ts';

const because = { reason: 'It was asked for' };

const newHost = () => ({
  name: `host-${randomUUID()}`,
  region_name: 'us-buffalo-1',
  gpu_model: 'H200 SXM',
  gpu_count: 8,
  capacity_mode: 'flexible' as const,
  private_network: '10.101.0.0/24',
});

const atNode = async (tenants: Tenants) => {
  const { node } = must(await tenants.superadmin.post('/api/v1/admin/nodes', newHost()), 201).body;
  return { as: tenants.superadmin, params: { node_id: String(node.id) } };
};

/** A task of a host that is not executed. */
export const newTask = async (tenants: Tenants): Promise<Readonly<{ node_id: string; task_id: string }>> => {
  const { node_id } = (await atNode(tenants)).params;
  const task = { node_id, kind: 'diag.health_probe', params: {}, correlation_id: 'a-task' } as const;
  const { id } = await tenants.test.db.database.write(PLATFORM, (tx) => insertTask(tx, task));
  return { node_id, task_id: id };
};

/** One key per purpose is staged at a time; those of other scenarios are removed. */
export const newStagedKey = async (tenants: Tenants): Promise<Readonly<{ id: string; version: number }>> => {
  await tenants.sql.query("update trust_keys set state = 'retired' where state = 'staged'");
  const { db, app, trustSecrets: secrets } = tenants.test;
  const id = await db.database.write(PLATFORM, (tx) =>
    insertFreshKey(tx, { secrets, clock: app.deps.clock }, { purpose: 'task_signer', state: 'staged' }),
  );
  await tenants.sql.query("update trust_keys set state_since = state_since - interval '1 minute' where id = $1", [id]);
  return { id, version: 1 };
};
const atKey = async (tenants: Tenants) => {
  const { id, version } = await newStagedKey(tenants);
  return { as: tenants.superadmin, params: { trust_key_id: id }, body: because, if_match: version };
};

type Mine =
  | 'adminNodeCreate'
  | 'adminNodeEnrollmentCreate'
  | 'adminNodeRebind'
  | 'adminNodeAgentGet'
  | 'adminNodeAgentRevoke'
  | 'adminNodeAgentUpdate'
  | 'adminNodeRetire'
  | 'adminNodeDelete'
  | 'adminNodeTaskList'
  | 'adminNodeTaskGet'
  | 'adminPlatformKeyList'
  | 'adminPlatformKeyRotate'
  | 'adminTrustKeyList'
  | 'adminTrustKeyGet'
  | 'adminTrustKeyCreate'
  | 'adminTrustKeyActivate'
  | 'adminTrustKeyRetire'
  | 'adminTrustKeyRevoke'
  | 'adminLogList';

export const agentScenarios: Pick<Scenarios, Mine> = {
  adminNodeCreate: async (tenants) => ({ as: tenants.superadmin, body: newHost() }),
  adminNodeEnrollmentCreate: async (tenants) => ({ ...(await atNode(tenants)), body: because }),
  adminNodeRebind: async (tenants) => ({
    ...(await atNode(tenants)),
    body: { ...because, host: { product_serial: `SN-${randomUUID()}` } },
  }),
  adminNodeAgentGet: atNode,
  adminNodeAgentRevoke: async (tenants) => ({ ...(await atNode(tenants)), body: because }),
  adminNodeAgentUpdate: async (tenants) => {
    const node_id = await anEnrolledNode(tenants.test.db.database, tenants.sql, { region_name: 'us-buffalo-1' });
    await tenants.sql.query("update node_agents set kinds = '{agent.update}' where node_id = $1", [node_id]);
    const body = { version: '0.2.0', digest: `sha256:${'a'.repeat(64)}` };
    return { as: tenants.superadmin, params: { node_id }, body };
  },
  adminNodeRetire: async (tenants) => ({ ...(await atNode(tenants)), body: because }),
  adminNodeDelete: async (tenants) => {
    const at = await atNode(tenants);
    must(await tenants.superadmin.post(`/api/v1/admin/nodes/${at.params.node_id}/retire`, because), 200);
    return at;
  },
  adminNodeTaskList: atNode,
  adminNodeTaskGet: async (tenants) => ({ as: tenants.superadmin, params: await newTask(tenants) }),
  adminPlatformKeyList: async (tenants) => ({ as: tenants.superadmin }),
  adminPlatformKeyRotate: async (tenants) => {
    // A version that is only recorded: the processes of a test hold one.
    await tenants.sql.query("delete from platform_key_holders where kind = 'trust'");
    await tenants.sql.query("delete from platform_keys where kind = 'trust'");
    await tenants.sql.query(
      `insert into platform_keys (kind, version, state, check_value) values
         ('trust', 1, 'active', decode(repeat('00', 16), 'hex')), ('trust', 2, 'available', decode(repeat('01', 16), 'hex'))`,
    );
    return { as: tenants.superadmin, body: { kind: 'trust', ...because } };
  },
  adminTrustKeyList: async (tenants) => ({ as: tenants.superadmin }),
  adminTrustKeyGet: async (tenants) => ({
    as: tenants.superadmin,
    params: { trust_key_id: (await newStagedKey(tenants)).id },
  }),
  adminTrustKeyCreate: async (tenants) => {
    await tenants.sql.query("update trust_keys set state = 'retired' where state = 'staged'");
    await tenants.sql.query("delete from trust_keys where state = 'requested'");
    return { as: tenants.superadmin, body: { purpose: 'node_ca', ...because } };
  },
  adminTrustKeyActivate: atKey,
  adminTrustKeyRetire: atKey,
  adminTrustKeyRevoke: atKey,
  adminLogList: async (tenants) => ({ as: tenants.superadmin, query: { correlation_id: randomUUID() } }),
};
