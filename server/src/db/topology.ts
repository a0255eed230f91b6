/** Results of discoveries. The newest of a node is the one that counts; older ones stay as evidence for approvals. */
import type { Candidate, FabricPartition, Prerequisite } from '@gpuaas/contract/node';
import { mintId } from '@gpuaas/kit';
import type { Reader, Tx } from './client.ts';
import { findPrivateNetwork } from './node-region.ts';
import { insertTask } from './node-task.ts';
import { queryByIndex } from './plan.ts';
import { statement } from './statement.ts';
import type { TaskView } from './task-view.ts';
import type { TopologyCandidates, TopologyDiscoveries } from './types.gen.ts';

export const DISCOVER = 'slice.topology_discover';

/** Requests a discovery from the host. */
export const insertDiscoveryTask = async (tx: Tx, nodeId: string, correlationId: string): Promise<TaskView> => {
  return insertTask(tx, {
    node_id: nodeId,
    kind: DISCOVER,
    params: { accelerators: [], private_network: await findPrivateNetwork(tx, nodeId) },
    correlation_id: correlationId,
  });
};

/** Discovery `d` is of the host that its node has now, not of an earlier one. */
export const isOfHost = (d: string): string =>
  `not exists (select from node_hosts e where e.node_id = ${d}.node_id and e.ended_at >= ${d}.created_at)`;

export type StoredMap = Readonly<{
  partitions: readonly FabricPartition[];
  prerequisites: readonly Prerequisite[];
}>;

export type DiscoveryRow = Readonly<
  Pick<TopologyDiscoveries, 'task_id' | 'node_id' | 'map_hash' | 'reboot_required' | 'created_at'> & {
    map: StoredMap;
  }
>;

export type CandidateRow = Readonly<
  Pick<TopologyCandidates, 'id' | 'slot_index' | 'content_hash'> & { content: Candidate }
>;

const INSERT_DISCOVERY = statement(
  {
    task_id: 'text',
    node_id: 'text',
    map_hash: 'text',
    facts: 'jsonb',
    map: 'jsonb',
    reboot_required: 'boolean',
    candidates: 'jsonb',
  },
  `with discovery as (
     insert into topology_discoveries (task_id, node_id, map_hash, facts, map, reboot_required)
     values (:task_id, :node_id, :map_hash, :facts, :map, :reboot_required))
   insert into topology_candidates (id, task_id, node_id, slot_index, content_hash, content, blockers)
   select c.id, :task_id, :node_id, c.slot_index, c.content_hash, c.content, c.blockers
   from jsonb_to_recordset(:candidates) as c (id text, slot_index integer, content_hash text, content jsonb, blockers jsonb)`,
);

export const insertDiscovery = async (
  tx: Tx,
  found: Readonly<{
    task_id: string;
    node_id: string;
    map_hash: string;
    facts: object;
    map: StoredMap;
    reboot_required: boolean;
    candidates: readonly Readonly<{ content_hash: string; content: Candidate }>[];
  }>,
): Promise<void> => {
  const candidates = found.candidates.map(({ content_hash, content }) => ({
    id: mintId('cnd'),
    slot_index: content.slot_index,
    content_hash,
    content,
    blockers: content.blockers,
  }));
  await INSERT_DISCOVERY.query(tx, { ...found, candidates });
};

export const findNewestDiscovery = async (reader: Reader, nodeId: string): Promise<DiscoveryRow | undefined> =>
  (
    await reader.query<DiscoveryRow>(
      `select task_id, node_id, map_hash, map, reboot_required, created_at from topology_discoveries d
       where node_id = $1 and ${isOfHost('d')} order by task_id desc limit 1`,
      [nodeId],
    )
  ).rows[0];

export const findNewestFacts = async (
  reader: Reader,
  nodeId: string,
): Promise<Readonly<Record<string, unknown>> | undefined> =>
  (
    await reader.query<{ facts: Record<string, unknown> }>(
      `select facts from topology_discoveries d where node_id = $1 and ${isOfHost('d')} order by task_id desc limit 1`,
      [nodeId],
    )
  ).rows[0]?.facts;

export const listCandidates = async (reader: Reader, taskId: string): Promise<CandidateRow[]> =>
  (
    await reader.query<CandidateRow>(
      'select id, slot_index, content_hash, content from topology_candidates where task_id = $1 order by slot_index',
      [taskId],
    )
  ).rows;

/** Discoveries that a later one of the node has replaced and that no slot was approved by, with their candidates. */
export const deleteOldDiscoveries = async (tx: Tx, limit: number, days: number): Promise<number> =>
  (
    await queryByIndex(
      tx,
      `with old as materialized (
         select d.task_id from topology_discoveries d
         where d.created_at < now() - make_interval(days => $2)
           and d.task_id < (select max(n.task_id) from topology_discoveries n where n.node_id = d.node_id)
           and not exists (select from node_resource_slots s where s.node_id = d.node_id and s.discovery_task_id = d.task_id)
         order by d.created_at limit $1),
       candidate as (delete from topology_candidates c using old where c.task_id = old.task_id)
       delete from topology_discoveries d using old where d.task_id = old.task_id`,
      [limit, days],
    )
  ).rowCount;
