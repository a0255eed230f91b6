/** Moves of launches away from hosts that failed them. Written with the new claims by `statements/move.ts`. */
import type { Reader, Tx } from './client.ts';
import type { Stay } from './lifecycle.ts';
import type { NodeTaskRow } from './node-task.ts';
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

export type ImageRefusal = Readonly<Pick<NodeTaskRow, 'id' | 'node_id' | 'kind' | 'state_reason' | 'correlation_id'>>;

const REFUSAL = `select t.id, t.node_id, t.kind, t.state_reason, t.correlation_id from allocation_moves m
  join node_tasks t on t.id = m.task_id where m.allocation_id = $1 and t.error_code = 'bad_image'`;

/** The tasks by which hosts refused the image of the launch, before it left them. */
export const listImageRefusals = async (reader: Reader, allocationId: string): Promise<ImageRefusal[]> =>
  (await reader.query<ImageRefusal>(`${REFUSAL} order by m.number`, [allocationId])).rows;

/** Those that this task is the first to disprove: it copied the image. */
export const listDisproved = async (
  reader: Reader,
  { id, allocation_id, kind }: Pick<NodeTaskRow, 'id' | 'allocation_id' | 'kind'>,
): Promise<ImageRefusal[]> =>
  (
    await reader.query<ImageRefusal>(
      `${REFUSAL} and not exists (select from node_tasks c where c.allocation_id = m.allocation_id and c.kind = $2
         and c.state = 'completed' and c.id <> $3 and c.finished_at > t.finished_at) order by m.number`,
      [allocation_id, kind, id],
    )
  ).rows;

/** Whether a host that a launch of the organization left is not proven wiped yet. */
export const hasLeftHosts = async (reader: Reader, organizationId: string): Promise<boolean> =>
  (
    await reader.query(
      `select from allocation_resource_claims c where c.move_id is not null and ${claimIsLive('c')} and c.organization_id = $1 limit 1`,
      [organizationId],
    )
  ).rowCount === 1;

/** Waits for the transactions that move launches of the organization whose guest OS may be at fault. */
export const holdGuestMoves = async (tx: Tx, organizationId: string): Promise<void> => {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`guest moves ${organizationId}`]);
};

/** Hosts that the launch left and that are not proven wiped yet. */
export const listLeftStays = async (reader: Reader, allocationId: string): Promise<Stay[]> =>
  (
    await reader.query<Stay>(
      `select m.allocation_id, m.from_node_id as node_id, m.id as move_id from allocation_moves m where m.allocation_id = $1
       and exists (select from allocation_resource_claims c where c.move_id = m.id and ${claimIsLive('c')}) order by m.number`,
      [allocationId],
    )
  ).rows;
