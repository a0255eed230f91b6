/**
 * Wipes an approved disk with proof, then starts a new discovery. A disk that the host uses is neither wiped nor
 * unmounted: the ownership states the blocker, and the run checks again after growing pauses. A wipe that fails in all
 * its tries, or whose disk never becomes free, leaves the ownership `blocked` with the reason and the way to start again.
 */
import { OPEN_DISK_APPROVAL_STATES } from '@gpuaas/contract';
import type { TaskOutput, WipeLevel } from '@gpuaas/contract/node';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { type DiskOwnershipRow, findDiskUse, findOwnership, moveOwnership } from '../db/disk-ownership.ts';
import { declareDataDisk } from '../db/node.ts';
import { findWipeMinimum } from '../db/node-region.ts';
import { cancelRunTasks, releaseRunTask } from '../db/node-task.ts';
import { lockSummary } from '../db/placement.ts';
import { insertWipeProof } from '../db/statements/prove.ts';
import { insertDiscoveryTask } from '../db/topology.ts';
import { recheckDiskMs, whyNotErase } from '../domain/disk-use.ts';
import { judgeWipe } from '../domain/wipe.ts';
import type { StepOf } from '../domain/workflow-declaration.ts';
import { WIPE_DISK } from '../domain/workflow-steps.ts';
import { notFound } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { dataDisk, endElsewhere } from './device-proofs.ts';
import { type Commit, done, next, stuck, waitForSignal } from './engine/outcome.ts';
import { workflow } from './engine/workflow.ts';
import { consumeTaskSignal, createRunHostTask, type RunHostTask, waitForTask } from './host-task.ts';

export type DiskDeps = Readonly<{
  load(id: string): Promise<DiskOwnershipRow>;
  wipeMinimum(nodeId: string): Promise<WipeLevel>;
  runTask: RunHostTask;
  /** Returns the number of tasks of the run that a host already runs. */
  cancelTasks(runId: string, reason: string): Promise<number>;
}>;

/** Never sent yet: the wait ends by its timeout. */
const RECHECK = 'recheck_disk';

/** With the growing pauses of `createRunHostTask` between them. */
const TRIES_MAX = 10;
const DAYS_14_MS = 14 * 24 * 3_600_000;

const blockedReason = ({ blocked }: TaskOutput<'node.cleanup'>, serial: string): string | undefined =>
  blocked.find((one) => one.serial === serial)?.reason;

const blockedBy =
  (disk: DiskOwnershipRow, reason: string): Commit =>
  async (tx) => {
    await moveOwnership(tx, { id: disk.id, from: OPEN_DISK_APPROVAL_STATES, to: 'blocked', reason });
  };

/** The ownership no longer claims that a wipe is in progress, so it can also be revoked. */
const blockAndStop = (disk: DiskOwnershipRow, reason: string, runId: string) =>
  stuck(reason, blockedBy(disk, `${reason} Fix the cause, then run: gpuaas admin workflow-run retry ${runId}`));

/** A disk that was claimed after this approval is not wiped for it: its host refuses. */
const generationOf = ({ created_at }: DiskOwnershipRow): number => Math.floor(Date.parse(created_at) / 1000);

/**
 * A disk that is claimed or could be claimed meanwhile is not wiped. With the node's index row locked nothing is
 * placed; after that the ownership states that a wipe is in progress, and the node is not resumed.
 */
const reserveForWipe = async (tx: Tx, disk: DiskOwnershipRow): Promise<string | undefined> => {
  await lockSummary(tx, disk.node_id);
  const reason = whyNotErase(await findDiskUse(tx, disk.node_id, disk.serial));
  if (reason !== undefined) return reason;
  const wiping = await moveOwnership(tx, { id: disk.id, from: OPEN_DISK_APPROVAL_STATES, to: 'wiping', reason: null });
  return wiping === undefined ? 'The approval was revoked.' : undefined;
};

const recordWiped = async (
  tx: Tx,
  disk: DiskOwnershipRow,
  proof: Readonly<{ task_id: string; method: string; evidence: Readonly<Record<string, unknown>> }>,
): Promise<void> => {
  await lockSummary(tx, disk.node_id);
  const wipe_proof_id = await insertWipeProof(tx, {
    node_id: disk.node_id,
    slot_id: null,
    allocation_id: null,
    disk_serial: disk.serial,
    task_id: proof.task_id,
    method: proof.method,
    is_verified: true,
    evidence: proof.evidence,
    correlation_id: disk.correlation_id,
  });
  if (
    (await moveOwnership(tx, {
      id: disk.id,
      from: OPEN_DISK_APPROVAL_STATES,
      to: 'owned',
      reason: null,
      wipe_proof_id,
    })) === undefined
  )
    return;
  await endElsewhere(tx, disk.node_id, dataDisk(disk));
  await declareDataDisk(tx, disk.node_id, { serial: disk.serial, device: disk.device, size_bytes: disk.size_bytes });
  await refreshSummary(tx, disk.node_id);
};

