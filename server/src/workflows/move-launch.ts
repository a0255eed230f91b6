/**
 * Moves a launch whose host failed to the next best host, in the transaction that moves its run. The new claims are
 * committed together with the end of the old ones' use, so the allocation holds its GPUs somewhere at every moment and
 * never twice. ID, price and quota stay. What was claimed on the old host stays claimed until a wipe is proven there.
 */
import { mintId } from '@gpuaas/kit';
import type { AllocationRow } from '../db/allocation.ts';
import { hasLeftHosts, holdGuestMoves, listImageRefusals, listMoves } from '../db/allocation-move.ts';
import type { Reader, Tx } from '../db/client.ts';
import { findNode } from '../db/node.ts';
import { lockSummary } from '../db/placement.ts';
import { findRunTask } from '../db/run-task.ts';
import { moveClaimSet } from '../db/statements/move.ts';
import { findUserData } from '../db/user-data.ts';
import { isGuestAtFault, moveRefusal, NO_OTHER_HOST } from '../domain/launch-move.ts';
import { AppError, conflict } from '../errors.ts';
import { chooseElsewhere, fitsElsewhere } from '../placement/elsewhere.ts';
import { refreshSummary } from '../placement/summary.ts';
import type { HostFailure } from './allocation-steps.ts';
import { allocationChanged, auditRun } from './allocation-transitions.ts';
import { newRun, runChanged } from './engine/run.ts';
import { cleanupOfMove } from './start-cleanup.ts';
import { type Cause, lockChanging } from './stay.ts';

export const whyNotMove = async (
  reader: Reader,
  row: AllocationRow,
  { run_id, node_id, kind }: Omit<HostFailure, 'reason'>,
): Promise<string | null> => {
  const [task, moves, userData, node, refusals, is_one_left] = await Promise.all([
    findRunTask(reader, { run_id, node_id, kind }),
    listMoves(reader, [row.id]),
    findUserData(reader, row.id),
    findNode(reader, node_id),
    listImageRefusals(reader, row.id),
    hasLeftHosts(reader, row.organization_id),
  ]);
  const failed = {
    kind,
    error_code: task?.error_code ?? null,
    has_user_data: userData !== null,
    image_refusals: refusals.length,
  };
  const refusal = moveRefusal(failed, { count: moves.length + 1, is_one_left });
  if (refusal !== null) return refusal;
  const except = [node_id, ...moves.map(({ from_node_id }) => from_node_id)];
  return (await fitsElsewhere(reader, row, node?.gpu_model ?? '', except)) ? null : NO_OTHER_HOST;
};

/**
 * Decided again under a lock, because simultaneous launches of an organization all found no left host. The step of a
 * refused one is repeated, and `whyNotMove` then states the reason.
 */
const assertMovesAlone = async (tx: Tx, row: AllocationRow, { kind }: HostFailure): Promise<void> => {
  if (!isGuestAtFault({ kind, has_user_data: (await findUserData(tx, row.id)) !== null })) return;
  await holdGuestMoves(tx, row.organization_id);
  if (await hasLeftHosts(tx, row.organization_id))
    throw conflict('A host that another launch of the organization left is being cleaned up.');
};

/** Does nothing if a release was accepted first: the run then ends by its cancellation. */
export const moveLaunch = async (tx: Tx, id: string, failure: HostFailure, cause?: Cause): Promise<void> => {
  const { node_id: from_node_id, reason } = failure;
  const row = await lockChanging(tx, id, cause);
  if (row?.node_id !== from_node_id || (row.state !== 'requested' && row.state !== 'provisioning')) return;
  await assertMovesAlone(tx, row, failure);
  const isSlice = row.capacity_shape === 'gpu_slice';
  // The slots of a slice stay unschedulable; a whole node changes its occupancy. No placement waits for such a node.
  if (!isSlice) await lockSummary(tx, from_node_id);
  const [task, moves] = await Promise.all([findRunTask(tx, failure), listMoves(tx, [id])]);
  const except = [from_node_id, ...moves.map((move) => move.from_node_id)];
  const choice = await chooseElsewhere(tx, row, except);
  if (choice === null)
    throw new AppError('unavailable', 'Other launches hold every node that fits. Retry.', { retry_after_s: 1 });
  const { node, placed } = choice;
  const move_id = mintId('mov');
  const run = newRun(cleanupOfMove(row, move_id));
  tx.defer(
    moveClaimSet(tx, {
      id: move_id,
      allocation_id: id,
      organization_id: row.organization_id,
      project_id: row.project_id,
      capacity_shape: row.capacity_shape,
      gpu_count: row.gpu_count,
      number: moves.length + 1,
      from_node_id,
      task_id: task?.id ?? '',
      reason,
      node_id: node.id,
      slot_ids: placed.slot_ids,
      claim_ids: isSlice ? placed.slot_ids.map(() => mintId('clm')) : [mintId('clm')],
      partition_id: placed.partition_id === null ? null : Number(placed.partition_id),
      scores: placed.scores,
      run,
      events: [allocationChanged(row, row.state, reason), runChanged({ ...run, state: 'pending' })],
    }),
  );
  auditRun(tx, row, 'move', reason);
  tx.wake();
  await refreshSummary(tx, node.id);
  if (!isSlice) await refreshSummary(tx, from_node_id);
};
