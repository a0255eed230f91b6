/**
 * An allocation as the work on one of its nodes sees it. A launch that moved keeps its claims on the host it left until
 * a wipe is proven there. That host is cleaned up like the host of a failed allocation, whatever became of the allocation
 * elsewhere: so the row of such a stay is `failed`, on the node that was left.
 */
import { type AllocationRow, lockAllocation } from '../db/allocation.ts';
import type { MoveRow } from '../db/allocation-move.ts';
import type { Tx } from '../db/client.ts';
import type { Stay } from '../db/lifecycle.ts';

export type StayRow = AllocationRow & Readonly<{ move_id?: string | null }>;

export const stayOf = ({ id, node_id, move_id = null }: StayRow): Stay => ({
  allocation_id: id,
  node_id: node_id ?? '',
  move_id,
});

const leftRow = (row: AllocationRow, node_id: string, move_id: string): StayRow => ({
  ...row,
  node_id,
  move_id,
  state: 'failed',
  power_state: null,
  power_grace_s: null,
});

export const rowOfMove = (row: AllocationRow, { id, from_node_id }: MoveRow): StayRow => leftRow(row, from_node_id, id);

/** The request or run that changes an allocation. Without one, the launch of the allocation stands for it. */
export type Cause = Readonly<{ correlation_id: string }>;

/** Locks an allocation that is about to change: what is recorded of the change has the correlation ID of its cause. */
export const lockChanging = async (tx: Tx, id: string, cause?: Cause): Promise<AllocationRow | undefined> => {
  const row = await lockAllocation(tx, id);
  return row === undefined ? undefined : { ...row, correlation_id: cause?.correlation_id ?? row.correlation_id };
};

/** The same for one of its stays. */
export const lockStay = async (tx: Tx, stay: Stay, cause?: Cause): Promise<StayRow | undefined> => {
  const { allocation_id, node_id, move_id } = stay;
  const row = await lockChanging(tx, allocation_id, cause);
  return row === undefined || move_id === null ? row : leftRow(row, node_id, move_id);
};
