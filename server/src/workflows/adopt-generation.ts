/**
 * After a backup was restored, a host may have seen later claims of slots than this database. It refuses every task of the
 * older ones, and rightly so: what it has may be somebody's. An operator who has looked says, slot by slot, which
 * generation of the host may be cleaned up for the allocation that this database knows. Nothing is freed by that: the
 * same cleanup follows, and the host still refuses it while a lease of somebody else has the slot.
 */

import type { AllocationRow } from '../db/allocation.ts';
import type { Tx } from '../db/client.ts';
import { cancelQueuedTasks, countTasksUnderWay } from '../db/node-task.ts';
import { lockSummary } from '../db/placement.ts';
import { adoptGenerations, lockSlotsBehindHost } from '../db/statements/adopt-generation.ts';
import { AppError, conflict } from '../errors.ts';

export type Adopted = Readonly<{ slot_id: string; host_generation: number }>;

/** The locked allocation's slots go on from what the host knows. All of them or none: one left out would block the rest. */
export const adoptHostGenerations = async (tx: Tx, row: AllocationRow, given: readonly Adopted[]): Promise<void> => {
  if (row.node_id === null) throw conflict('The allocation has no node.');
  await lockSummary(tx, row.node_id);
  if ((await countTasksUnderWay(tx, row.id)) > 0)
    throw conflict('The host is working for this allocation; wait until that is answered.');
  const outrun = await lockSlotsBehindHost(tx, row.id);
  const told = outrun.map(({ slot_index, host_generation }) => `slot ${slot_index}: ${host_generation}`).join(', ');
  if (outrun.length === 0) throw conflict('The host has not said that it knows a newer generation of these slots.');
  const isTold = ({ id, host_generation }: (typeof outrun)[number]) =>
    given.some((one) => one.slot_id === id && one.host_generation === host_generation);
  if (given.length !== outrun.length || !outrun.every(isTold))
    throw new AppError('precondition_failed', `The host knows other generations than those confirmed (${told}).`);
  await cancelQueuedTasks(tx, row.id, 'An operator took over what the host knows.');
  await adoptGenerations(tx, row.id, outrun);
};
