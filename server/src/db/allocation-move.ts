/** Moves of launches away from hosts that failed them. Written with the new claims by `statements/move.ts`. */
import type { Reader } from './client.ts';
import type { Stay } from './lifecycle.ts';
import { claimIsLive } from './predicates.ts';
import type { AllocationMoves } from './types.gen.ts';

export type MoveRow = Readonly<
  Pick<
    AllocationMoves,
    'id' | 'allocation_id' | 'number' | 'from_node_id' | 'to_node_id' | 'task_id' | 'reason' | 'created_at'
  >
>;

const MOVE = 'm.id, m.allocation_id, m.number, m.from_node_id, m.to_node_id, m.task_id, m.reason, m.created_at';

export const findMove = async (reader: Reader, id: string): Promise<MoveRow | undefined> =>
  (await reader.query<MoveRow>(`select ${MOVE} from allocation_moves m where m.id = $1`, [id])).rows[0];

/** In the order in which they happened. */
export const listMoves = async (reader: Reader, allocationIds: readonly string[]): Promise<MoveRow[]> =>
  (
    await reader.query<MoveRow>(
      `select ${MOVE} from allocation_moves m where m.allocation_id = any ($1) order by m.allocation_id, m.number`,
      [allocationIds],
    )
  ).rows;

/** Hosts that the launch left and that are not proven wiped yet. */
export const listLeftStays = async (reader: Reader, allocationId: string): Promise<Stay[]> =>
  (
    await reader.query<Stay>(
      `select m.allocation_id, m.from_node_id as node_id, m.id as move_id from allocation_moves m where m.allocation_id = $1
       and exists (select from allocation_resource_claims c where c.move_id = m.id and ${claimIsLive('c')}) order by m.number`,
      [allocationId],
    )
  ).rows;
