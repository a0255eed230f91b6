/** The database behind the workflows of an allocation. Host tasks are rows; the host answers by finishing them. */
import { findAllocation, lockAllocation } from '../db/allocation.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { hasGpusMissing } from '../db/guest.ts';
import { findHeldNode, listHeldSlots } from '../db/lifecycle.ts';
import { findWipeMinimum } from '../db/node.ts';
import { cancelQueuedTasks, findRunTask } from '../db/node-task.ts';
import type { AllocationState } from '../domain/allocation.ts';
import { type CleanupOutput, judgeWipe, type WipeTarget } from '../domain/wipe.ts';
import { RELEASE_ALLOCATION } from '../domain/workflow-steps.ts';
import { notFound } from '../errors.ts';
import { type AllocationDeps, type TaskAnswer, type TaskAsk, TRIES_MAX } from './allocation-steps.ts';
import { taskParams } from './allocation-task.ts';
import {
  activateAllocation,
  auditRun,
  blockCleanup,
  CUSTODY_STATES,
  enter,
  rejectProof,
  resumeCleanup,
} from './allocation-transitions.ts';
import { ensureTask, type RetryDelay } from './ask-host.ts';
import { failProvisioning } from './begin-release.ts';
import { findMade } from './install.ts';
import { proveCleanup } from './prove-cleanup.ts';
import { settlePower } from './settle-power.ts';

const PHASES: Readonly<Record<TaskAsk['phase'], readonly AllocationState[]>> = {
  provisioning: ['requested', 'provisioning'],
  power: ['active'],
  custody: ['releasing', 'failed'],
};

/**
 * The task of this run. The allocation is locked meanwhile, so no task is ever queued for a phase that is over, and none
 * beside another that a host may still be working on.
 */
const ensureAllocationTask = async (tx: Tx, ask: TaskAsk, retryDelayMs: RetryDelay): Promise<TaskAnswer> => {
  const row = await lockAllocation(tx, ask.allocation_id);
  if (row === undefined || row.node_id === null || !PHASES[ask.phase].includes(row.state)) return { kind: 'gone' };
  if (ask.phase === 'power' && row.power_run_id !== ask.run_id) return { kind: 'gone' };
  const { node_id } = row;
  const answer = await ensureTask(tx, {
    ...ask,
    node_id,
    retryDelayMs,
    prepare: async () => {
      const [slots, node, wipe_minimum] = await Promise.all([
        listHeldSlots(tx, row.id),
        findHeldNode(tx, row.id),
        findWipeMinimum(tx, node_id),
      ]);
      if (slots.length === 0 && node === undefined) return { withheld: 'A proof has freed what was held.' };
      const made = await findMade(tx, row, ask);
      if (row.state === 'requested') await enter(tx, row, 'provisioning', null);
      return { params: taskParams(ask.kind, { slots, node, wipe_minimum, ...made }) };
    },
  });
  return answer.kind === 'withheld' ? { kind: 'gone' } : answer;
};

export const createAllocationDeps = (
  options: Readonly<{
    database: Database;
    wake?: () => void;
    /** How long the n-th failed cleanup task is let rest before the next. */
    retry_delay_ms?: RetryDelay;
  }>,
): AllocationDeps => {
  const { database, wake } = options;
  const retryDelayMs: RetryDelay = options.retry_delay_ms ?? ((tries) => 2_000 * 4 ** (tries - 1));

  return {
    load: async (id) => {
      const row = await database.read(PLATFORM, (reader) => findAllocation(reader, id));
      if (row === undefined) throw notFound('allocation');
      return row;
    },
    ensureTask: (ask) => database.write(PLATFORM, (tx) => ensureAllocationTask(tx, ask, retryDelayMs)),
    activate: (id) => (tx) => activateAllocation(tx, id, wake),
    fail: (id, reason) => (tx) => failProvisioning(tx, id, reason, wake),
    settlePower: (id, settle) => (tx) => settlePower(tx, id, settle, wake),
    isBlocked: (id) =>
      database.read(PLATFORM, async (reader) => {
        const [row, node, slots] = await Promise.all([
          findAllocation(reader, id),
          findHeldNode(reader, id),
          listHeldSlots(reader, id),
        ]);
        if (row === undefined || !CUSTODY_STATES.includes(row.state)) return false;
        if (row.state === 'release_failed') return true;
        return node?.occupancy === 'cleanup_blocked' || slots.some((slot) => slot.status === 'cleanup_blocked');
      }),
    // An operator who takes the cleanup up changes the reason that the failure left.
    isInDoubt: async ({ id, state, state_reason, failure_reason }) =>
      state === 'failed' &&
      state_reason === failure_reason &&
      (await database.read(PLATFORM, (reader) => hasGpusMissing(reader, id))),
    resume: (id) => async (tx) => {
      const row = await resumeCleanup(tx, id);
      if (row !== undefined) auditRun(tx, row, 'resume_cleanup', null);
    },
    withdrawTasks: (id, reason) => (tx) => cancelQueuedTasks(tx, id, reason),
    block: (id, reason) => (tx) => blockCleanup(tx, id, reason),
    judge: ({ id, ...allocation }, runId) =>
      database.read(PLATFORM, async (reader) => {
        const kind = RELEASE_ALLOCATION.steps.wipe.task[allocation.capacity_shape];
        const [task, node, slots] = await Promise.all([
          findRunTask(reader, runId, kind),
          findHeldNode(reader, id),
          listHeldSlots(reader, id),
        ]);
        if (task?.state !== 'completed') return undefined;
        const minimum = await findWipeMinimum(reader, task.node_id);
        const targets: WipeTarget[] = [
          ...slots.map((slot) => ({
            slot_id: slot.id,
            serial: slot.nvme_serial,
            generation: slot.generation,
            gpu_pci_address: slot.gpu_pci_address,
            fabric_vf_pci_address: slot.fabric_vf_pci_address,
          })),
          // A data disk that is a slot's own is proven with the slot.
          ...(node?.data_disks ?? [])
            .filter((disk) => !slots.some((slot) => slot.nvme_serial === disk.serial))
            .map((disk) => ({ slot_id: null, serial: disk.serial, generation: null, gpu_pci_address: null })),
        ];
        const verdict = judgeWipe(task.output as CleanupOutput | null, targets, minimum);
        return { task_id: task.id, node_id: task.node_id, verdict, may_try_again: task.tries < TRIES_MAX };
      }),
    prove: (id, judged) => (tx) => proveCleanup(tx, id, judged),
    reject: (id, judged) => (tx) => rejectProof(tx, id, judged),
  };
};
