/**
 * The reads of placement: the best candidate from the index, locked. Cost does not grow with the fleet: the index gives
 * a handful of rows, and the lock is on one.
 */
import type { SchedulerNode } from '@gpuaas/scheduler';
import type { Reader, Tx } from './client.ts';
import { type KeyColumn, NODE, NODE_FROM, type NodeRow, SKUS, toNode } from './placement.ts';

export type CandidateQuery = Readonly<{
  region_name: string;
  organization_id: string;
  key: KeyColumn;
  /** The number of index rows read. Part of the text: a plan for any number would read the fleet. */
  depth: 16 | 256;
  sku_name: string;
  /** Nodes that turned out not to fit despite the index. */
  except: readonly string[];
  /** Wait for the lock of the best node instead of skipping it. */
  is_patient: boolean;
}>;

/** Best first, of one pool: one condition over two would sort the fleet. `pool` is a parameter or a literal. */
const headOf = ({ key, depth }: Pick<CandidateQuery, 'key' | 'depth'>, pool: string): string =>
  `(select s.node_id, s.${key} as rank from node_placement_summary s
    where s.region_name = $1 and s.gpu_model = (select gpu_model from sku_catalog where name = $2 and capacity_shape = '${key === 'key_node' ? 'baremetal' : 'gpu_slice'}')
      and s.pool_organization_id = ${pool} and s.${key} is not null and s.node_id <> all ($4::text[])
    order by s.${key}, s.node_id limit ${depth})`;

/** Two pools may serve the tenant, shared and its own. */
const candidates = (query: CandidateQuery): string =>
  `${headOf(query, "''")} union all ${headOf(query, '$3')} order by rank, node_id`;

const lockedNode = (query: CandidateQuery): string =>
  query.is_patient
    ? `candidate as materialized (${candidates(query)}),
       locked as materialized (
         select s.node_id from node_placement_summary s join candidate using (node_id)
         where s.${query.key} is not null order by s.node_id limit 1 for update of s)`
    : `locked as materialized (
         select s.node_id from (${candidates(query)}) c join node_placement_summary s using (node_id)
         where s.${query.key} is not null order by c.rank, c.node_id limit 1 for update of s skip locked)`;

/** Texts are built once: there are few variants, and building one for every launch costs time. */
const lockTexts = new Map<string, string>();
const lockText = (query: CandidateQuery): string => {
  const kind = `${query.key} ${query.depth} ${query.is_patient}`;
  let text = lockTexts.get(kind);
  if (text === undefined) {
    text = `with ${lockedNode(query)}
     select set_config('gpuaas.locked_node', coalesce((select node_id from locked), ''), true),
       set_config('plan_cache_mode', 'force_generic_plan', true)`;
    lockTexts.set(kind, text);
  }
  return text;
};

/**
 * Sends the lock of the best node that no other placement holds right now. The caller reads it with LOCKED_NODE in a
 * separate statement, because that must see commits from before the lock was freed; a setting of the transaction
 * carries the node from one to the other, so both are still sent in one packet. From here on the transaction uses
 * generic plans: its queries look up by key, and planning one again costs more than running it.
 *
 * A SKU of another shape than the key gets no node, so the shape need not be known.
 *
 * A waiting placement takes the nodes in the order of their ids: a row that no longer fits once its lock is freed stays
 * locked while it waits for the next, and in the order of a key that changes meanwhile two placements would deadlock.
 */
export const sendLock = (tx: Tx, query: CandidateQuery): Promise<unknown> =>
  tx.query(lockText(query), [query.region_name, query.sku_name, query.organization_id, query.except]);

export const LOCKED_NODE = "current_setting('gpuaas.locked_node')";
const READ_LOCKED = `select ${NODE} from ${NODE_FROM} where n.id = ${LOCKED_NODE}`;

export const lockBestNode = async (tx: Tx, query: CandidateQuery): Promise<SchedulerNode | undefined> => {
  const [, { rows }] = await Promise.all([sendLock(tx, query), tx.query<NodeRow>(READ_LOCKED)]);
  return rows[0] && toNode(rows[0], [query.sku_name]);
};

/** Whether the index has any node for the request, held by another placement or not. */
export const hasCandidates = async (reader: Reader, query: Omit<CandidateQuery, 'is_patient'>): Promise<boolean> => {
  const { rows } = await reader.query<{ has: boolean }>(
    `select exists ${headOf(query, "''")} or exists ${headOf(query, '$3')} as has`,
    [query.region_name, query.sku_name, query.organization_id, query.except],
  );
  return rows[0]?.has === true;
};

/**
 * The heads of the index for every count, unlocked: enough to determine what would fit. Depth is part of the text, as
 * above.
 */
export const listBestNodes = async (
  reader: Reader,
  query: Readonly<{ region_name: string | null; gpu_model: string; organization_id: string; depth: 4 }>,
): Promise<SchedulerNode[]> => {
  const heads = (['key_1', 'key_2', 'key_4', 'key_8', 'key_node'] as const)
    .map(
      (
        key,
      ) => `select c.node_id from regions r cross join (values (''), ($3)) pool (organization_id) cross join lateral (
         select s.node_id from node_placement_summary s where s.region_name = r.name and s.gpu_model = $2
           and s.pool_organization_id = pool.organization_id and s.${key} is not null order by s.${key}, s.node_id limit ${query.depth}) c
       where $1::text is null or r.name = $1`,
    )
    .join(' union ');
  const { rows } = await reader.query<NodeRow & { sku_names: string[] }>(
    `with head as materialized (${heads}) select ${NODE}, ${SKUS} from head join nodes n on n.id = head.node_id join pools p on p.id = n.pool_id order by n.id`,
    [query.region_name, query.gpu_model, query.organization_id],
  );
  return rows.map((row) => toNode(row, row.sku_names));
};
