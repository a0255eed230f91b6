/**
 * The transactions in which an allocation becomes active, is blocked or taken up again, and lets go of what it held.
 * Each is safe to run again: it looks at the locked row first and leaves alone what is no longer its business.
 */
import { invariant } from '@gpuaas/kit';
import { type AllocationRow, lockAllocation, moveAllocation } from '../db/allocation.ts';
import type { Tx } from '../db/client.ts';
import {
  type ClaimRow,
  freeNode,
  lockLiveClaims,
  moveHeldNode,
  moveHeldSlots,
  moveSlotToWiped,
  noteAllocation,
  releaseClaim,
  returnQuota,
} from '../db/lifecycle.ts';
import { cancelQueuedTasks, rejectTask } from '../db/node-task.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { lockSummary } from '../db/placement.ts';
import { insertUsage } from '../db/usage.ts';
import { insertWipeProof } from '../db/wipe-proof.ts';
import { type AllocationState, billingEffect, STATE_DEADLINE_S, sourcesOf } from '../domain/allocation.ts';
import type { DiskVerdict } from '../domain/wipe.ts';
import { refreshSummary } from '../placement/summary.ts';
import type { Judged } from './allocation-steps.ts';

/** States whose claims, if any are left, wait for a proof. */
export const CUSTODY_STATES: readonly AllocationState[] = ['releasing', 'release_failed', 'failed'];

type Told = Pick<AllocationRow, 'id' | 'organization_id' | 'project_id' | 'name' | 'correlation_id'>;

export const tellAllocation = (tx: Tx, row: Told, state: AllocationState, reason: string | null): void =>
  tx.defer(
    insertOutboxEvent(tx, {
      event_type: 'allocation.changed',
      organization_id: row.organization_id,
      project_id: row.project_id,
      subject: row.id,
      correlation_id: row.correlation_id,
      data: { allocation_id: row.id, name: row.name, state, state_reason: reason },
    }),
  );

/** Moves a locked allocation, with its deadline and its event. */
export const enter = async (tx: Tx, row: AllocationRow, to: AllocationState, reason: string | null): Promise<void> => {
  const moved = await moveAllocation(tx, {
    id: row.id,
    from: sourcesOf(to),
    to,
    reason,
    deadline_s: STATE_DEADLINE_S[to],
  });
  invariant(moved, `allocation ${row.id} goes from ${row.state} to ${to}`);
  tellAllocation(tx, row, to, reason);
};

/** Changes what the allocation holds, with the node's row of the placement index locked before and rewritten after. */
export const changeHeld = async (tx: Tx, nodeId: string | null, change: () => Promise<unknown>): Promise<void> => {
  if (nodeId === null) return;
  await lockSummary(tx, nodeId);
  await change();
  await refreshSummary(tx, nodeId);
};

/** Everything it holds waits to be erased. A bare-metal tenant could write to slots that were never reserved for it. */
export const startCleaning = (tx: Tx, row: AllocationRow, reason: string): Promise<void> =>
  changeHeld(tx, row.node_id, async () => {
    const from = ['available', 'reserved', 'in_use', 'cleanup_blocked'];
    await moveHeldSlots(tx, { allocation_id: row.id, from, to: 'cleaning', reason });
    await moveHeldNode(tx, { allocation_id: row.id, from: ['exclusive', 'cleanup_blocked'], to: 'cleaning' });
  });

/** Active, charged from now on. Nothing happens when a release was accepted meanwhile. */
export const activateAllocation = async (tx: Tx, id: string): Promise<void> => {
  const row = await lockAllocation(tx, id);
  if (row?.state !== 'provisioning') return;
  await enter(tx, row, 'active', null);
  if (billingEffect(row.state, 'active') === 'open') await insertUsage(tx, id);
  await changeHeld(tx, row.node_id, () =>
    moveHeldSlots(tx, { allocation_id: id, from: ['reserved'], to: 'in_use', reason: null }),
  );
};

/** Cleanup gives up: what is held stays held, marked for an operator. */
export const blockCleanup = async (tx: Tx, id: string, reason: string): Promise<void> => {
  const row = await lockAllocation(tx, id);
  if (row === undefined || !CUSTODY_STATES.includes(row.state)) return;
  const claims = await lockLiveClaims(tx, id);
  if (claims.length === 0) return;
  await cancelQueuedTasks(tx, id, reason);
  await changeHeld(tx, row.node_id, async () => {
    await moveHeldSlots(tx, { allocation_id: id, from: ['cleaning'], to: 'cleanup_blocked', reason });
    await moveHeldNode(tx, { allocation_id: id, from: ['exclusive', 'cleaning'], to: 'cleanup_blocked' });
  });
  if (row.state === 'releasing') return enter(tx, row, 'release_failed', reason);
  await noteAllocation(tx, id, { reason, deadline_s: STATE_DEADLINE_S.release_failed });
  tellAllocation(tx, row, row.state, reason);
};

