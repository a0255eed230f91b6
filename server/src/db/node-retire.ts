/** How a node ends: what still stands on it, and what of it is taken down. Rows stay: its history keeps its id. */
import type { Tx } from './client.ts';
import { TASK_OPEN } from './predicates.ts';

/** How many tasks nobody waits for any more. Taken before the node's row of the index, as results of tasks are. */
export const cancelNodeTasks = async (tx: Tx, nodeId: string, reason: string): Promise<number> =>
  (
    await tx.query(
      `update node_tasks set state = 'cancelled', state_reason = $2, finished_at = clock_timestamp()
       where node_id = $1 and state ${TASK_OPEN}`,
      [nodeId, reason],
    )
  ).rowCount;

/** Disks that left with the node may be owned elsewhere. */
export const revokeOwnedDisks = async (tx: Tx, nodeId: string, reason: string): Promise<number> =>
  (
    await tx.query(
      `update disk_ownerships set state = 'revoked', state_reason = $2, state_since = clock_timestamp(), version = version + 1
       where node_id = $1 and state = 'owned'`,
      [nodeId, reason],
    )
  ).rowCount;
