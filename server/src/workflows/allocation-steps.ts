/**
 * What the workflows of an allocation share: what they may do to the world, and the step that has a host do one thing.
 * Such a step asks for its task, finds it where it left it when it runs again, and rests until the host has answered.
 */
import { invariant } from '@gpuaas/kit';
import type { AllocationRow } from '../db/allocation.ts';
import type { PowerRest } from '../domain/power.ts';
import { CLEANUP_TRIES_MAX } from '../domain/task-limit.ts';
import type { WipeVerdict } from '../domain/wipe.ts';
import { taskKindOf } from '../domain/workflow-declaration.ts';
import type { AllocationTaskKind } from '../domain/workflow-steps.ts';
import { restUntil, takeSignal } from './ask-host.ts';
import { type Commit, done, next, type Outcome, stuck } from './engine/outcome.ts';
import type { StepContext } from './engine/workflow.ts';

export type TaskAsk = Readonly<{
  allocation_id: string;
  kind: AllocationTaskKind;
  run_id: string;
  correlation_id: string;
  /**
   * Only while the allocation is in this phase: a release that was accepted meanwhile ends provisioning and any change of
   * power, and a change of power is one run's.
   */
  phase: 'provisioning' | 'power' | 'custody';
  tries_max: number;
}>;

export type TaskAnswer =
  | Readonly<{ kind: 'completed' | 'failed' | 'gone' }>
  | Readonly<{ kind: 'open' }>
  /** The next try, or another task of the allocation, must be waited for. */
  | Readonly<{ kind: 'later'; ms: number }>;

export type Judged = Readonly<{ task_id: string; node_id: string; verdict: WipeVerdict; may_try_again: boolean }>;

export type SettlePower = Readonly<{
  run_id: string;
  correlation_id: string;
  to: PowerRest;
  reason: string | null;
  /** The kind of task that the host refused; without its refusal nothing is known. Null where no host was asked. */
  kind: AllocationTaskKind | null;
}>;

export type AllocationDeps = Readonly<{
  load(id: string): Promise<AllocationRow>;
  ensureTask(ask: TaskAsk): Promise<TaskAnswer>;
  activate(id: string): Commit;
  /** Ends provisioning as failed and starts cleanup. */
  fail(id: string, reason: string): Commit;
  /** A change of power comes to rest. */
  settlePower(id: string, settle: SettlePower): Commit;
  /** Whether an earlier cleanup gave up. */
  isBlocked(id: string): Promise<boolean>;
  /** Whether it failed because of what its guest saw of the hardware, and no operator has taken that up. */
  isInDoubt(allocation: AllocationRow): Promise<boolean>;
  resume(id: string): Commit;
  /** Takes back what was asked of the host and not begun: it must not happen beside what comes next. */
  withdrawTasks(id: string, reason: string): Commit;
  block(id: string, reason: string): Commit;
  judge(allocation: AllocationRow, runId: string): Promise<Judged | undefined>;
  prove(id: string, judged: Judged): Commit;
  reject(id: string, judged: Judged): Commit;
}>;

export const TRIES_MAX = CLEANUP_TRIES_MAX;

type HostWork = Readonly<{ kind: AllocationTaskKind; doing: string; failed: string }>;

/** What the running step has its host do, as it is declared. */
export const hostWorkOf = ({ step }: StepContext, { capacity_shape }: AllocationRow): HostWork => {
  const kind = taskKindOf(step, capacity_shape);
  invariant(step.task !== null && kind !== null, `step "${step.label}" asks no host`);
  // The declarations of these workflows are what the type is made of.
  return { kind: kind as AllocationTaskKind, doing: step.doing, failed: step.failed };
};

export type Resting = Outcome<never> | 'completed' | 'failed' | 'gone';

/** How far the host is with the task of the running step, or the outcome of a step that has to wait for it. */
export const askHost = async (
  deps: AllocationDeps,
  allocation: AllocationRow,
  ctx: StepContext,
  phase: TaskAsk['phase'],
): Promise<Resting> => {
  const { kind, doing } = hostWorkOf(ctx, allocation);
  takeSignal(ctx);
  const answer = await deps.ensureTask({
    allocation_id: allocation.id,
    kind,
    phase,
    run_id: ctx.run.id,
    correlation_id: ctx.run.correlation_id,
    tries_max: phase === 'custody' ? TRIES_MAX : 1,
  });
  return answer.kind === 'open' || answer.kind === 'later' ? restUntil(answer, doing) : answer.kind;
};

/** A step of provisioning. What the host cannot do is not tried twice: the allocation has failed and is cleaned up. */
export const provisionThen =
  <const Step extends string>(then: Step) =>
  async (deps: AllocationDeps, allocation: AllocationRow, ctx: StepContext): Promise<Outcome<Step>> => {
    const answer = await askHost(deps, allocation, ctx, 'provisioning');
    if (answer === 'completed') return next(then);
    if (answer === 'gone') return done();
    if (answer !== 'failed') return answer;
    const { failed } = hostWorkOf(ctx, allocation);
    return stuck(failed, deps.fail(allocation.id, failed));
  };

export const activate = async (deps: AllocationDeps, allocation: AllocationRow) => done(deps.activate(allocation.id));

/** Where provisioning goes that was cancelled, took too long or broke: the allocation has failed. */
export const abort = async (deps: AllocationDeps, allocation: AllocationRow) =>
  done(deps.fail(allocation.id, 'Provisioning did not finish.'));

export const PROVISION_DEADLINE_MS = 30 * 60_000;
