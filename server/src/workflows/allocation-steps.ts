/**
 * What the workflows of an allocation share: their dependencies, and the step that runs one host task. Such a step
 * creates its task, finds it again when it runs twice, and waits until the agent reports the result.
 */
import { invariant } from '@gpuaas/kit';
import type { AllocationRow } from '../db/allocation.ts';
import type { Stay } from '../db/lifecycle.ts';
import { MOVING } from '../domain/launch-move.ts';
import type { FinalPowerState } from '../domain/power.ts';
import { CLEANUP_TRIES_MAX } from '../domain/task-limit.ts';
import type { WipeVerdict } from '../domain/wipe.ts';
import { taskKindOf } from '../domain/workflow-declaration.ts';
import type { AllocationTaskKind } from '../domain/workflow-steps.ts';
import { type Commit, done, failedDone, failedNext, next, type Outcome } from './engine/outcome.ts';
import type { StepContext } from './engine/workflow.ts';
import { consumeTaskSignal, waitForTask } from './host-task.ts';
import { type StayRow, stayOf } from './stay.ts';

export type AllocationTaskRequest = Readonly<{
  stay: Stay;
  kind: AllocationTaskKind;
  run_id: string;
  correlation_id: string;
  /**
   * The task is created only in this phase: an accepted release ends provisioning and power changes, and a power change
   * belongs to one run.
   */
  phase: 'provisioning' | 'power' | 'custody';
  tries_max: number;
}>;

export type AllocationTaskProgress =
  | Readonly<{ kind: 'completed' | 'failed' | 'gone' }>
  /** Wait for this task, or for another one of the allocation. */
  | Readonly<{ kind: 'open' }>
  /** Wait for the next try. */
  | Readonly<{ kind: 'later'; ms: number }>;

export type JudgedWipe = Readonly<{ task_id: string; node_id: string; verdict: WipeVerdict; may_try_again: boolean }>;

export type PowerChangeEnd = Readonly<{
  run_id: string;
  correlation_id: string;
  to: FinalPowerState;
  reason: string | null;
  /** The kind of task that the host refused; without a refusal the state is unknown. Null if there was no host task. */
  kind: AllocationTaskKind | null;
}>;

/** Why and from where a launch moves. */
export type HostFailure = Readonly<{ run_id: string; kind: AllocationTaskKind; node_id: string; reason: string }>;

export type AllocationDeps = Readonly<{
  load(id: string): Promise<AllocationRow>;
  /** The allocation on the host that the move left. */
  loadLeft(moveId: string): Promise<StayRow>;
  ensureTask(request: AllocationTaskRequest): Promise<AllocationTaskProgress>;
  activate(id: string): Commit;
  /** Ends provisioning as failed and starts cleanup. */
  fail(id: string, reason: string): Commit;
  /** Why a launch whose host task failed cannot go on elsewhere; null when another host fits now. */
  whyNotMove(allocation: AllocationRow, failure: Omit<HostFailure, 'reason'>): Promise<string | null>;
  /** Claims another host, and leaves the present one to cleanup. */
  move(id: string, failure: HostFailure): Commit;
  /** Ends a power change. */
  finishPowerChange(id: string, end: PowerChangeEnd): Commit;
  /** Whether an earlier cleanup was blocked. */
  isBlocked(stay: Stay): Promise<boolean>;
  /** Whether it failed because the guest OS saw a hardware fault that no operator has handled yet. */
  isUnderReview(allocation: StayRow): Promise<boolean>;
  resume(stay: Stay): Commit;
  /** Cancels tasks that have not started: they must not run together with the next ones. */
  withdrawTasks(stay: Stay, reason: string): Commit;
  block(stay: Stay, reason: string): Commit;
  judge(allocation: StayRow, runId: string): Promise<JudgedWipe | undefined>;
  prove(stay: Stay, judged: JudgedWipe): Commit;
  reject(stay: Stay, judged: JudgedWipe): Commit;
}>;

export const TRIES_MAX = CLEANUP_TRIES_MAX;

type HostWork = Readonly<{ kind: AllocationTaskKind; doing: string; failed: string }>;

/** The declared host task of the running step. */
export const hostWorkOf = ({ step }: StepContext, { capacity_shape }: AllocationRow): HostWork => {
  const kind = taskKindOf(step, capacity_shape);
  invariant(step.task !== null && kind !== null, `step "${step.label}" asks no host`);
  // The type is derived from the declarations of these workflows.
  return { kind: kind as AllocationTaskKind, doing: step.doing, failed: step.failed };
};

export type HostTaskOutcome = Outcome<never> | 'completed' | 'failed' | 'gone';

/** The result of the running step's task, or the outcome of a step that has to wait for it. */
export const runAllocationTask = async (
  deps: AllocationDeps,
  allocation: StayRow,
  ctx: StepContext,
  phase: AllocationTaskRequest['phase'],
): Promise<HostTaskOutcome> => {
  const { kind, doing } = hostWorkOf(ctx, allocation);
  consumeTaskSignal(ctx);
  const outcome = await deps.ensureTask({
    stay: stayOf(allocation),
    kind,
    phase,
    run_id: ctx.run.id,
    correlation_id: ctx.run.correlation_id,
    tries_max: phase === 'custody' ? TRIES_MAX : 1,
  });
  return outcome.kind === 'open' || outcome.kind === 'later' ? waitForTask(outcome, doing) : outcome.kind;
};

/**
 * A provisioning step. A host task that failed is not retried on its host: the launch moves to another one and starts
 * again at the first step there. Where it cannot, the allocation fails and is cleaned up, and nothing is left for an
 * operator to retry.
 */
export const provisionFrom =
  <const First extends string>(first: First) =>
  <const Step extends string>(then: Step) =>
  async (deps: AllocationDeps, allocation: AllocationRow, ctx: StepContext): Promise<Outcome<First | Step>> => {
    const outcome = await runAllocationTask(deps, allocation, ctx, 'provisioning');
    if (outcome === 'completed') return next(then);
    if (outcome === 'gone') return done();
    if (outcome !== 'failed') return outcome;
    const { kind, failed } = hostWorkOf(ctx, allocation);
    const failure = { run_id: ctx.run.id, kind, node_id: stayOf(allocation).node_id };
    const refusal = await deps.whyNotMove(allocation, failure);
    const reason = `${failed} ${refusal ?? MOVING}`;
    return refusal === null
      ? failedNext(first, reason, deps.move(allocation.id, { ...failure, reason }))
      : failedDone(reason, deps.fail(allocation.id, reason));
  };

export const activate = async (deps: AllocationDeps, allocation: AllocationRow) => done(deps.activate(allocation.id));

/** Provisioning that was cancelled, timed out or broke: the allocation fails. */
export const abort = async (deps: AllocationDeps, allocation: AllocationRow) =>
  done(deps.fail(allocation.id, 'Provisioning did not finish.'));

export const PROVISION_DEADLINE_MS = 30 * 60_000;
