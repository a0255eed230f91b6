/**
 * The transactions in which an allocation becomes active, cleanup is blocked or resumed, or wipe evidence is rejected.
 * Each may run twice: it reads the locked row first and does nothing if the state has moved on.
 */
import { invariant } from '@gpuaas/kit';
import { type AllocationRow, moveAllocation, noteAllocation } from '../db/allocation.ts';
import { insertSystemAudit, type SystemAction } from '../db/audit.ts';
import type { Tx } from '../db/client.ts';
import { lockLiveClaims, type Stay } from '../db/lifecycle.ts';
import { moveHeldNode } from '../db/node.ts';
import { cancelQueuedTasks, rejectTask } from '../db/node-task.ts';
import { insertOutboxEvent, type NewOutboxEvent } from '../db/outbox.ts';
import { lockSummary } from '../db/placement.ts';
import { findLastFailure } from '../db/run-task.ts';
import { moveHeldSlots } from '../db/slot-approval.ts';
import { insertProofAudit, insertWipeProof } from '../db/statements/prove.ts';
import { insertUsage } from '../db/usage.ts';
import { type AllocationState, billingEffect, isInCustody, STATE_DEADLINE_S, sourcesOf } from '../domain/allocation.ts';
import { blockedReason } from '../domain/cleanup-block.ts';
import { sourcesIn } from '../domain/moves.ts';
import { REASONS } from '../domain/reasons.ts';
import { slotMoves } from '../domain/slot-state.ts';
import type { WipeVerdict } from '../domain/wipe.ts';
import { refreshSummary } from '../placement/summary.ts';
import { grantsInstalledAtStart } from './access-grant.ts';
import type { JudgedWipe } from './allocation-steps.ts';
import { type Cause, lockChanging, lockStay, type StayRow, stayOf } from './stay.ts';

type ChangedAllocation = Pick<AllocationRow, 'id' | 'organization_id' | 'project_id' | 'name' | 'correlation_id'>;

export const allocationChanged = (
  row: ChangedAllocation,
  state: AllocationState,
  reason: string | null,
): NewOutboxEvent => ({
  event_type: 'allocation.changed',
  organization_id: row.organization_id,
  project_id: row.project_id,
  subject: row.id,
  correlation_id: row.correlation_id,
  data: { allocation_id: row.id, name: row.name, state, state_reason: reason },
});

const emitAllocation = (tx: Tx, row: ChangedAllocation, state: AllocationState, reason: string | null): void =>
  tx.defer(insertOutboxEvent(tx, allocationChanged(row, state, reason)));

/** Audits a change made by a run, in the tenant's chain. Deferred to the commit. */
export const auditRun = (tx: Tx, row: ChangedAllocation, action: string, reason: string | null): void =>
  tx.defer(insertSystemAudit(tx, runAudit(row, action, reason)));

/** The audit row of a proven cleanup. It repeats the hashes of the proofs, so it is sent after them. */
export const auditProven = (tx: Tx, row: ChangedAllocation, reason: string | null, task_id: string): void =>
  tx.defer(insertProofAudit(tx, runAudit(row, 'prove_cleanup', reason), { allocation_id: row.id, task_id }));

const runAudit = (row: ChangedAllocation, action: string, reason: string | null): SystemAction => ({
  organization_id: row.organization_id,
  project_id: row.project_id,
  action: `allocation.${action}`,
  target_kind: 'allocation',
  target_id: row.id,
  policy: 'workflow',
  correlation_id: row.correlation_id,
  metadata: { reason },
});

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
  emitAllocation(tx, row, to, reason);
};

/** Changes the claimed slots or node, with the node's row of the placement index locked before and rewritten after. */
const moveClaimed = async (tx: Tx, nodeId: string | null, change: () => Promise<unknown>): Promise<void> => {
  if (nodeId === null) return;
  await lockSummary(tx, nodeId);
  await change();
  await refreshSummary(tx, nodeId);
};

/** Everything claimed waits for a wipe. A bare-metal tenant could write to slots that were never reserved for it. */
const startCleaning = (tx: Tx, row: StayRow, reason: string): Promise<void> =>
  moveClaimed(tx, row.node_id, async () => {
    const from = sourcesIn(slotMoves, 'cleaning');
    const { allocation_id, node_id } = stayOf(row);
    await moveHeldSlots(tx, { allocation_id, node_id, from, to: 'cleaning', reason });
    await moveHeldNode(tx, { allocation_id, node_id, from: ['exclusive', 'cleanup_blocked'], to: 'cleaning' });
  });

