/** A node as operators see it, with its available actions. */
import type { Ctx } from '../context.ts';
import type { Reader } from '../db/client.ts';
import { findNode, type NodeRow } from '../db/node.ts';
import { listNodeFacts } from '../db/node-facts.ts';
import { NODE_OPERATIONS, type NodeAction, type NodeFacts, nodeRefusal } from '../domain/node-actions.ts';
import { nodeDeadline } from '../domain/node-state.ts';
import type { Action } from '../domain/refusal.ts';
import { notFound } from '../errors.ts';
import { platformActions, refuse } from '../pipeline/actions.ts';

export const getNode = async (reader: Reader, id: string): Promise<NodeRow> => {
  const row = await findNode(reader, id);
  if (row === undefined) throw notFound('node');
  return row;
};

const NOTHING = { claims: [], slots: [], holders: [], disks: [], has_discovery: false };

const factsOf = async (reader: Reader, rows: readonly NodeRow[]): Promise<NodeFacts[]> => {
  const found = await listNodeFacts(
    reader,
    rows.map(({ id }) => id),
  );
  const byNode = new Map(found.map((facts) => [facts.node_id, facts]));
  return rows.map((row) => ({ ...row, ...(byNode.get(row.id) ?? NOTHING) }));
};

export type NodeView = NodeRow & { state_deadline_at: string | null; actions: Action[] };

export const nodeViews = async (ctx: Ctx, reader: Reader, rows: readonly NodeRow[]): Promise<NodeView[]> => {
  const facts = await factsOf(reader, rows);
  return rows.map((row, index) => ({
    ...row,
    state_deadline_at: nodeDeadline(row),
    actions: platformActions(ctx, NODE_OPERATIONS, (name) => {
      const node = facts[index];
      return node === undefined ? null : nodeRefusal(name, node);
    }),
  }));
};

export const nodeView = async (ctx: Ctx, reader: Reader, id: string): Promise<NodeView> => {
  const [view] = await nodeViews(ctx, reader, [await getNode(reader, id)]);
  if (view === undefined) throw notFound('node');
  return view;
};

/** Throws when the node's state does not allow it. True when it is already done. The caller has locked the node. */
export const refuseNode = async (reader: Reader, node: NodeRow, name: NodeAction): Promise<boolean> => {
  const [facts] = await factsOf(reader, [node]);
  if (facts === undefined) throw notFound('node');
  return refuse(nodeRefusal(name, facts));
};
