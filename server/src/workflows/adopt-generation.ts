/**
 * After a backup was restored, a host may know later claims of slots than the database. It refuses tasks of older
 * generations, because it may hold data of a later tenant. After checking, an operator confirms slot by slot which
 * generation of the host may be cleaned up for the allocation in the database. This frees nothing: the usual cleanup
 * follows, and the host still refuses it while another lease has the slot.
 */

import type { Tx } from '../db/client.ts';
import type { Stay } from '../db/lifecycle.ts';
import { cancelQueuedTasks } from '../db/node-task.ts';
import { lockSummary } from '../db/placement.ts';
import { countRunningTasks } from '../db/run-task.ts';
import { adoptGenerations, adoptNodeDisks, lockSlotsBehindHost } from '../db/statements/adopt-generation.ts';
import { AppError, conflict } from '../errors.ts';

export type Adopted = Readonly<{ slot_id: string; host_generation: number }>;

/**
 * Sets the slots of the locked allocation to the host's generations. All or none: a missing one would block the rest.
 */
export const adoptHostGenerations = async (tx: Tx, stay: Stay, given: readonly Adopted[]): Promise<void> => {
  await lockSummary(tx, stay.node_id);
  if ((await countRunningTasks(tx, stay)) > 0)
    throw conflict('The agent is running a task for this allocation. Wait for its result.');
  const behind = await lockSlotsBehindHost(tx, stay);
  const reported = behind.map(({ slot_index, host_generation }) => `slot ${slot_index}: ${host_generation}`).join(', ');
  const isWholeNode = await adoptNodeDisks(tx, stay);
  if (behind.length === 0 && !isWholeNode)
    throw conflict('The agent has not reported a newer generation of these slots.');
  const isConfirmed = ({ id, host_generation }: (typeof behind)[number]) =>
    given.some((one) => one.slot_id === id && one.host_generation === host_generation);
  if (given.length !== behind.length || !behind.every(isConfirmed))
    throw new AppError(
      'precondition_failed',
      `The agent reported other generations than those confirmed (${reported}).`,
    );
  await cancelQueuedTasks(tx, stay, 'An operator adopted the generations of the host.');
  await adoptGenerations(tx, stay.allocation_id, behind);
};
