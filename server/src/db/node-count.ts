/** Numbers of nodes, for metrics and the breakers. */
import type { Reader } from './client.ts';
import type { NodeState } from './node.ts';
import { NODE_OVER } from './predicates.ts';

/** Nodes of the fleet by state; a state without nodes is left out. */
export const countNodesByState = async (reader: Reader): Promise<Readonly<{ state: NodeState; count: number }>[]> =>
  (
    await reader.query<{ state: NodeState; count: number }>(
      `select state, count(*) as count from nodes where not state ${NODE_OVER} group by state`,
    )
  ).rows;

/** Nodes by state that they should have left; `deadlines` names for each state how long it may last. */
export const countOverdueNodes = async (
  reader: Reader,
  deadlines: Readonly<Record<string, number>>,
): Promise<Readonly<{ state: string; count: number }>[]> =>
  (
    await reader.query<{ state: string; count: number }>(
      `select w.key as state, count(n.id) as count from jsonb_each_text($1) w
         left join nodes n on n.state = w.key and n.state_since < now() - make_interval(secs => w.value::float8) group by w.key order by 1`,
      [JSON.stringify(deadlines)],
    )
  ).rows;

export const countFailingNodes = async (reader: Reader, failuresMax: number): Promise<number> =>
  (
    await reader.query<{ count: number }>(
      `select count(*) as count from nodes where launch_failures > 0 and launch_failures >= $1 and not state ${NODE_OVER}`,
      [failuresMax],
    )
  ).rows[0]?.count ?? 0;
