/**
 * The lifecycle of an allocation: launched, active, released, wiped with proof. Charging starts with activation and
 * ends with the release request; a failure before activation costs nothing.
 */

import { STATE_DEADLINE_S } from '../../../server/src/domain/allocation.ts';
import { blockedReason } from '../../../server/src/domain/cleanup-block.ts';
import { REASONS } from '../../../server/src/domain/reasons.ts';
import { PROVISION_SLICE } from '../../../server/src/domain/workflow-steps.ts';
import type { Allocation, Run, Slot } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { say } from './log.ts';
import { lastHostStep, lastStep } from './paths.ts';
import { cancelRun, type Failing, type RunPlan, startRun } from './run.ts';
import { addProof, moveSlot } from './slots.ts';
import { costMinor } from './usage.ts';

const NOT_READY: Omit<Failing, 'step'> = {
  reason: PROVISION_SLICE.steps.awaitSsh.failed,
  error_code: 'readiness_timeout',
};
const NOT_PROVEN: Failing = {
  step: lastStep('release-allocation'),
  reason: REASONS.wipe_unverified,
  error_code: 'wipe_unproven',
};

export const moveAllocation = (
  world: World,
  row: Allocation,
  state: Allocation['state'],
  reason: string | null = null,
  correlation_id = row.correlation_id,
): void => {
  row.state = state;
  row.state_reason = reason;
  row.state_since = world.ago();
  const limit = STATE_DEADLINE_S[state];
  row.state_deadline_at = limit === null ? null : world.ago(-limit * 1000);
  world.emit('allocation.changed', {
    subject: row.id,
    organization_id: row.organization_id,
    project_id: row.project_id,
    correlation_id,
    data: { allocation_id: row.id, name: row.name, state, state_reason: reason },
  });
};

export const heldSlots = (world: World, row: Allocation): readonly Slot[] =>
  row.slot_ids.flatMap((id) => world.slots.get(id) ?? []);

const planOf = (row: Allocation, correlation_id = row.correlation_id): Omit<RunPlan, 'path' | 'onDone'> => ({
  subject_id: row.id,
  organization_id: row.organization_id,
  project_id: row.project_id,
  correlation_id,
  node_id: row.node_id,
  allocation_id: row.id,
});

/** Claims the slots: from here on no other allocation gets them. */
export const claimSlots = (world: World, row: Allocation, slots: readonly Slot[], status: Slot['status']): void => {
  const isWhole = row.capacity_shape === 'baremetal';
  const claim = (slot_id: string | null, gpu_count: number) =>
    world.claims.push({
      id: world.mint('claim', Date.parse(row.created_at)),
      allocation_id: row.id,
      claim_kind: isWhole ? 'node_exclusive' : 'slot',
      node_id: row.node_id ?? '',
      slot_id,
      gpu_count,
      created_at: row.created_at,
      released_at: null,
      wipe_proof_id: null,
    });
  if (isWhole) {
    claim(null, row.gpu_count);
    world.exclusive.add(row.node_id ?? '');
  }
  for (const slot of slots) {
    if (!isWhole) claim(slot.id, 1);
    moveSlot(world, slot, status);
    slot.allocation_id = row.id;
    slot.last_claimed_at = row.created_at;
  }
  row.slot_ids = slots.map(({ id }) => id);
};

const setSlots = (world: World, row: Allocation, status: Slot['status'], reason: string | null = null): void => {
  for (const slot of heldSlots(world, row)) moveSlot(world, slot, status, reason);
};

export const activate = (world: World, row: Allocation): void => {
  const now = world.ago();
  row.run_id = null;
  row.activated_at = now;
  row.release_at = row.max_duration_s === null ? null : world.ago(-row.max_duration_s * 1000);
  if (row.capacity_shape === 'gpu_slice')
    row.power = { state: 'on', reason: null, since: now, workflow_run_id: null, is_charged: true, install_number: 0 };
  setSlots(world, row, 'in_use');
  world.usage.push({
    id: world.mint('usage_record'),
    project_id: row.project_id,
    allocation_id: row.id,
    sku_name: row.sku_name,
    gpu_count: row.gpu_count,
    gpu_hourly_price: row.placement.gpu_hourly_price,
    started_at: now,
    ended_at: null,
    cost_minor: null,
  });
  moveAllocation(world, row, 'active');
  planRelease(world, row);
};

/** A maximum duration releases automatically. */
export const planRelease = (world: World, row: Allocation): void => {
  if (row.release_at === null) return;
  const wanted = row.release_at;
  world.agenda.after(Math.max(0, Date.parse(wanted) - world.now()), () => {
    if (row.state === 'active' && row.release_at === wanted) startRelease(world, row, REASONS.duration_passed);
  });
};

