/**
 * Takes an allocation's capacity back, after a release or after a failure: what runs is stopped, the disks are erased,
 * and only evidence that the erasure was read back frees anything. What cannot be proven in a bounded number of tries
 * is blocked for an operator, never freed.
 */
import type { AllocationRow } from '../db/allocation.ts';
import { CLEANUP_RUN_DEADLINE_MS } from '../domain/task-limit.ts';
import { type AllocationDeps, askHost, WORDS } from './allocation-steps.ts';
import { done, next, stuck } from './engine/outcome.ts';
import { type StepFunction, workflow } from './engine/workflow.ts';

type Step = 'stopRuntime' | 'wipe' | 'prove' | 'block';

/** Sent by an operator who has seen that nothing runs. It skips stopping, and nothing else. */
export const RUNTIME_ABSENT = 'runtime_verified_absent';

/** Erased and sold again, hardware that is in doubt would only fail the next launch. */
const IN_DOUBT = 'The machine saw fewer GPUs than it was given, so its host is looked at first.';

const kindsOf = (allocation: AllocationRow) =>
  allocation.capacity_shape === 'gpu_slice'
    ? ({ stop: 'slice.vm_stop', wipe: 'slice.cleanup' } as const)
    : ({ stop: 'allocation.deprovision_user', wipe: 'node.cleanup' } as const);

/** A run that an operator retries finds the allocation blocked, and first takes it up again. */
const inCustody =
  (
    own: Step,
    step: StepFunction<AllocationDeps, AllocationRow, Step>,
  ): StepFunction<AllocationDeps, AllocationRow, Step> =>
  async (deps, allocation, ctx) =>
    (await deps.isBlocked(allocation.id)) ? next(own, deps.resume(allocation.id)) : step(deps, allocation, ctx);

export const releaseAllocation = workflow<AllocationDeps, AllocationRow, Step>({
  name: 'release-allocation',
  version: 1,
  first: 'stopRuntime',
  deadlineMs: CLEANUP_RUN_DEADLINE_MS,
  onCancel: 'block',
  onDeadline: 'block',
  onFailure: 'block',
  load: (deps, id) => deps.load(id),
  steps: {
    stopRuntime: inCustody('stopRuntime', async (deps, allocation, ctx) => {
      // A stop that waits for its host would reach whoever holds the slot by then.
      if (ctx.signals.take(RUNTIME_ABSENT) !== undefined)
        return next('wipe', deps.withdrawTasks(allocation.id, 'Nothing runs any more, so there is nothing to stop.'));
      const { stop } = kindsOf(allocation);
      const answer = await askHost(deps, allocation, ctx, { kind: stop, phase: 'custody' });
      if (answer === 'completed') return next('wipe');
      if (answer === 'failed') return stuck(WORDS[stop].failed, deps.block(allocation.id, WORDS[stop].failed));
      return answer === 'gone' ? done() : answer;
    }),
    wipe: inCustody('wipe', async (deps, allocation, ctx) => {
      if (await deps.isInDoubt(allocation)) return stuck(IN_DOUBT, deps.block(allocation.id, IN_DOUBT));
      const { wipe } = kindsOf(allocation);
      const answer = await askHost(deps, allocation, ctx, { kind: wipe, phase: 'custody' });
      if (answer === 'completed') return next('prove');
      if (answer === 'failed') return stuck(WORDS[wipe].failed, deps.block(allocation.id, WORDS[wipe].failed));
      return answer === 'gone' ? done() : answer;
    }),
    prove: inCustody('prove', async (deps, allocation, ctx) => {
      const judged = await deps.judge(allocation, ctx.run.id);
      if (judged === undefined) return next('wipe');
      if (judged.verdict.is_verified) return done(deps.prove(allocation.id, judged));
      if (judged.may_try_again) return next('wipe', deps.reject(allocation.id, judged));
      const reason = 'The erasure of the disks could not be proven.';
      return stuck(reason, async (tx) => {
        await deps.reject(allocation.id, judged)(tx);
        await deps.block(allocation.id, reason)(tx);
      });
    }),
    block: async (deps, allocation) => done(deps.block(allocation.id, 'Cleanup did not finish.')),
  },
});
