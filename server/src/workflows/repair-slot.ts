/**
 * Repairs an unclaimed slot. A slot that was approved just now enters at the wipe, its first. The slot cannot be claimed meanwhile; its devices are rebound, the host is discovered
 * again, the disk is wiped and the GPU reset. The proof makes the slot available again, with its approval if the
 * hardware is unchanged; otherwise it stays unschedulable until an operator approves the new hardware. A slot that an
 * operator quarantined meanwhile stays so.
 */
import type { WipeLevel } from '@gpuaas/contract/node';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { wantReboot } from '../db/node.ts';
import { findPrivateNetwork, findWipeMinimum } from '../db/node-region.ts';
import { lockSummary } from '../db/placement.ts';
import { findRepairSlot, type RepairSlot } from '../db/slot.ts';
import { findDevices, isRepairable, lockQuarantineReason, restoreSlot, type SlotAsRead } from '../db/slot-approval.ts';
import { insertWipeProof } from '../db/statements/prove.ts';
import { insertDiscoveryTask } from '../db/topology.ts';
import { REASONS } from '../domain/reasons.ts';
import { CLEANUP_RUN_DEADLINE_MS, CLEANUP_TRIES_MAX } from '../domain/task-limit.ts';
import { judgeWipe } from '../domain/wipe.ts';
import type { StepOf } from '../domain/workflow-declaration.ts';
import { REPAIR_SLOT } from '../domain/workflow-steps.ts';
import { conflict, notFound } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { endElsewhere } from './device-proofs.ts';
import { done, next, stuck } from './engine/outcome.ts';
import { workflow } from './engine/workflow.ts';
import { createRunHostTask, type RunHostTask } from './host-task.ts';

export type RepairDeps = Readonly<{
  load(slotId: string): Promise<RepairSlot>;
  privateNetwork(nodeId: string): Promise<string>;
  wipeMinimum(nodeId: string): Promise<WipeLevel>;
  runTask: RunHostTask;
}>;
const { rebind, rediscover, wipe } = REPAIR_SLOT.steps;

const asRead = ({ task_slot: { slot_id: id, generation, nvme_serial } }: RepairSlot): SlotAsRead => ({
  id,
  generation,
  nvme_serial,
});

/** A retried old run must not reach the devices of a tenant who got the slot since. */
const reserveForWipe = async (tx: Tx, slot: RepairSlot): Promise<string | undefined> => {
  await lockSummary(tx, slot.node_id);
  return (await isRepairable(tx, asRead(slot)))
    ? undefined
    : 'The slot is no longer quarantined, has other devices, or an allocation holds them elsewhere. Review it again.';
};

const restore = async (
  tx: Tx,
  slot: RepairSlot,
  proof: Readonly<{
    task_id: string;
    method: string;
    evidence: Readonly<Record<string, unknown>>;
    correlation_id: string;
  }>,
): Promise<void> => {
  await lockSummary(tx, slot.node_id);
  const wipe_proof_id = await insertWipeProof(tx, {
    node_id: slot.node_id,
    slot_id: slot.task_slot.slot_id,
    allocation_id: null,
    disk_serial: slot.task_slot.nvme_serial,
    is_verified: true,
    ...proof,
  });
  const reason = await lockQuarantineReason(tx, slot.task_slot.slot_id);
  const status = reason === null ? 'available' : 'quarantined';
  if (!(await restoreSlot(tx, asRead(slot), { wipe_proof_id, status, reason })))
    throw conflict('The slot was allocated or got other devices during the repair.');
  await endElsewhere(tx, slot.node_id, await findDevices(tx, slot.task_slot.slot_id));
  // A discovery from before the wipe still shows the old content of the disk; one that was approved found none.
  if (!slot.is_first) await insertDiscoveryTask(tx, slot.node_id, proof.correlation_id);
  await refreshSummary(tx, slot.node_id);
};

export const repairSlot = workflow<RepairDeps, RepairSlot, StepOf<typeof REPAIR_SLOT>>({
  declared: REPAIR_SLOT,
  deadlineMs: CLEANUP_RUN_DEADLINE_MS,
  load: (deps, id) => deps.load(id),
  steps: {
    rebind: async (deps, slot, ctx) => {
      const result = await deps.runTask(ctx, {
        node_id: slot.node_id,
        kind: rebind.task,
        params: { rebind: [slot.task_slot] },
        tries_max: CLEANUP_TRIES_MAX,
        doing: rebind.doing,
        unless: (tx) => reserveForWipe(tx, slot),
      });
      if (result.kind === 'waiting') return result.outcome;
      return result.kind !== 'completed' ? stuck(result.reason) : next('rediscover');
    },
    rediscover: async (deps, slot, ctx) => {
      const result = await deps.runTask(ctx, {
        node_id: slot.node_id,
        kind: rediscover.task,
        params: { accelerators: [], private_network: await deps.privateNetwork(slot.node_id) },
        tries_max: CLEANUP_TRIES_MAX,
        doing: rediscover.doing,
      });
      if (result.kind === 'waiting') return result.outcome;
      return result.kind !== 'completed' ? stuck(result.reason) : next('wipe');
    },
    wipe: async (deps, slot, ctx) => {
      const result = await deps.runTask(ctx, {
        node_id: slot.node_id,
        kind: wipe.task,
        params: {
          allocation_id: null,
          disks: [],
          slots: [slot.task_slot],
          wipe_minimum: await deps.wipeMinimum(slot.node_id),
        },
        tries_max: CLEANUP_TRIES_MAX,
        doing: wipe.doing,
        unless: (tx) => reserveForWipe(tx, slot),
      });
      if (result.kind === 'waiting') return result.outcome;
      if (result.kind !== 'completed') return stuck(result.reason);
      const { nvme_serial: serial, ...of } = slot.task_slot;
      const target = { ...of, serial, size_bytes: slot.nvme_size_bytes };
      const { created_at } = result;
      const minimum = await deps.wipeMinimum(slot.node_id);
      const verdict = judgeWipe(result.output, [target], { minimum, created_at });
      const [disk] = verdict.disks;
      if (!verdict.is_verified || disk === undefined) return stuck(verdict.reason ?? 'The wipe could not be verified.');
      if (!disk.is_gpu_reset)
        return stuck(`${REASONS.gpu_not_reset} Then retry.`, (tx) =>
          wantReboot(tx, slot.node_id, REASONS.reboot_for_gpu),
        );
      const { correlation_id } = ctx.run;
      return done((tx) =>
        restore(tx, slot, { task_id: result.task_id, method: disk.method, evidence: disk.evidence, correlation_id }),
      );
    },
  },
});

export const createRepairDeps = (database: Database): RepairDeps => ({
  load: async (slotId) => {
    const slot = await database.read(PLATFORM, (reader) => findRepairSlot(reader, slotId));
    if (slot === undefined) throw notFound('slot');
    return slot;
  },
  privateNetwork: (nodeId) => database.read(PLATFORM, (reader) => findPrivateNetwork(reader, nodeId)),
  wipeMinimum: (nodeId) => database.read(PLATFORM, (reader) => findWipeMinimum(reader, nodeId)),
  runTask: createRunHostTask(database),
});