/** Active and charged from now on. Does nothing if a release was accepted first. */
export const activateAllocation = async (tx: Tx, id: string, cause?: Cause): Promise<void> => {
  const row = await lockChanging(tx, id, cause);
  if (row?.state !== 'provisioning') return;
  const { allocation_id, node_id } = stayOf(row);
  // Neither reserved nor in-use slots are schedulable, so the placement index does not change.
  await Promise.all([
    enter(tx, row, 'active', null),
    billingEffect(row.state, 'active') === 'open' ? insertUsage(tx, id) : undefined,
    moveHeldSlots(tx, {
      ...{ allocation_id, node_id, reason: null },
      from: ['reserved'],
      to: 'in_use',
      event: 'provisioned',
    }),
    grantsInstalledAtStart(tx, { ...row, state: 'active', power_state: 'on' }),
  ]);
};

/** Blocks cleanup: claims stay, marked for an operator. An allocation that moved on is not touched. */
export const blockCleanup = async (tx: Tx, stay: Stay, reason: string, cause?: Cause): Promise<void> => {
  const { allocation_id: id, node_id, move_id } = stay;
  const row = await lockStay(tx, stay, cause);
  if (row === undefined || !isInCustody(row.state)) return;
  const claims = await lockLiveClaims(tx, stay);
  if (claims.length === 0) return;
  await cancelQueuedTasks(tx, stay, reason);
  const stateReason = blockedReason(id, reason, await findLastFailure(tx, stay));
  await moveClaimed(tx, node_id, async () => {
    const held = { allocation_id: id, node_id };
    const event = 'cleanup_blocked';
    await moveHeldSlots(tx, { ...held, from: ['cleaning'], to: event, reason: stateReason, event });
    await moveHeldNode(tx, { ...held, from: ['cleaning'], to: 'cleanup_blocked' });
  });
  auditRun(tx, row, 'block_cleanup', reason);
  if (move_id !== null) return;
  if (row.state === 'releasing') return enter(tx, row, 'release_failed', reason);
  await noteAllocation(tx, id, { reason, deadline_s: STATE_DEADLINE_S.release_failed });
  emitAllocation(tx, row, row.state, reason);
};

/** Resumes a blocked cleanup. Undefined when there is none. */
export const resumeCleanup = async (tx: Tx, stay: Stay, cause?: Cause): Promise<AllocationRow | undefined> => {
  const id = stay.allocation_id;
  const row = await lockStay(tx, stay, cause);
  if (row === undefined || !isInCustody(row.state)) return undefined;
  await startCleaning(tx, row, REASONS.cleanup_restarted);
  if (stay.move_id !== null) return row;
  if (row.state === 'release_failed') await enter(tx, row, 'releasing', null);
  else await noteAllocation(tx, id, { reason: 'Cleanup is running.', deadline_s: STATE_DEADLINE_S[row.state] });
  return row;
};

/** Why a wipe proves nothing, with the disk that is at fault if it is one. */
const rejectionOf = ({ reason, disks }: WipeVerdict): string => {
  const faulty = reason === null ? undefined : disks.find((disk) => disk.reason === reason);
  const text = reason ?? 'The wipe result is incomplete.';
  return faulty === undefined || faulty.target.serial === null ? text : `Disk ${faulty.target.serial}: ${text}`;
};

/** The evidence proves nothing. It is stored as such, and the task counts as failed. */
export const rejectProof = async (tx: Tx, stay: Stay, judged: JudgedWipe, cause?: Cause): Promise<void> => {
  const row = await lockStay(tx, stay, cause);
  if (row === undefined || !isInCustody(row.state)) return;
  for (const disk of judged.verdict.disks)
    tx.defer(
      insertWipeProof(tx, {
        node_id: judged.node_id,
        slot_id: disk.target.slot_id,
        allocation_id: row.id,
        task_id: judged.task_id,
        method: disk.method,
        // A wiped disk frees nothing while the network is still attached.
        is_verified: false,
        evidence: { ...disk.evidence, reason: disk.reason },
        correlation_id: row.correlation_id,
        organization_id: row.organization_id,
        project_id: row.project_id,
      }),
    );
  tx.defer(rejectTask(tx, judged.task_id, rejectionOf(judged.verdict)));
};
