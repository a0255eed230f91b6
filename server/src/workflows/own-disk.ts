/**
 * Makes a disk the platform's own: erased with proof, then discovered again. Nothing is erased while the host uses the
 * disk and nothing is ever unmounted; until it is free the ownership says what stands in the way, and it is looked at
 * again.
 */
import type { TaskOutput, WipeLevel } from '@gpuaas/contract/node';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import {
  type DiskOwnershipRow,
  declareDataDisk,
  findDiskUse,
  findOwnership,
  moveOwnership,
} from '../db/disk-ownership.ts';
import { findWipeMinimum } from '../db/node.ts';
import { cancelRunTasks, releaseRunTask } from '../db/node-task.ts';
import { lockSummary } from '../db/placement.ts';
import { insertWipeProof } from '../db/statements/prove.ts';
import { insertDiscoveryTask } from '../db/topology.ts';
import { whyNotErase } from '../domain/disk-use.ts';
import { judgeWipe } from '../domain/wipe.ts';
import type { StepOf } from '../domain/workflow-declaration.ts';
import { OWN_DISK } from '../domain/workflow-steps.ts';
import { notFound } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { type AskHost, createAskHost } from './ask-host.ts';
import { type Commit, done, next, stuck, wait, waitForSignal } from './engine/outcome.ts';
import { workflow } from './engine/workflow.ts';

export type DiskDeps = Readonly<{
  load(id: string): Promise<DiskOwnershipRow>;
  wipeMinimum(nodeId: string): Promise<WipeLevel>;
  ask: AskHost;
  /** How many tasks of the run a host is at all the same. */
  callOff(runId: string, reason: string): Promise<number>;
}>;

/** Nobody sends it yet: the time that passes is what is waited for. */
const LOOK_AGAIN = 'look_again';

const LOOK_AGAIN_MS = 30_000;
const DAYS_14_MS = 14 * 24 * 3_600_000;
const OPEN = ['approved', 'wiping', 'blocked'] as const;

const blockedReason = ({ blocked }: TaskOutput<'node.cleanup'>, serial: string): string | undefined =>
  blocked.find((one) => one.serial === serial)?.reason;

const blockedBy =
  (disk: DiskOwnershipRow, reason: string): Commit =>
  async (tx) => {
    await moveOwnership(tx, { id: disk.id, from: OPEN, to: 'blocked', reason });
  };

/**
 * Nothing is erased that somebody holds or may be given meanwhile. With the node's index row locked nobody is placed;
 * from then on the ownership says that a wipe is under way, and the node is not put back into use.
 */
const keptAwayFrom = async (tx: Tx, disk: DiskOwnershipRow): Promise<string | undefined> => {
  await lockSummary(tx, disk.node_id);
  const reason = whyNotErase(await findDiskUse(tx, disk.node_id, disk.serial));
  if (reason !== undefined) return reason;
  const wiping = await moveOwnership(tx, { id: disk.id, from: OPEN, to: 'wiping', reason: null });
  return wiping === undefined ? 'The approval was taken back.' : undefined;
};

const own = async (
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
  if ((await moveOwnership(tx, { id: disk.id, from: OPEN, to: 'owned', reason: null, wipe_proof_id })) === undefined)
    return;
  await declareDataDisk(tx, disk.node_id, { serial: disk.serial, device: disk.device });
  await refreshSummary(tx, disk.node_id);
};

export const ownDisk = workflow<DiskDeps, DiskOwnershipRow, StepOf<typeof OWN_DISK>>({
  declared: OWN_DISK,
  deadlineMs: DAYS_14_MS,
  onCancel: 'abort',
  onDeadline: 'abort',
  load: (deps, id) => deps.load(id),
  steps: {
    wipe: async (deps, disk, ctx) => {
      if (disk.state === 'revoked') return done();
      if (disk.state === 'owned') return next('rediscover');
      const answer = await deps.ask(ctx, {
        node_id: disk.node_id,
        kind: OWN_DISK.steps.wipe.task,
        params: {
          allocation_id: null,
          disks: [{ serial: disk.serial, device: disk.device }],
          slots: [],
          wipe_minimum: await deps.wipeMinimum(disk.node_id),
        },
        tries_max: Number.MAX_SAFE_INTEGER,
        doing: OWN_DISK.steps.wipe.doing,
        unless: (tx) => keptAwayFrom(tx, disk),
      });
      if (answer.kind === 'resting') return answer.outcome;
      if (answer.kind !== 'completed')
        return answer.kind === 'failed' ? stuck(answer.reason) : next('awaitFree', blockedBy(disk, answer.reason));
      const blocked = blockedReason(answer.output, disk.serial);
      if (blocked !== undefined)
        return next('awaitFree', async (tx) => {
          await blockedBy(disk, blocked)(tx);
          await releaseRunTask(tx, answer.task_id);
        });
      const target = { slot_id: null, serial: disk.serial, generation: null, gpu_pci_address: null };
      const verdict = judgeWipe(answer.output, [target], await deps.wipeMinimum(disk.node_id));
      const [evidence] = verdict.disks;
      if (verdict.is_verified && evidence !== undefined)
        return next('rediscover', (tx) =>
          own(tx, disk, { task_id: answer.task_id, method: evidence.method, evidence: evidence.evidence }),
        );
      return stuck(verdict.reason ?? 'The wipe could not be verified.');
    },
    awaitFree: async (_deps, disk, ctx) => {
      if (ctx.signals.take(LOOK_AGAIN) !== undefined || ctx.signals.timedOut(LOOK_AGAIN)) return next('wipe');
      return waitForSignal(LOOK_AGAIN, LOOK_AGAIN_MS, disk.state_reason ?? 'The disk is in use.');
    },
    rediscover: async (_deps, disk, ctx) =>
      done(async (tx) => {
        await insertDiscoveryTask(tx, disk.node_id, ctx.run.correlation_id);
      }),
    abort: async (deps, disk, ctx) => {
      const reason = 'It was given up before the disk was erased.';
      // What a host is doing already cannot be called back: until it has answered nobody is told that the disk is safe.
      if ((await deps.callOff(ctx.run.id, reason)) > 0) return wait(LOOK_AGAIN_MS, 'The host is erasing the disk.');
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
  ask: createAskHost(database),
  callOff: (runId, reason) => database.write(PLATFORM, (tx) => cancelRunTasks(tx, runId, reason)),
});
