/** Slots as operators see them, with the available actions of each. */

import { preventsHostChanges } from '../agents/node-health.ts';
import type { Ctx } from '../context.ts';
import type { Reader } from '../db/client.ts';
import { findNode, type NodeRow } from '../db/node.ts';
import { findSlot, type SlotRow } from '../db/slot.ts';
import { listTakenBindings } from '../db/slot-approval.ts';
import { listSlotUse, type SlotUseRow } from '../db/slot-facts.ts';
import type { Action } from '../domain/refusal.ts';
import { SLOT_OPERATIONS, type SlotFacts, slotRefusal } from '../domain/slot-actions.ts';
import { bindingConflicts, boundSlot } from '../domain/slot-binding.ts';
import { slotDeadline } from '../domain/slot-state.ts';
import { type FieldError, notFound } from '../errors.ts';
import { platformActions } from '../pipeline/actions.ts';
import { callerId } from '../pipeline/caller.ts';
import { repairSlot } from '../workflows/repair-slot.ts';

type OnNode = Pick<NodeRow, 'id' | 'region_name' | 'state' | 'occupancy'>;
type Row = Pick<SlotRow, 'id' | 'slot_index' | 'approval' | 'status'> & Readonly<{ drift: object | null }>;

/** Slots of one approval are bound together, so each disabled one is queried alone; there are few. */
const conflictsOf = async (reader: Reader, node: OnNode, row: Row, approval: SlotUseRow | undefined) => {
  const content = approval?.disabled_content ?? null;
  if (content === null) return [];
  return bindingConflicts(await listTakenBindings(reader, node, [boundSlot(row.id, row.slot_index, content)]));
};

export type SlotContext = SlotFacts & Readonly<{ taken_problems: readonly FieldError[] }>;

/** The facts for the rules of slots. The caller has locked the slot's node. */
export const slotContexts = async (
  ctx: Ctx,
  reader: Reader,
  node: OnNode,
  rows: readonly Row[],
): Promise<ReadonlyMap<string, SlotContext>> => {
  const [standings, prevents_host_changes] = await Promise.all([
    listSlotUse(reader, node.id, repairSlot.name),
    preventsHostChanges(reader, node.id),
  ]);
  const by = callerId(ctx);
  const contexts = await Promise.all(
    rows.map(async (row): Promise<[string, SlotContext]> => {
      const approval = standings.find(({ id }) => id === row.id);
      const taken_problems = await conflictsOf(reader, node, row, approval);
      const holder_state = approval?.holder_state ?? null;
      return [
        row.id,
        {
          approval: row.approval,
          status: row.status,
          has_hardware_change: row.drift !== null && Object.keys(row.drift).length > 0,
          node_state: node.state,
          node_occupancy: node.occupancy,
          holder:
            holder_state === null ? null : { state: holder_state, is_whole_node: approval?.is_whole_node ?? false },
          is_repairing: approval?.is_repairing ?? false,
          prevents_host_changes,
          taken: taken_problems.map(({ message }) => message),
          is_override_by_caller: approval?.override_by === by,
          taken_problems,
        },
      ];
    }),
  );
  return new Map(contexts);
};

export type SlotView = SlotRow & { status_deadline_at: string | null; actions: Action[] };

export const slotViews = async (
  ctx: Ctx,
  reader: Reader,
  node: OnNode,
  rows: readonly SlotRow[],
): Promise<SlotView[]> => {
  const contexts = await slotContexts(ctx, reader, node, rows);
  return rows.map((row) => ({
    ...row,
    status_deadline_at: slotDeadline(row),
    actions: platformActions(ctx, SLOT_OPERATIONS, (name) => {
      const facts = contexts.get(row.id);
      return facts === undefined ? null : slotRefusal(name, facts);
    }),
  }));
};

export const slotView = async (ctx: Ctx, reader: Reader, nodeId: string, id: string): Promise<SlotView> => {
  const [node, row] = await Promise.all([findNode(reader, nodeId), findSlot(reader, nodeId, id)]);
  if (node === undefined || row === undefined) throw notFound('slot');
  const [view] = await slotViews(ctx, reader, node, [row]);
  if (view === undefined) throw notFound('slot');
  return view;
};
