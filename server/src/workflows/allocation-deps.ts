/** The database operations behind the workflows of an allocation. Host tasks are rows, which agents complete. */
import { FABRIC_PROVIDERS } from '@gpuaas/contract';
import { findAllocation } from '../db/allocation.ts';
import { findMove } from '../db/allocation-move.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { hasGpusMissing } from '../db/guest.ts';
import { findHeldNode, listHeldSlots } from '../db/lifecycle.ts';
import { findFabricIsolation, findWipeMinimum } from '../db/node-region.ts';
import { cancelQueuedTasks } from '../db/node-task.ts';
import { findRunTask } from '../db/run-task.ts';
import { findUserData } from '../db/user-data.ts';
import { type AllocationState, isInCustody } from '../domain/allocation.ts';
import { REASONS } from '../domain/reasons.ts';
import { type CleanupOutput, judgeWipe, type WipeTarget } from '../domain/wipe.ts';
import { RELEASE_ALLOCATION } from '../domain/workflow-steps.ts';
import { notFound } from '../errors.ts';
import {
  type AllocationDeps,
  type AllocationTaskProgress,
  type AllocationTaskRequest,
  TRIES_MAX,
} from './allocation-steps.ts';
import { taskParams, taskUserData } from './allocation-task.ts';
import {
  activateAllocation,
  auditRun,
  blockCleanup,
  enter,
  rejectProof,
  resumeCleanup,
} from './allocation-transitions.ts';
import { finishPowerChange } from './finish-power-change.ts';
import { ensureTask, type RetryDelay } from './host-task.ts';
import { findInstallInputs } from './install.ts';
import { moveLaunch, whyNotMove } from './move-launch.ts';
import { proveCleanup } from './prove-cleanup.ts';
import { failProvisioning } from './start-cleanup.ts';
import { lockStay, rowOfMove, stayOf } from './stay.ts';

const PHASES: Readonly<Record<AllocationTaskRequest['phase'], readonly AllocationState[]>> = {
  provisioning: ['requested', 'provisioning'],
  power: ['active'],
  custody: ['releasing', 'failed'],
};

/**
 * The task of this run. The allocation is locked, so no task is queued for a phase that has ended, or while a host may
 * still run another task of it.
 */
const ensureAllocationTask = async (
  tx: Tx,
  request: AllocationTaskRequest,
  retryDelayMs: RetryDelay,
): Promise<AllocationTaskProgress> => {
  const { stay, ...task } = request;
  const row = await lockStay(tx, stay);
  if (row === undefined || row.node_id === null || !PHASES[request.phase].includes(row.state)) return { kind: 'gone' };
  if (request.phase === 'power' && row.power_run_id !== request.run_id) return { kind: 'gone' };
  const { node_id } = row;
  const progress = await ensureTask(tx, {
    ...task,
    allocation_id: row.id,
    node_id,
    retryDelayMs,
    prepare: async () => {
      const [slots, node, wipe_minimum, fabric, install] = await Promise.all([
        listHeldSlots(tx, { allocation_id: row.id, node_id }),
        findHeldNode(tx, { allocation_id: row.id, node_id }),
        findWipeMinimum(tx, node_id),
        findFabricIsolation(tx, node_id),
        findInstallInputs(tx, row, request),
      ]);
      if (slots.length === 0 && node === undefined)
        return { skip: 'The wipe is verified and the claims are released.' };
      if (row.state === 'requested') await enter(tx, row, 'provisioning', null);
      const isolates_fabric = FABRIC_PROVIDERS[fabric].isolates;
      return {
        params: taskParams(request.kind, { slots, node, wipe_minimum, isolates_fabric, ...install }),
        sealed_user_data: taskUserData(request.kind, install),
      };
    },
  });
  return progress.kind === 'skipped' ? { kind: 'gone' } : progress;
};

