/** Scenarios of agents, of the keys of their channel, and of logs. */
import { randomUUID } from 'node:crypto';
import { anEnrolledNode } from './discovered.ts';
import type { Scenarios } from './scenario.ts';
import { type Cast, must } from './tenants.ts';

const because = { reason: 'It was asked for' };

const newHost = () => ({
  name: `host-${randomUUID()}`,
  region_name: 'us-buffalo-1',
  gpu_model: 'H200 SXM',
  gpu_count: 8,
  capacity_mode: 'flexible' as const,
  private_network: '10.101.0.0/24',
});

const atNode = async (cast: Cast) => {
  const { node } = must(await cast.superadmin.post('/api/v1/admin/nodes', newHost()), 201).body;
  return { as: cast.superadmin, params: { node_id: String(node.id) } };
};

const KEYS = '/api/v1/admin/trust-keys';

/** One of a purpose is staged at a time; those that other scenarios left make room. */
export const newStagedKey = async (cast: Cast): Promise<Readonly<{ id: string; version: number }>> => {
  await cast.sql.query("update trust_keys set state = 'retired' where state = 'staged'");
  const made = must(await cast.superadmin.post(KEYS, { purpose: 'task_signer', ...because }), 201).body;
  await cast.sql.query("update trust_keys set state_since = state_since - interval '1 minute' where id = $1", [
    made.id,
  ]);
  return made;
};
const atKey = async (cast: Cast) => {
  const { id, version } = await newStagedKey(cast);
  return { as: cast.superadmin, params: { trust_key_id: id }, body: because, if_match: version };
};

type Mine =
  | 'adminNodeCreate'
  | 'adminNodeEnrollmentCreate'
  | 'adminNodeAgentGet'
  | 'adminNodeAgentRevoke'
  | 'adminNodeAgentUpdate'
  | 'adminNodeRetire'
  | 'adminNodeDelete'
  | 'adminNodeTaskList'
  | 'adminTrustKeyList'
  | 'adminTrustKeyGet'
  | 'adminTrustKeyCreate'
  | 'adminTrustKeyActivate'
  | 'adminTrustKeyRetire'
  | 'adminTrustKeyRevoke'
  | 'adminLogList';

export const agentScenarios: Pick<Scenarios, Mine> = {
  adminNodeCreate: async (cast) => ({ as: cast.superadmin, body: newHost() }),
  adminNodeEnrollmentCreate: async (cast) => ({ ...(await atNode(cast)), body: because }),
  adminNodeAgentGet: atNode,
  adminNodeAgentRevoke: async (cast) => ({ ...(await atNode(cast)), body: because }),
  adminNodeAgentUpdate: async (cast) => {
    const node_id = await anEnrolledNode(cast.test.db.database, cast.sql, { region_name: 'us-buffalo-1' });
    await cast.sql.query("update node_agents set kinds = '{agent.update}' where node_id = $1", [node_id]);
    const body = { version: '0.2.0', digest: `sha256:${'a'.repeat(64)}` };
    return { as: cast.superadmin, params: { node_id }, body };
  },
  adminNodeRetire: async (cast) => ({ ...(await atNode(cast)), body: because }),
  adminNodeDelete: async (cast) => {
    const at = await atNode(cast);
    must(await cast.superadmin.post(`/api/v1/admin/nodes/${at.params.node_id}/retire`, because), 200);
    return at;
  },
  adminNodeTaskList: atNode,
  adminTrustKeyList: async (cast) => ({ as: cast.superadmin }),
  adminTrustKeyGet: async (cast) => ({ as: cast.superadmin, params: { trust_key_id: (await newStagedKey(cast)).id } }),
  adminTrustKeyCreate: async (cast) => {
    await cast.sql.query("update trust_keys set state = 'retired' where state = 'staged'");
    return { as: cast.superadmin, body: { purpose: 'node_ca', ...because } };
  },
  adminTrustKeyActivate: atKey,
  adminTrustKeyRetire: atKey,
  adminTrustKeyRevoke: atKey,
  adminLogList: async (cast) => ({ as: cast.superadmin, query: { correlation_id: randomUUID() } }),
};