/** Takes up a cleanup that had given up. */
export const resumeCleanup = async (tx: Tx, id: string): Promise<void> => {
  const row = await lockAllocation(tx, id);
  if (row === undefined || !CUSTODY_STATES.includes(row.state)) return;
  await startCleaning(tx, row, 'Cleanup was taken up again.');
  if (row.state === 'release_failed') await enter(tx, row, 'releasing', null);
  else await noteAllocation(tx, id, { reason: 'It is being cleaned up.', deadline_s: STATE_DEADLINE_S[row.state] });
};

const insertProof = (tx: Tx, row: AllocationRow, judged: Judged, disk: DiskVerdict | null): Promise<string> =>
  insertWipeProof(tx, {
    node_id: row.node_id ?? '',
    slot_id: disk?.target.slot_id ?? null,
    allocation_id: row.id,
    task_id: judged.task_id,
    method: disk?.method ?? 'every disk',
    // A disk that was erased while the network hung on is not proof enough to free anything.
    is_verified: judged.verdict.is_verified && (disk === null || disk.reason === null),
    evidence: disk === null ? { reason: judged.verdict.reason } : { ...disk.evidence, reason: disk.reason },
    correlation_id: row.correlation_id,
  });

/** What the host showed is not proof. It is kept as such, and the task counts as failed. */
export const rejectProof = async (tx: Tx, id: string, judged: Judged): Promise<void> => {
  const row = await lockAllocation(tx, id);
  if (row === undefined || !CUSTODY_STATES.includes(row.state)) return;
  for (const disk of judged.verdict.disks) await insertProof(tx, row, judged, disk);
  await rejectTask(tx, judged.task_id, judged.verdict.reason ?? 'The evidence is incomplete.');
};

/** Claims first: the schema keeps a slot off sale while one lives. */
const letGo = async (tx: Tx, row: AllocationRow, judged: Judged, claims: readonly ClaimRow[]): Promise<void> => {
  const proofs = new Map<string | null, string>();
  for (const disk of judged.verdict.disks) {
    const proofId = await insertProof(tx, row, judged, disk);
    if (disk.target.slot_id !== null) proofs.set(disk.target.slot_id, proofId);
  }
  if (claims.some((claim) => claim.slot_id === null)) proofs.set(null, await insertProof(tx, row, judged, null));
  for (const claim of claims) {
    const proof = proofs.get(claim.slot_id);
    invariant(proof !== undefined, `claim ${claim.id} has a proof`);
    invariant(await releaseClaim(tx, claim.id, proof), `claim ${claim.id} is released once`);
  }
  for (const { target } of judged.verdict.disks) {
    const { slot_id, generation } = target;
    const proof_id = proofs.get(slot_id);
    if (slot_id === null || proof_id === undefined) continue;
    const isOurs = generation !== null && (await moveSlotToWiped(tx, { slot_id, generation, proof_id }));
    invariant(isOurs, `slot ${slot_id} is still of the generation that was wiped`);
  }
};

/**
 * The proof frees everything at once: claims, slots, node, quota and, if it was released, the allocation itself. Slots
 * are fenced by generation, so a proof can never be about a later tenant's data.
 */
export const proveCleanup = async (tx: Tx, id: string, judged: Judged): Promise<void> => {
  const row = await lockAllocation(tx, id);
  if (row === undefined || !CUSTODY_STATES.includes(row.state)) return;
  const claims = await lockLiveClaims(tx, id);
  const nodeId = claims[0]?.node_id;
  if (nodeId === undefined) return;
  await changeHeld(tx, nodeId, async () => {
    await letGo(tx, row, judged, claims);
    await freeNode(tx, nodeId);
  });
  const gpus = claims.reduce((sum, claim) => sum + claim.gpu_count, 0);
  await returnQuota(tx, row, gpus);
  if (row.state === 'releasing') return enter(tx, row, 'released', null);
  await noteAllocation(tx, id, { reason: row.failure_reason, deadline_s: null });
  tellAllocation(tx, row, row.state, row.failure_reason);
};
