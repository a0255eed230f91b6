/** The state of agents: their last poll and their own reports. Written for many nodes together. */
import { OFFLINE_AFTER_S } from '../domain/heartbeat.ts';
import type { Reader, Tx } from './client.ts';
import { agentIsSeen, NODE_OVER } from './predicates.ts';
import type { NodeAgents, Nodes } from './types.gen.ts';

export type HeartbeatRow = Readonly<
  Pick<NodeAgents, 'node_id' | 'agent_version' | 'boot_id' | 'booted_at' | 'kinds' | 'clock_skew_ms'> & {
    /** Its age when it is written. */
    age_ms: number;
    trust_version: string;
    /** The clock of the host when the poll arrived. */
    host_time: string;
  }
>;

export type SeenNode = Readonly<
  Pick<Nodes, 'name' | 'state'> & { node_id: Nodes['id']; is_known: boolean; is_rebooted: boolean }
>;

/**
 * Writes the last polls of agents, in one statement for all. Returns the nodes that need further action: those that
 * booted since, and those not active before. These are written only on request, in the transaction of that action, so
 * that nothing is recorded without its effect.
 */
export const putHeartbeats = async (
  tx: Tx,
  heartbeats: readonly HeartbeatRow[],
  options: Readonly<{ with_news: boolean }>,
): Promise<SeenNode[]> =>
  (
    await tx.query<SeenNode>(
      `with seen as materialized (
         select * from jsonb_to_recordset($1::jsonb) as s (node_id text, age_ms float8, agent_version text, boot_id text,
           booted_at timestamptz, kinds jsonb, clock_skew_ms bigint, trust_version text, host_time timestamptz)),
       before as materialized (
         select a.node_id, a.boot_id from node_agents a join seen s on s.node_id = a.node_id order by a.node_id for update of a),
       news as materialized (
         select s.node_id, n.name, n.state, b.node_id is not null as is_known, b.boot_id is distinct from s.boot_id as is_rebooted
         from seen s join nodes n on n.id = s.node_id left join before b on b.node_id = s.node_id
         where n.state = 'enrolling' or b.boot_id is distinct from s.boot_id),
       written as (
         insert into node_agents as a (node_id, last_seen_at, agent_version, boot_id, booted_at, kinds, clock_skew_ms, trust_version,
           database_skew_ms)
         select s.node_id, t.at, s.agent_version, s.boot_id, s.booted_at, array(select jsonb_array_elements_text(s.kinds)),
           s.clock_skew_ms, s.trust_version, round(extract(epoch from s.host_time - t.at) * 1000)
         from seen s, lateral (select clock_timestamp() - make_interval(secs => s.age_ms / 1000) as at) t
         where $2 or s.node_id not in (select node_id from news) order by s.node_id
         on conflict (node_id) do update set last_seen_at = case when a.last_seen_at > clock_timestamp() then excluded.last_seen_at
             else greatest(a.last_seen_at, excluded.last_seen_at) end,
           agent_version = excluded.agent_version, boot_id = excluded.boot_id, booted_at = excluded.booted_at,
           kinds = excluded.kinds, clock_skew_ms = excluded.clock_skew_ms, trust_version = excluded.trust_version,
           database_skew_ms = excluded.database_skew_ms)
       select node_id, name, state, is_known, is_rebooted from news order by node_id`,
      [JSON.stringify(heartbeats), options.with_news],
    )
  ).rows;

export type AgentRow = Readonly<
  Pick<NodeAgents, 'last_seen_at' | 'agent_version' | 'boot_id' | 'booted_at' | 'clock_skew_ms' | 'kinds'> & {
    is_connected: boolean;
  }
>;

export const findAgent = async (reader: Reader, nodeId: string): Promise<AgentRow | undefined> =>
  (
    await reader.query<AgentRow>(
      `select ${agentIsSeen('a')} as is_connected, a.last_seen_at, a.agent_version, a.boot_id, a.booted_at, a.clock_skew_ms, a.kinds
       from node_agents a where a.node_id = $1`,
      [nodeId],
    )
  ).rows[0];

/** The number of nodes with an agent that lacked this bundle at its last poll. */
export const countNodesWithoutKey = async (reader: Reader, trustVersion: string): Promise<number> =>
  (
    await reader.query<{ count: number }>(
      `select count(*) as count from nodes n join node_agents a on a.node_id = n.id
       where not n.state ${NODE_OVER} and a.trust_version is distinct from $1`,
      [trustVersion],
    )
  ).rows[0]?.count ?? 0;

export type MisstatedNode = Readonly<{ id: string; name: string; is_seen: boolean }>;

/**
 * Nodes whose state disagrees with the last poll of their agent; those that are silent only on request. Nodes that never
 * had an agent are excluded.
 */
export const listNodesWithWrongState = async (
  reader: Reader,
  after: MisstatedNode | undefined,
  limit: number,
  withSilent: boolean,
): Promise<MisstatedNode[]> =>
  (
    await reader.query<MisstatedNode>(
      `select w.* from (
         select n.id, n.name, false as is_seen from nodes n join node_agents a on a.node_id = n.id
           where $3 and n.state = 'active' and not (${agentIsSeen('a')})
         union all
         select n.id, n.name, true from nodes n join node_agents a on a.node_id = n.id
           where n.state = 'offline' and ${agentIsSeen('a')}) w
       where $1::text is null or w.id > $1 order by w.id limit $2`,
      [after?.id ?? null, limit, withSilent],
    )
  ).rows;

export type UnseenNodes = Readonly<{
  /** Active nodes whose agent is silent. */
  unseen: number;
  /** Those, and nodes that became offline within the window, silent since the last reset of the circuit breaker. */
  fallen: number;
  /** Agents of any node that are not silent. */
  seen: number;
  /** Active and offline nodes with an agent. */
  nodes: number;
}>;

export const countUnseenNodes = async (reader: Reader, windowMin: number): Promise<UnseenNodes> =>
  (
    await reader.query<UnseenNodes>(
      `select count(*) filter (where c.state = 'active' and not c.is_seen) as unseen,
         count(*) filter (where not c.is_seen and (c.state = 'active' or c.state = 'offline' and c.state_since > clock_timestamp()
           - make_interval(mins => $1)) and c.silent_at > coalesce((select reset_at from health_breaker), '-infinity')) as fallen,
         count(*) filter (where c.is_seen) as seen, count(*) filter (where c.state in ('active', 'offline')) as nodes
       from (select n.state, n.state_since, ${agentIsSeen('a')} as is_seen,
           a.last_seen_at + interval '${OFFLINE_AFTER_S} s' as silent_at
         from node_agents a join nodes n on n.id = a.node_id) c`,
      [windowMin],
    )
  ).rows[0] ?? { unseen: 0, fallen: 0, seen: 0, nodes: 0 };

/** Whether the agent was seen recently, read again under the lock of its node. */
export const isAgentSeen = async (reader: Reader, nodeId: string): Promise<boolean> =>
  (await reader.query(`select 1 as one from node_agents a where a.node_id = $1 and ${agentIsSeen('a')}`, [nodeId]))
    .rowCount === 1;
