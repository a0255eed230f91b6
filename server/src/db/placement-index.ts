/**
 * What placement reads: the best candidate off the index, locked. Cost does not grow with the fleet: the index gives a
 * handful of rows, and the lock is on one.
 */
import type { SchedulerNode } from '@gpuaas/scheduler';
import type { Reader, Tx } from './client.ts';
import { type KeyColumn, NODE, NODE_FROM, type NodeRow, SKUS, toNode } from './placement.ts';

export type CandidateQuery = Readonly<{
  region_name: string;
  organization_id: string;
  key: KeyColumn;
  /** How many rows of the index are looked at. Part of the text: a plan made for any number would read the fleet. */
  depth: 16 | 256;
  sku_name: string;
  /** Nodes that turned out not to fit though the index said so. */
  except: readonly string[];
  /** Queue behind whoever holds the best node instead of passing it over. */
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

/** Texts are made once: there are few kinds of look, and putting one together for every launch costs. */
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
 * Sends the lock of the best node that no other placement holds right now. Who reads it asks for LOCKED_NODE in a
 * statement of its own, because that must see what was committed before the lock came free; a setting of the transaction
 * carries the node from one to the other, so both still leave in one packet. From here on the transaction keeps to plans
 * made once: its queries look up by key, and planning one anew costs more than running it.
 *
 * A SKU of another shape than the key is for gets no node, so the shape need not be known to ask.
 *
 * Who waits takes the nodes in the order of their ids: a row that no longer fits once its lock comes free stays locked
 * while the next is waited for, and in the order of a key that changes meanwhile two placements would wait for each other.
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

/** The heads of the index for every count, unlocked: enough to know what would fit. Depth is part of the text, as above. */
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
