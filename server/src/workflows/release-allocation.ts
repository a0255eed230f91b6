/**
 * Takes an allocation's capacity back, after a release or after a failure: what runs is stopped, the disks are erased,
 * and only evidence that the erasure was read back frees anything. What cannot be proven in a bounded number of tries
 * is blocked for an operator, never freed.
 */
import type { AllocationRow } from '../db/allocation.ts';
import { CLEANUP_RUN_DEADLINE_MS } from '../domain/task-limit.ts';
import type { StepOf } from '../domain/workflow-declaration.ts';
import { RELEASE_ALLOCATION } from '../domain/workflow-steps.ts';
import { type AllocationDeps, askHost, hostWorkOf } from './allocation-steps.ts';
import { done, next, stuck } from './engine/outcome.ts';
import { type StepFunction, workflow } from './engine/workflow.ts';

type Step = StepOf<typeof RELEASE_ALLOCATION>;

/** Sent by an operator who has seen that nothing runs. It skips stopping, and nothing else. */
export const RUNTIME_ABSENT = 'runtime_verified_absent';

/** Erased and sold again, hardware that is in doubt would only fail the next launch. */
const IN_DOUBT = 'The VM found fewer GPUs than it has. The host is checked first.';

type Body = StepFunction<AllocationDeps, AllocationRow, Step>;

/** A run that an operator retries finds the allocation blocked, and first takes it up again. */
const inCustody =
  (own: Step, step: Body): Body =>
  async (deps, allocation, ctx) =>
    (await deps.isBlocked(allocation.id)) ? next(own, deps.resume(allocation.id)) : step(deps, allocation, ctx);

/** Has the host do its part. What it cannot do in its tries is left to an operator. */
const cleanUpThen =
  (then: Step): Body =>
  async (deps, allocation, ctx) => {
    const answer = await askHost(deps, allocation, ctx, 'custody');
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
      // A stop that waits for its host would reach whoever holds the slot by then.
      if (ctx.signals.take(RUNTIME_ABSENT) !== undefined)
        return next('wipe', deps.withdrawTasks(allocation.id, 'The VM is not running, so there is nothing to stop.'));
      return stopWorkloads(deps, allocation, ctx);
    }),
    wipe: inCustody('wipe', async (deps, allocation, ctx) => {
      if (await deps.isInDoubt(allocation)) return stuck(IN_DOUBT, deps.block(allocation.id, IN_DOUBT));
      return wipeDisks(deps, allocation, ctx);
    }),
    prove: inCustody('prove', async (deps, allocation, ctx) => {
      const judged = await deps.judge(allocation, ctx.run.id);
      if (judged === undefined) return next('wipe');
      if (judged.verdict.is_verified) return done(deps.prove(allocation.id, judged));
      if (judged.may_try_again) return next('wipe', deps.reject(allocation.id, judged));
      const reason = 'The disk wipe could not be verified.';
      return stuck(reason, async (tx) => {
        await deps.reject(allocation.id, judged)(tx);
        await deps.block(allocation.id, reason)(tx);
      });
    }),
    block: async (deps, allocation) => done(deps.block(allocation.id, 'Cleanup did not finish.')),
  },
});
