/**
 * What the workflows of an allocation share: their dependencies, and the step that runs one host task. Such a step
 * creates its task, finds it again when it runs twice, and waits until the agent reports the result.
 */
import { invariant } from '@gpuaas/kit';
import type { AllocationRow } from '../db/allocation.ts';
import type { FinalPowerState } from '../domain/power.ts';
import { CLEANUP_TRIES_MAX } from '../domain/task-limit.ts';
import type { WipeVerdict } from '../domain/wipe.ts';
import { taskKindOf } from '../domain/workflow-declaration.ts';
import type { AllocationTaskKind } from '../domain/workflow-steps.ts';
import { type Commit, done, next, type Outcome, stuck } from './engine/outcome.ts';
import type { StepContext } from './engine/workflow.ts';
import { consumeTaskSignal, waitForTask } from './host-task.ts';

export type AllocationTaskRequest = Readonly<{
  allocation_id: string;
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
  | Readonly<{ kind: 'open' }>
  /** Wait for the next try, or for another task of the allocation. */
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

export type AllocationDeps = Readonly<{
  load(id: string): Promise<AllocationRow>;
  ensureTask(request: AllocationTaskRequest): Promise<AllocationTaskProgress>;
  activate(id: string): Commit;
  /** Ends provisioning as failed and starts cleanup. */
  fail(id: string, reason: string): Commit;
  /** Ends a power change. */
  finishPowerChange(id: string, end: PowerChangeEnd): Commit;
  /** Whether an earlier cleanup was blocked. */
  isBlocked(id: string): Promise<boolean>;
  /** Whether it failed because the guest OS saw a hardware fault that no operator has handled yet. */
  isUnderReview(allocation: AllocationRow): Promise<boolean>;
  resume(id: string): Commit;
  /** Cancels tasks that have not started: they must not run together with the next ones. */
  withdrawTasks(id: string, reason: string): Commit;
  block(id: string, reason: string): Commit;
  judge(allocation: AllocationRow, runId: string): Promise<JudgedWipe | undefined>;
  prove(id: string, judged: JudgedWipe): Commit;
  reject(id: string, judged: JudgedWipe): Commit;
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
  allocation: AllocationRow,
  ctx: StepContext,
  phase: AllocationTaskRequest['phase'],
): Promise<HostTaskOutcome> => {
  const { kind, doing } = hostWorkOf(ctx, allocation);
  consumeTaskSignal(ctx);
  const outcome = await deps.ensureTask({
    allocation_id: allocation.id,
    kind,
    phase,
    run_id: ctx.run.id,
    correlation_id: ctx.run.correlation_id,
    tries_max: phase === 'custody' ? TRIES_MAX : 1,
  });
  return outcome.kind === 'open' || outcome.kind === 'later' ? waitForTask(outcome, doing) : outcome.kind;
};

/** A provisioning step. A refused task is not retried: the allocation fails and is cleaned up. */
export const provisionThen =
  <const Step extends string>(then: Step) =>
  async (deps: AllocationDeps, allocation: AllocationRow, ctx: StepContext): Promise<Outcome<Step>> => {
    const outcome = await runAllocationTask(deps, allocation, ctx, 'provisioning');
    if (outcome === 'completed') return next(then);
    if (outcome === 'gone') return done();
    if (outcome !== 'failed') return outcome;
    const { failed } = hostWorkOf(ctx, allocation);
    return stuck(failed, deps.fail(allocation.id, failed));
  };

export const activate = async (deps: AllocationDeps, allocation: AllocationRow) => done(deps.activate(allocation.id));

/** Provisioning that was cancelled, timed out or broke: the allocation fails. */
export const abort = async (deps: AllocationDeps, allocation: AllocationRow) =>
  done(deps.fail(allocation.id, 'Provisioning did not finish.'));

export const PROVISION_DEADLINE_MS = 30 * 60_000;
