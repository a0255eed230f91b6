/**
 * The two ways into cleanup: a requested release, and failed provisioning. Both end charging, cancel tasks that have
 * not started and start the wiping run, in one transaction. Runs are locked before their allocation, as workers lock
 * them.
 */
import { type AllocationRow, lockAllocation } from '../db/allocation.ts';
import type { Tx } from '../db/client.ts';
import { lockLiveClaims } from '../db/lifecycle.ts';
import { lockSummary } from '../db/placement.ts';
import { cancelOwnRuns, enterCleanup } from '../db/statements/release.ts';
import { closeUsage, lockOpenUsage } from '../db/usage.ts';
import { billingEffect, STATE_DEADLINE_S, sourcesOf } from '../domain/allocation.ts';
import { forceReleaseRefusal } from '../domain/allocation-actions.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { cleanupRefusal } from '../domain/slot-actions.ts';
import { usageCost } from '../domain/usage.ts';
import { conflict, notFound } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { type Adopted, adoptHostGenerations } from './adopt-generation.ts';
import { allocationChanged, auditRun, resumeCleanup } from './allocation-transitions.ts';
import { newRun, runChanged, type StartRun, signalRun, startRun } from './engine/run.ts';
import { POWER_WORKFLOWS } from './power-slice.ts';
import { provisionBaremetal } from './provision-baremetal.ts';
import { provisionSlice } from './provision-slice.ts';
import { RUNTIME_ABSENT, releaseAllocation } from './release-allocation.ts';

/** Joins a live run: an allocation is never cleaned up by two. */
const cleanupOf = (row: AllocationRow): StartRun => ({
  workflow: releaseAllocation,
  subject_id: row.id,
  organization_id: row.organization_id,
  project_id: row.project_id,
  correlation_id: row.correlation_id,
});

const endCharging = async (tx: Tx, id: string): Promise<void> => {
  const open = await lockOpenUsage(tx, id);
  if (open !== undefined) tx.defer(closeUsage(tx, open.id, usageCost(open, BigInt(open.micros))));
};

type Entry = Readonly<{ to: 'releasing' | 'failed'; reason: string; task_reason: string }>;

/**
 * Moves a locked allocation into cleanup. The slots of a slice stay unschedulable, so only a whole node, whose
 * occupancy changes, updates the placement index.
 */
const startCleanup = async (tx: Tx, row: AllocationRow, entry: Entry): Promise<void> => {
  const nodeId = row.capacity_shape === 'baremetal' ? row.node_id : null;
  if (nodeId !== null) tx.defer(lockSummary(tx, nodeId));
  const run = newRun(cleanupOf(row));
  tx.defer(
    enterCleanup(tx, {
      allocation_id: row.id,
      from: sourcesOf(entry.to),
      deadline_s: STATE_DEADLINE_S[entry.to],
      ...entry,
      is_whole_node: nodeId !== null,
      run,
      events: [allocationChanged(row, entry.to, entry.reason), runChanged({ ...run, state: 'pending' })],
    }),
  );
  tx.wake();
  if (billingEffect(row.state, entry.to) === 'close') await endCharging(tx, row.id);
  if (nodeId !== null) await refreshSummary(tx, nodeId);
};

export type Release = Readonly<{
  allocation_id: string;
  /** The allocation's reason, for everyone who may see it. */
  reason: string;
  /** Throws when it must not be released. Called with the locked row. */
  check?: (row: AllocationRow) => void;
}>;

/** Accepts a release. Repeating it has no effect. */
export const startRelease = async (tx: Tx, release: Release): Promise<void> => {
  const { allocation_id, reason } = release;
  const power = Object.values(POWER_WORKFLOWS).map(({ name }) => name);
  const workflows = [provisionSlice.name, provisionBaremetal.name, ...power];
  const [, row] = await Promise.all([
    cancelOwnRuns(tx, { allocation_id, workflows, reason }),
    lockAllocation(tx, allocation_id),
  ]);
  if (row === undefined) throw notFound('allocation');
  release.check?.(row);
  const refusal = forceReleaseRefusal(row.state);
  if (refusal !== null && !refusal.is_done) throw conflict(refusal.reason);
  if (row.state === 'releasing') await startRun(tx, cleanupOf(row));
  else {
    const task_reason = 'The allocation is being released.';
    await startCleanup(tx, row, { to: 'releasing', reason, task_reason });
  }
};

/** Provisioning failed: never charged, still claimed, cleaned up automatically. */
export const failProvisioning = async (tx: Tx, id: string, reason: string): Promise<void> => {
  const row = await lockAllocation(tx, id);
  if (row?.state !== 'requested' && row?.state !== 'provisioning') return;
  auditRun(tx, row, 'fail', reason);
  await startCleanup(tx, row, { to: 'failed', reason, task_reason: reason });
};

export type Cleanup = Readonly<{
  allocation_id: string;
  runtime_verified_absent: boolean;
  /** Host generations that an operator confirmed after a restored backup. */
  adopted?: readonly Adopted[] | undefined;
}>;

/** Restarts a blocked cleanup, or signals the current one. Frees nothing. */
export const restartCleanup = async (tx: Tx, cleanup: Cleanup): Promise<void> => {
  const row = await lockAllocation(tx, cleanup.allocation_id);
  if (row === undefined) throw notFound('allocation');
  const refusal = cleanupRefusal(row.state);
  if (refusal !== null) throw conflict(refusal.reason);
  if ((await lockLiveClaims(tx, row.id)).length === 0) throw conflict(REFUSALS.nothing_to_clean);
  if (cleanup.adopted !== undefined) await adoptHostGenerations(tx, row, cleanup.adopted);
  await resumeCleanup(tx, row.id);
  const run = await startRun(tx, cleanupOf(row));
  if (cleanup.runtime_verified_absent) await signalRun(tx, { run_id: run.id, name: RUNTIME_ABSENT });
};
