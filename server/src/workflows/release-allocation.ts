/**
 * Reclaims an allocation's capacity after a release or a failure. The VM is stopped and the disks are wiped, and only
 * evidence read back from the disks frees anything. What cannot be proven in a bounded number of tries is blocked for
 * an operator, never freed.
 */
import type { AllocationRow } from '../db/allocation.ts';
import { REASONS } from '../domain/reasons.ts';
import { CLEANUP_RUN_DEADLINE_MS } from '../domain/task-limit.ts';
import type { StepOf } from '../domain/workflow-declaration.ts';
import { RELEASE_ALLOCATION } from '../domain/workflow-steps.ts';
import { type AllocationDeps, hostWorkOf, runAllocationTask } from './allocation-steps.ts';
import { done, next, stuck } from './engine/outcome.ts';
import { type StepFunction, workflow } from './engine/workflow.ts';

type Step = StepOf<typeof RELEASE_ALLOCATION>;

/** Sent by an operator who verified that nothing runs. It skips only the stop. */
export const RUNTIME_ABSENT = 'runtime_verified_absent';

/** Suspect hardware that became schedulable again would only fail the next launch. */
const UNDER_REVIEW = 'The guest OS reported fewer GPUs than allocated. The host is checked before the wipe.';

type Body = StepFunction<AllocationDeps, AllocationRow, Step>;

/** A run that an operator retries finds the allocation blocked, and resumes it first. */
const inCustody =
  (own: Step, step: Body): Body =>
  async (deps, allocation, ctx) =>
    (await deps.isBlocked(allocation.id)) ? next(own, deps.resume(allocation.id)) : step(deps, allocation, ctx);

/** Runs the host task. A task that fails in all its tries is left to an operator. */
const cleanUpThen =
  (then: Step): Body =>
  async (deps, allocation, ctx) => {
    const answer = await runAllocationTask(deps, allocation, ctx, 'custody');
    if (answer === 'completed') return next(then);
    if (answer === 'gone') return done();
    if (answer !== 'failed') return answer;
    const { failed } = hostWorkOf(ctx, allocation);
    return stuck(failed, deps.block(allocation.id, failed));
  };
const stopWorkloads = cleanUpThen('wipe');
const wipeDisks = cleanUpThen('prove');

export const releaseAllocation = workflow<AllocationDeps, AllocationRow, Step>({
  declared: RELEASE_ALLOCATION,
  deadlineMs: CLEANUP_RUN_DEADLINE_MS,
  onCancel: 'block',
  onDeadline: 'block',
  onFailure: 'block',
  load: (deps, id) => deps.load(id),
  steps: {
    stopRuntime: inCustody('stopRuntime', async (deps, allocation, ctx) => {
      // A queued stop could otherwise reach a later tenant of the slot.
      if (ctx.signals.take(RUNTIME_ABSENT) !== undefined)
        return next('wipe', deps.withdrawTasks(allocation.id, 'The VM is not running, so there is nothing to stop.'));
      return stopWorkloads(deps, allocation, ctx);
    }),
    wipe: inCustody('wipe', async (deps, allocation, ctx) => {
      if (await deps.isUnderReview(allocation)) return stuck(UNDER_REVIEW, deps.block(allocation.id, UNDER_REVIEW));
      return wipeDisks(deps, allocation, ctx);
    }),
    prove: inCustody('prove', async (deps, allocation, ctx) => {
      const judged = await deps.judge(allocation, ctx.run.id);
      if (judged === undefined) return next('wipe');
      if (judged.verdict.is_verified) return done(deps.prove(allocation.id, judged));
      if (judged.may_try_again) return next('wipe', deps.reject(allocation.id, judged));
      const reason = REASONS.wipe_unverified;
      return stuck(reason, async (tx, run) => {
        await deps.reject(allocation.id, judged)(tx, run);
        await deps.block(allocation.id, reason)(tx, run);
      });
    }),
    block: async (deps, allocation) => done(deps.block(allocation.id, 'Cleanup did not finish.')),
  },
});