export const createAllocationDeps = (
  options: Readonly<{
    database: Database;
    /** Delay after the n-th failed cleanup task. */
    retry_delay_ms?: RetryDelay;
  }>,
): AllocationDeps => {
  const { database } = options;
  const retryDelayMs: RetryDelay = options.retry_delay_ms ?? ((tries) => 2_000 * 4 ** (tries - 1));

  return {
    load: async (id) => {
      const row = await database.readAtOnce(PLATFORM, (reader) => findAllocation(reader, id));
      if (row === undefined) throw notFound('allocation');
      return row;
    },
    loadLeft: (moveId) =>
      database.read(PLATFORM, async (reader) => {
        const move = await findMove(reader, moveId);
        if (move === undefined) throw notFound('move');
        const row = await findAllocation(reader, move.allocation_id);
        if (row === undefined) throw notFound('allocation');
        return rowOfMove(row, move);
      }),
    ensureTask: (request) => database.write(PLATFORM, (tx) => ensureAllocationTask(tx, request, retryDelayMs)),
    activate: (id) => (tx, run) => activateAllocation(tx, id, run),
    fail: (id, reason) => (tx, run) => failProvisioning(tx, id, reason, run),
    whyNotMove: (allocation, failure) => database.read(PLATFORM, (reader) => whyNotMove(reader, allocation, failure)),
    move: (id, failure) => (tx, run) => moveLaunch(tx, id, failure, run),
    finishPowerChange: (id, end) => (tx) => finishPowerChange(tx, id, end),
    isBlocked: (stay) =>
      database.readAtOnce(PLATFORM, async (reader) => {
        const [row, node, slots] = await Promise.all([
          findAllocation(reader, stay.allocation_id),
          findHeldNode(reader, stay),
          listHeldSlots(reader, stay),
        ]);
        if (row === undefined) return false;
        if (stay.move_id === null && !isInCustody(row.state)) return false;
        if (stay.move_id === null && row.state === 'release_failed') return true;
        return node?.occupancy === 'cleanup_blocked' || slots.some((slot) => slot.status === 'cleanup_blocked');
      }),
    // An operator who resumes the cleanup changes the reason that the failure left.
    isUnderReview: async (row) => {
      if (row.state !== 'failed') return false;
      return database.read(PLATFORM, async (reader) => {
        if (!(await hasGpusMissing(reader, stayOf(row)))) return false;
        // With user data the report is the tenant's word. Such a launch never moves on it, and later user data is not its own.
        if (stayOf(row).move_id === null)
          return row.state_reason === row.failure_reason && (await findUserData(reader, row.id)) === null;
        const slots = await listHeldSlots(reader, stayOf(row));
        return slots.every(({ status_reason }) => status_reason !== REASONS.cleanup_restarted);
      });
    },
    resume: (stay) => async (tx, run) => {
      const row = await resumeCleanup(tx, stay, run);
      if (row !== undefined) auditRun(tx, row, 'resume_cleanup', null);
    },
    withdrawTasks: (stay, reason) => (tx) => cancelQueuedTasks(tx, stay, reason),
    block: (stay, reason) => (tx, run) => blockCleanup(tx, stay, reason, run),
    judge: (allocation, run_id) =>
      database.read(PLATFORM, async (reader) => {
        const kind = RELEASE_ALLOCATION.steps.wipe.task[allocation.capacity_shape];
        const stay = stayOf(allocation);
        const [task, node, slots] = await Promise.all([
          findRunTask(reader, { run_id, node_id: stay.node_id, kind }),
          findHeldNode(reader, stay),
          listHeldSlots(reader, stay),
        ]);
        if (task?.state !== 'completed') return undefined;
        const minimum = await findWipeMinimum(reader, task.node_id);
        const targets: WipeTarget[] = [
          ...slots.map((slot) => ({
            slot_id: slot.id,
            serial: slot.nvme_serial,
            generation: slot.generation,
            size_bytes: slot.nvme_size_bytes,
            gpu_pci_address: slot.gpu_pci_address,
            fabric_vf_pci_address: slot.fabric_vf_pci_address,
          })),
          // A data disk that belongs to a slot is proven with the slot.
          ...(node?.data_disks ?? [])
            .filter((disk) => !slots.some((slot) => slot.nvme_serial === disk.serial))
            .map((disk) => ({
              slot_id: null,
              serial: disk.serial,
              generation: null,
              size_bytes: disk.size_bytes,
              gpu_pci_address: null,
            })),
        ];
        const verdict = judgeWipe(task.output as CleanupOutput | null, targets, {
          minimum,
          created_at: task.created_at,
        });
        return { task_id: task.id, node_id: task.node_id, verdict, may_try_again: task.tries < TRIES_MAX };
      }),
    prove: (stay, judged) => (tx, run) => proveCleanup(tx, stay, judged, run),
    reject: (stay, judged) => (tx, run) => rejectProof(tx, stay, judged, run),
  };
};
