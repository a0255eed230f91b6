/**
 * Reclaims an allocation's capacity after a release or a failure, and that of a host that a launch left. The VM is
 * stopped and the disks are wiped, and only evidence read back from the disks frees anything. What cannot be proven in a
 * bounded number of tries is blocked for an operator, never freed.
 */
import { REASONS } from '../domain/reasons.ts';
import { CLEANUP_RUN_DEADLINE_MS } from '../domain/task-limit.ts';
import type { StepOf } from '../domain/workflow-declaration.ts';
import { CLEAN_LEFT_HOST, RELEASE_ALLOCATION } from '../domain/workflow-steps.ts';
import { type AllocationDeps, hostWorkOf, runAllocationTask } from './allocation-steps.ts';
import { done, next, stuck } from './engine/outcome.ts';
import { type Definition, type StepFunction, workflow } from './engine/workflow.ts';
import { type StayRow, stayOf } from './stay.ts';

type Step = StepOf<typeof RELEASE_ALLOCATION>;

/** Sent by an operator who verified that nothing runs. It skips only the stop. */
export const RUNTIME_ABSENT = 'runtime_verified_absent';

/** Suspect hardware that became schedulable again would only fail the next launch. */
const UNDER_REVIEW = 'The guest OS reported fewer GPUs than allocated. The host is checked before the wipe.';

type Body = StepFunction<AllocationDeps, StayRow, Step>;

/** A run that an operator retries finds the allocation blocked, and resumes it first. */
const inCustody =
  (own: Step, step: Body): Body =>
  async (deps, allocation, ctx) =>
    (await deps.isBlocked(stayOf(allocation)))
      ? next(own, deps.resume(stayOf(allocation)))
      : step(deps, allocation, ctx);

/** Runs the host task. A task that fails in all its tries is left to an operator. */
const cleanUpThen =
  (then: Step): Body =>
  async (deps, allocation, ctx) => {
    const answer = await runAllocationTask(deps, allocation, ctx, 'custody');
    if (answer === 'completed') return next(then);
    if (answer === 'gone') return done();
    if (answer !== 'failed') return answer;
    const { failed } = hostWorkOf(ctx, allocation);
    return stuck(failed, deps.block(stayOf(allocation), failed));
  };
const stopWorkloads = cleanUpThen('wipe');
const wipeDisks = cleanUpThen('prove');

const CLEANUP = {
  deadlineMs: CLEANUP_RUN_DEADLINE_MS,
  onCancel: 'block',
  onDeadline: 'block',
  onFailure: 'block',
  steps: {
    stopRuntime: inCustody('stopRuntime', async (deps, allocation, ctx) => {
      // A queued stop could otherwise reach a later tenant of the slot.
      if (ctx.signals.take(RUNTIME_ABSENT) !== undefined)
        return next(
          'wipe',
          deps.withdrawTasks(stayOf(allocation), 'The VM is not running, so there is nothing to stop.'),
        );
      return stopWorkloads(deps, allocation, ctx);
    }),
    wipe: inCustody('wipe', async (deps, allocation, ctx) => {
      if (await deps.isUnderReview(allocation))
        return stuck(UNDER_REVIEW, deps.block(stayOf(allocation), UNDER_REVIEW));
      return wipeDisks(deps, allocation, ctx);
    }),
    prove: inCustody('prove', async (deps, allocation, ctx) => {
      const judged = await deps.judge(allocation, ctx.run.id);
      if (judged === undefined) return next('wipe');
      if (judged.verdict.is_verified) return done(deps.prove(stayOf(allocation), judged));
      if (judged.may_try_again) return next('wipe', deps.reject(stayOf(allocation), judged));
      const reason = REASONS.wipe_unverified;
      return stuck(reason, async (tx, run) => {
        await deps.reject(stayOf(allocation), judged)(tx, run);
        await deps.block(stayOf(allocation), reason)(tx, run);
      });
    }),
    block: async (deps, allocation) => done(deps.block(stayOf(allocation), 'Cleanup did not finish.')),
  },
} as const satisfies Omit<Definition<AllocationDeps, StayRow, Step>, 'declared' | 'load'>;

export const releaseAllocation = workflow<AllocationDeps, StayRow, Step>({
  ...CLEANUP,
  declared: RELEASE_ALLOCATION,
  load: (deps, id) => deps.load(id),
});

export const cleanLeftHost = workflow<AllocationDeps, StayRow, Step>({
  ...CLEANUP,
  declared: CLEAN_LEFT_HOST,
  load: (deps, moveId) => deps.loadLeft(moveId),
});
