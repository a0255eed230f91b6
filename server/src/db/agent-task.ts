/** Tasks for the dispatcher and agents. */
import type { Reader, Tx } from './client.ts';
import { TASK_HANDED_OUT, TASK_OPEN, taskIsHeld, taskIsLate } from './predicates.ts';
import type { NodeTasks } from './types.gen.ts';

/**
 * The ids of queued tasks that have not expired, oldest first, a few per node: of these nodes, or of all. One pass over
 * the queue, never one per node: with statistics from an empty queue the planner considers both equally cheap. The
 * result is one text, because reading thousands of rows of two ids takes longer than finding them.
 */
export const listQueuedTasks = async (
  reader: Reader,
  nodeIds: readonly string[] | 'all',
  perNode: number,
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const { rows } = await reader.query<{ pairs: string | null }>(
    `select string_agg(q.node_id || ' ' || q.id, ',' order by q.node_id, q.place) as pairs from (
       select id, node_id, row_number() over (partition by node_id order by id) as place from node_tasks t
       where state = 'queued' and expires_at > clock_timestamp() and ($1::text[] is null or node_id = any ($1))
         and not ${taskIsHeld('t')}) q
     where q.place <= $2`,
    [nodeIds === 'all' ? null : nodeIds, perNode],
  );
  const found = new Map<string, string[]>();
  for (const pair of rows[0]?.pairs?.split(',') ?? []) {
    const [nodeId = '', id = ''] = pair.split(' ');
    const mine = found.get(nodeId);
    if (mine === undefined) found.set(nodeId, [id]);
    else mine.push(id);
  }
  return found;
};

export type OutgoingTask = Readonly<
  Pick<
    NodeTasks,
    'id' | 'node_id' | 'kind' | 'attempt' | 'allocation_id' | 'correlation_id' | 'expires_at' | 'sealed_user_data'
  > & {
    params: Readonly<Record<string, unknown>>;
  }
>;

export const OUTGOING = `t.id, t.node_id, t.kind, t.attempt, t.params, t.allocation_id,
  t.correlation_id, t.expires_at, t.sealed_user_data`;

/**
 * For the rest of the transaction, named tasks are read by index. By default the planner reads a table of some ten
 * thousand rows as a whole for a few hundred of them: once to lock and once to mark, for every part of a fleet that is
 * woken.
 */
export const readTasksByName = (tx: Tx): void => tx.defer(tx.query('set local enable_seqscan = off'));

/**
 * Those of the named tasks that are still queued; locked until the transaction ends. Found by id and filtered
 * afterwards, for the reason above.
 */
export const lockQueuedTasks = async (tx: Tx, ids: readonly string[]): Promise<OutgoingTask[]> =>
  (
    await tx.query<OutgoingTask & { state: NodeTasks['state'] }>(
      `select ${OUTGOING}, t.state from node_tasks t
       where t.id = any ($1) and t.expires_at > clock_timestamp() and not ${taskIsHeld('t')} for update of t skip locked`,
      [ids],
    )
  ).rows.filter((task) => task.state === 'queued');

/** Tasks in the agents' journals. Pairs: a task that an agent names counts for its own node only. */
export type JournaledTasks = Readonly<{ node_id: string; journaled_task_ids: readonly string[] }>;

export const pairsOf = (agents: readonly JournaledTasks[]): string[] =>
  agents.flatMap(({ node_id, journaled_task_ids }) => journaled_task_ids.map((taskId) => `${node_id} ${taskId}`));

export const nodesOf = (agents: readonly JournaledTasks[]): string[] => agents.map(({ node_id }) => node_id);

/** The nodes of those agents with dispatched tasks that are missing from their journals. */
export const listNodesLacking = async (reader: Reader, agents: readonly JournaledTasks[]): Promise<string[]> =>
  (
    await reader.query<{ node_id: string }>(
      `select distinct node_id from node_tasks t where node_id = any ($1) and state ${TASK_HANDED_OUT}
         and not ${taskIsHeld('t')} and expires_at > clock_timestamp() and node_id || ' ' || id <> all ($2)`,
      [nodesOf(agents), pairsOf(agents)],
    )
  ).rows.map((row) => row.node_id);

/** Those of the named tasks that have ended or are unknown. One just sent may not be marked as sent yet. */
export const listOverTasks = async (
  reader: Reader,
  pairs: Readonly<{ node_ids: readonly string[]; task_ids: readonly string[] }>,
): Promise<Readonly<{ node_id: string; task_id: string }>[]> =>
  (
    await reader.query<{ node_id: string; task_id: string }>(
      `select h.node_id, h.task_id from unnest($1::text[], $2::text[]) as h (node_id, task_id)
         left join node_tasks t on t.id = h.task_id and t.node_id = h.node_id
       where t.id is null or t.state not ${TASK_OPEN} or ${taskIsLate('t')}`,
      [pairs.node_ids, pairs.task_ids],
    )
  ).rows;

export type AgentTaskRow = Readonly<
  Pick<
    NodeTasks,
    'id' | 'node_id' | 'allocation_id' | 'kind' | 'attempt' | 'state' | 'state_reason' | 'correlation_id'
  > & {
    params: Readonly<Record<string, unknown>>;
    output: Readonly<Record<string, unknown>> | null;
    is_overdue: boolean;
  }
>;

/** Locked until its result is written. */
export const lockAgentTask = async (tx: Tx, nodeId: string, id: string): Promise<AgentTaskRow | undefined> =>
  (
    await tx.query<AgentTaskRow>(
      `select id, node_id, allocation_id, kind, attempt, params, state, state_reason, output, correlation_id,
         ${taskIsLate('t')} as is_overdue
       from node_tasks t where id = $1 and node_id = $2 for update`,
      [id, nodeId],
    )
  ).rows[0];

export const findAgentTask = async (
  reader: Reader,
  nodeId: string,
  id: string,
): Promise<Pick<AgentTaskRow, 'state' | 'attempt' | 'state_reason' | 'is_overdue'> | undefined> =>
  (
    await reader.query<Pick<AgentTaskRow, 'state' | 'attempt' | 'state_reason' | 'is_overdue'>>(
      `select state, attempt, state_reason, ${taskIsLate('t')} as is_overdue
       from node_tasks t where id = $1 and node_id = $2`,
      [id, nodeId],
    )
  ).rows[0];
