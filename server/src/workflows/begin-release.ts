/**
 * The two ways into cleanup: a release that somebody asked for, and provisioning that failed. Both end charging, stop
 * what has not begun and start the run that erases, in one transaction. Runs are locked before their allocation, as
 * workers lock them.
 */
import { type AllocationRow, findAllocation, lockAllocation } from '../db/allocation.ts';
import type { Tx } from '../db/client.ts';
import { lockLiveClaims } from '../db/lifecycle.ts';
import { cancelQueuedTasks } from '../db/node-task.ts';
import { closeUsage, lockOpenUsage } from '../db/usage.ts';
import { findLiveRun, requestCancel, type WorkflowRunRow } from '../db/workflow-run.ts';
import { billingEffect, isReleasable } from '../domain/allocation.ts';
import { usageCost } from '../domain/usage.ts';
import { conflict, notFound } from '../errors.ts';
import { enter, resumeCleanup, startCleaning } from './custody.ts';
import { signalRun, startRun } from './engine/run.ts';
import { provisionBaremetal } from './provision-baremetal.ts';
import { provisionSlice } from './provision-slice.ts';
import { RUNTIME_ABSENT, releaseAllocation } from './release-allocation.ts';

type Wake = () => void;

/** A live run is joined: one allocation is never cleaned by two. */
const startCleanup = (tx: Tx, row: AllocationRow, wake?: Wake): Promise<WorkflowRunRow> =>
  startRun(
    tx,
    {
      workflow: releaseAllocation,
      subject_id: row.id,
      organization_id: row.organization_id,
      project_id: row.project_id,
      correlation_id: row.correlation_id,
    },
    wake,
  );

const endCharging = async (tx: Tx, id: string): Promise<void> => {
  const open = await lockOpenUsage(tx, id);
  if (open !== undefined) await closeUsage(tx, open.id, usageCost(open, BigInt(open.micros)));
};

const cancelProvisioning = async (tx: Tx, row: AllocationRow, reason: string): Promise<void> => {
  const { name } = row.capacity_shape === 'gpu_slice' ? provisionSlice : provisionBaremetal;
  const run = await findLiveRun(tx, name, row.id);
  if (run !== undefined) await requestCancel(tx, run.id, reason);
};

export type Release = Readonly<{
  allocation_id: string;
  /** What the allocation's reason says; for everybody who may see it. */
  reason: string;
  /** Throws when it must not be released. Asked again once the row is locked. */
  check?: (row: AllocationRow) => void;
}>;

const assertReleasable = (row: AllocationRow, release: Release): void => {
  release.check?.(row);
  if (!isReleasable(row.state)) throw conflict(`The allocation is ${row.state}; there is nothing to release.`);
};

/** Accepts a release. Accepting it twice is accepting it once. */
export const beginRelease = async (tx: Tx, release: Release, wake?: Wake): Promise<void> => {
  const seen = await findAllocation(tx, release.allocation_id);
  if (seen === undefined) throw notFound('allocation');
  assertReleasable(seen, release);
  if (seen.state === 'requested' || seen.state === 'provisioning') await cancelProvisioning(tx, seen, release.reason);
  const row = await lockAllocation(tx, release.allocation_id);
  if (row === undefined) throw notFound('allocation');
  assertReleasable(row, release);
  if (row.state !== 'releasing') {
    await enter(tx, row, 'releasing', release.reason);
    if (billingEffect(row.state, 'releasing') === 'close') await endCharging(tx, row.id);
    await cancelQueuedTasks(tx, row.id, 'The allocation is being released.');
    await startCleaning(tx, row, release.reason);
  }
  await startCleanup(tx, row, wake);
};

/** Provisioning has failed: never charged, still held, cleaned up without being asked. */
export const failProvisioning = async (tx: Tx, id: string, reason: string, wake?: Wake): Promise<void> => {
  const row = await lockAllocation(tx, id);
  if (row?.state !== 'requested' && row?.state !== 'provisioning') return;
  await enter(tx, row, 'failed', reason);
  await cancelQueuedTasks(tx, id, reason);
  await startCleaning(tx, row, reason);
  await startCleanup(tx, row, wake);
};

export type Cleanup = Readonly<{ allocation_id: string; runtime_verified_absent: boolean }>;

/** Starts cleanup again where it was blocked, or helps the one under way. Frees nothing by itself. */
export const restartCleanup = async (tx: Tx, cleanup: Cleanup, wake?: Wake): Promise<void> => {
  const row = await lockAllocation(tx, cleanup.allocation_id);
  if (row === undefined) throw notFound('allocation');
  if (row.state !== 'releasing' && row.state !== 'release_failed' && row.state !== 'failed')
    throw conflict(`The allocation is ${row.state}; release it instead.`);
  if ((await lockLiveClaims(tx, row.id)).length === 0) throw conflict('Everything it held is clean already.');
  await resumeCleanup(tx, row.id);
  const run = await startCleanup(tx, row, wake);
  if (cleanup.runtime_verified_absent) await signalRun(tx, { run_id: run.id, name: RUNTIME_ABSENT }, wake);
};