const endCharging = (world: World, row: Allocation): void => {
  const open = world.usage.find((one) => one.allocation_id === row.id && one.ended_at === null);
  if (open === undefined) return;
  open.ended_at = world.ago();
  open.cost_minor = costMinor(open, world.now());
};

const prove = (world: World, row: Allocation, run: Run): void => {
  const task = world.tasks.findLast((one) => one.allocation_id === row.id);
  for (const slot of heldSlots(world, row)) {
    const proof = addProof(world, {
      slot,
      allocation_id: row.id,
      task_id: task?.id ?? run.id,
      method: 'nvme_sanitize',
      correlation_id: run.correlation_id,
    });
    moveSlot(world, slot, 'available');
    slot.allocation_id = null;
    for (const claim of world.claims)
      if (claim.allocation_id === row.id && (claim.slot_id === slot.id || claim.slot_id === null)) {
        claim.released_at = world.ago();
        claim.wipe_proof_id = proof.id;
      }
  }
  if (row.capacity_shape === 'baremetal') world.exclusive.delete(row.node_id ?? '');
  row.run_id = null;
  row.released_at = world.ago();
  if (row.state === 'releasing') moveAllocation(world, row, 'released', null, run.correlation_id);
};

/** The reason that an operator sees on a slot whose cleanup failed. */
export const blockedWords = (row: Allocation, reason: string): string =>
  blockedReason(row.id, reason, {
    kind: 'slice.cleanup',
    state_reason: 'The disk read-back found data.',
  });

const block = (world: World, row: Allocation, reason: string, { correlation_id }: Run): void => {
  setSlots(world, row, 'cleanup_blocked', blockedWords(row, reason));
  if (row.state === 'releasing') moveAllocation(world, row, 'release_failed', reason, correlation_id);
};

export const cleanupPlan = (
  world: World,
  row: Allocation,
  failing: Failing | null,
  correlationId?: string,
): RunPlan => ({
  ...planOf(row, correlationId),
  path: row.capacity_shape === 'gpu_slice' ? 'release-allocation' : 'release-baremetal',
  failing,
  onDone: (run) => prove(world, row, run),
  onStuck: (run, reason) => block(world, row, reason, run),
});

const cleanUp = (world: World, row: Allocation, correlationId?: string): void => {
  setSlots(world, row, 'cleaning');
  row.power = null;
  row.run_id = startRun(
    world,
    cleanupPlan(world, row, world.faults.wipes === true ? NOT_PROVEN : null, correlationId),
  ).id;
};

/** Under the correlation ID of the request; without one, of the launch. */
export const startRelease = (world: World, row: Allocation, reason: string, correlationId?: string): void => {
  const live = row.run_id === null ? undefined : world.runs.get(row.run_id);
  if (row.state === 'releasing') return;
  if (live !== undefined) cancelRun(world, live, REASONS.release_requested);
  endCharging(world, row);
  row.release_requested_at = world.ago();
  row.release_at = null;
  moveAllocation(world, row, 'releasing', reason, correlationId);
  cleanUp(world, row, correlationId);
};

/** A retried run finds the allocation blocked and unblocks it first. */
export const resumeCleanup = (world: World, row: Allocation, run: Run): void => {
  setSlots(world, row, 'cleaning', REASONS.cleanup_restarted);
  row.run_id = run.id;
  if (row.state === 'release_failed') moveAllocation(world, row, 'releasing', null, run.correlation_id);
};

/** Repeats the cleanup of a blocked allocation. Only proof frees its slots. */
export const restartCleanup = (world: World, row: Allocation, correlationId: string): void => {
  if (row.state === 'release_failed') moveAllocation(world, row, 'releasing', null, correlationId);
  const stuck = [...world.runs.values()].find((run) => run.subject_id === row.id && run.state === 'stuck');
  if (stuck !== undefined) cancelRun(world, stuck, REASONS.run_replaced);
  setSlots(world, row, 'cleaning', REASONS.cleanup_restarted);
  row.run_id = startRun(world, cleanupPlan(world, row, null, correlationId)).id;
};

const fail = (world: World, row: Allocation, reason: string): void => {
  say(world, { level: 'error', message: reason, correlation_id: row.correlation_id, error_code: 'provision_failed' });
  moveAllocation(world, row, 'failed', reason);
  cleanUp(world, row);
};

/** Starts it on the host. */
export const provision = (world: World, row: Allocation): void => {
  const path = row.capacity_shape === 'gpu_slice' ? 'provision-slice' : 'provision-baremetal';
  row.run_id = startRun(world, {
    ...planOf(row),
    path,
    failing: world.faults.launches === true ? { ...NOT_READY, step: lastHostStep(path) } : null,
    onStep: () => {
      if (row.state === 'requested') moveAllocation(world, row, 'provisioning');
    },
    onDone: () => activate(world, row),
    onStuck: (_run, reason) => fail(world, row, reason),
  }).id;
};