export const wipeDisk = workflow<DiskDeps, DiskOwnershipRow, StepOf<typeof WIPE_DISK>>({
  declared: WIPE_DISK,
  deadlineMs: DAYS_14_MS,
  onCancel: 'abort',
  onDeadline: 'abort',
  load: (deps, id) => deps.load(id),
  steps: {
    wipe: async (deps, disk, ctx) => {
      if (disk.state === 'revoked') return done();
      if (disk.state === 'owned') return next('rediscover');
      const result = await deps.runTask(ctx, {
        node_id: disk.node_id,
        kind: WIPE_DISK.steps.wipe.task,
        params: {
          allocation_id: null,
          disks: [{ serial: disk.serial, device: disk.device, generation: generationOf(disk) }],
          slots: [],
          wipe_minimum: await deps.wipeMinimum(disk.node_id),
        },
        tries_max: TRIES_MAX,
        doing: WIPE_DISK.steps.wipe.doing,
        unless: (tx) => reserveForWipe(tx, disk),
      });
      if (result.kind === 'waiting') return result.outcome;
      if (result.kind !== 'completed')
        return result.kind === 'failed'
          ? blockAndStop(disk, `The wipe did not succeed in ${TRIES_MAX} tries. ${result.reason}`, ctx.run.id)
          : next('awaitFree', blockedBy(disk, result.reason));
      const blocked = blockedReason(result.output, disk.serial);
      if (blocked !== undefined)
        return next('awaitFree', async (tx, run) => {
          await blockedBy(disk, blocked)(tx, run);
          await releaseRunTask(tx, result.task_id);
        });
      const { serial, size_bytes } = disk;
      const target = { slot_id: null, serial, generation: null, size_bytes, gpu_pci_address: null };
      const { created_at } = result;
      const minimum = await deps.wipeMinimum(disk.node_id);
      const verdict = judgeWipe(result.output, [target], { minimum, created_at });
      const [evidence] = verdict.disks;
      if (verdict.is_verified && evidence !== undefined)
        return next('rediscover', (tx) =>
          recordWiped(tx, disk, { task_id: result.task_id, method: evidence.method, evidence: evidence.evidence }),
        );
      return blockAndStop(disk, verdict.reason ?? 'The wipe could not be verified.', ctx.run.id);
    },
    awaitFree: async (_deps, disk, ctx) => {
      if (ctx.signals.take(RECHECK) !== undefined || ctx.signals.timedOut(RECHECK)) return next('wipe');
      const pauseMs = recheckDiskMs(Date.now() - Date.parse(disk.created_at));
      return waitForSignal(RECHECK, pauseMs, disk.state_reason ?? 'The disk is in use.');
    },
    rediscover: async (_deps, disk, ctx) =>
      done(async (tx) => {
        await insertDiscoveryTask(tx, disk.node_id, ctx.run.correlation_id);
      }),
    abort: async (deps, disk, ctx) => {
      const reason =
        'The run ended before the disk was wiped. Revoke the approval and approve the disk again to restart it.';
      // A task that runs cannot be cancelled: until its result the disk does not count as safe.
      consumeTaskSignal(ctx);
      if ((await deps.cancelTasks(ctx.run.id, reason)) > 0)
        return waitForTask({ kind: 'open' }, 'The agent is wiping the disk.');
      return done(blockedBy(disk, reason));
    },
  },
});

export const createDiskDeps = (database: Database): DiskDeps => ({
  load: async (id) => {
    const disk = await database.read(PLATFORM, (reader) => findOwnership(reader, id));
    if (disk === undefined) throw notFound('disk ownership');
    return disk;
  },
  wipeMinimum: (nodeId) => database.read(PLATFORM, (reader) => findWipeMinimum(reader, nodeId)),
  runTask: createRunHostTask(database),
  cancelTasks: (runId, reason) => database.write(PLATFORM, (tx) => cancelRunTasks(tx, runId, reason)),
});
