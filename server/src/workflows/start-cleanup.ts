/**
 * The two ways into cleanup: a requested release, and failed provisioning. Both end charging, cancel tasks that have
 * not started and start the wiping run, in one transaction. Runs are locked before their allocation, as workers lock
 * them.
 */
import type { AllocationRow } from '../db/allocation.ts';
import { listLeftStays } from '../db/allocation-move.ts';
import type { Tx } from '../db/client.ts';
import { listHeldSlots, lockLiveClaims, type Stay } from '../db/lifecycle.ts';
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
import { TASK_FINISHED } from './host-task.ts';
import { POWER_WORKFLOWS } from './power-slice.ts';
import { provisionBaremetal } from './provision-baremetal.ts';
import { provisionSlice } from './provision-slice.ts';
import { cleanLeftHost, RUNTIME_ABSENT, releaseAllocation } from './release-allocation.ts';
import { type Cause, lockChanging, stayOf } from './stay.ts';

/** Joins a live run: an allocation is never cleaned up by two. */
const cleanupOf = (row: AllocationRow): StartRun => ({
  workflow: releaseAllocation,
  subject_id: row.id,
  ...ownerOf(row),
});

/** The cleanup of a host that a launch left is about the move. */
export const cleanupOfMove = (row: AllocationRow, moveId: string): StartRun => ({
  workflow: cleanLeftHost,
  subject_id: moveId,
  ...ownerOf(row),
});

const ownerOf = (row: AllocationRow): Pick<StartRun, 'organization_id' | 'project_id' | 'correlation_id'> => ({
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
const startCleanup = async (tx: Tx, row: AllocationRow, entry: Entry): Promise<string> => {
  const nodeId = row.capacity_shape === 'baremetal' ? row.node_id : null;
  if (nodeId !== null) tx.defer(lockSummary(tx, nodeId));
  const run = newRun(cleanupOf(row));
  tx.defer(
    enterCleanup(tx, {
      allocation_id: row.id,
      node_id: stayOf(row).node_id,
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
  return run.id;
};

export type Release = Readonly<{
  allocation_id: string;
  /** The allocation's reason, for everyone who may see it. */
  reason: string;
  /** The request; without one the release belongs to the launch. */
  cause?: Cause | undefined;
  /** Throws when it must not be released. Called with the locked row. */
  check?: (row: AllocationRow) => void;
}>;

/** Accepts a release and names the run that cleans up. Repeating it has no effect. */
export const startRelease = async (tx: Tx, release: Release): Promise<string> => {
  const { allocation_id, reason } = release;
  const power = Object.values(POWER_WORKFLOWS).map(({ name }) => name);
  const workflows = [provisionSlice.name, provisionBaremetal.name, ...power];
  const [, row] = await Promise.all([
    cancelOwnRuns(tx, { allocation_id, workflows, reason }),
    lockChanging(tx, allocation_id, release.cause),
  ]);
  if (row === undefined) throw notFound('allocation');
  release.check?.(row);
  const refusal = forceReleaseRefusal(row.state);
  if (refusal !== null && !refusal.is_done) throw conflict(refusal.reason);
  if (row.state === 'releasing') return (await startRun(tx, cleanupOf(row))).id;
  return startCleanup(tx, row, { to: 'releasing', reason, task_reason: 'The allocation is being released.' });
};

/** Provisioning failed: never charged, still claimed, cleaned up automatically. */
export const failProvisioning = async (tx: Tx, id: string, reason: string, cause?: Cause): Promise<void> => {
  const row = await lockChanging(tx, id, cause);
  if (row?.state !== 'requested' && row?.state !== 'provisioning') return;
  auditRun(tx, row, 'fail', reason);
  await startCleanup(tx, row, { to: 'failed', reason, task_reason: reason });
};

export type Cleanup = Readonly<{
  allocation_id: string;
  runtime_verified_absent: boolean;
  /** The request; without one the cleanup belongs to the launch. */
  cause?: Cause | undefined;
  /** Host generations that an operator confirmed after a restored backup. */
  adopted?: readonly Adopted[] | undefined;
}>;

/** Those of the confirmed generations that are about slots of this stay. */
const adoptedOn = async (tx: Tx, stay: Stay, adopted: readonly Adopted[]): Promise<readonly Adopted[] | undefined> => {
  const slots = adopted.length === 0 ? [] : await listHeldSlots(tx, stay);
  const own = adopted.filter(({ slot_id }) => slots.some(({ id }) => id === slot_id));
  return own.length === 0 ? undefined : own;
};

const restart = async (tx: Tx, stay: Stay, run: StartRun, cleanup: Cleanup): Promise<string> => {
  if (cleanup.adopted !== undefined) await adoptHostGenerations(tx, stay, cleanup.adopted);
  await resumeCleanup(tx, stay, cleanup.cause);
  const { id: run_id } = await startRun(tx, run);
  if (cleanup.runtime_verified_absent) {
    await signalRun(tx, { run_id, name: RUNTIME_ABSENT });
    // The run may be waiting for its stop task.
    await signalRun(tx, { run_id, name: TASK_FINISHED });
  }
  return run_id;
};

/**
 * Restarts blocked cleanups, or signals the current ones, and names the run of the first: of the allocation, and of the
 * hosts that its launch left. Frees nothing.
 */
export const restartCleanup = async (tx: Tx, cleanup: Cleanup): Promise<string> => {
  const row = await lockChanging(tx, cleanup.allocation_id, cleanup.cause);
  if (row === undefined) throw notFound('allocation');
  const left = await listLeftStays(tx, row.id);
  const refusal = cleanupRefusal(row.state);
  if (refusal !== null && left.length === 0) throw conflict(refusal.reason);
  const isHeld = refusal === null && (await lockLiveClaims(tx, stayOf(row))).length > 0;
  const own = isHeld ? [{ stay: stayOf(row), run: cleanupOf(row) }] : [];
  const others = left.map((stay) => ({ stay, run: cleanupOfMove(row, stay.move_id ?? '') }));
  const runs: string[] = [];
  const all = [...own, ...others];
  for (const { stay, run } of all) {
    const adopted = all.length === 1 ? cleanup.adopted : await adoptedOn(tx, stay, cleanup.adopted ?? []);
    runs.push(await restart(tx, stay, run, { ...cleanup, adopted }));
  }
  const [first] = runs;
  if (first === undefined) throw conflict(REFUSALS.nothing_to_clean);
  return first;
};
