/**
 * What the power workflows share. If the host refuses, the change ends in the state known then. If the host does not
 * respond, or the change is cancelled or times out, it ends in `unknown`. Nothing is released and no claim changes: the
 * tenant reads the reason and decides.
 */
import type { AllocationRow } from '../db/allocation.ts';
import type { FinalPowerState } from '../domain/power.ts';
import { type AllocationDeps, hostWorkOf, runAllocationTask } from './allocation-steps.ts';
import { done, next, type Outcome, stuck } from './engine/outcome.ts';
import type { StepContext } from './engine/workflow.ts';

/** The known state after a refusal by the host, and advice for the tenant. */
export type IfRefused = Readonly<{ to: FinalPowerState; advice: string }>;

/** Runs one host task. A change that no longer belongs to this run ends silently: a release took over. */
export const powerThen =
  <const Step extends string>(then: Step, refused: IfRefused) =>
  async (deps: AllocationDeps, allocation: AllocationRow, ctx: StepContext): Promise<Outcome<Step>> => {
    const outcome = await runAllocationTask(deps, allocation, ctx, 'power');
    if (outcome === 'completed') return next(then);
    if (outcome === 'gone') return done();
    if (outcome !== 'failed') return outcome;
    const { kind, failed } = hostWorkOf(ctx, allocation);
    const reason = `${failed} ${refused.advice}`;
    const end = { run_id: ctx.run.id, correlation_id: ctx.run.correlation_id, to: refused.to, reason, kind };
    return stuck(reason, deps.finishPowerChange(allocation.id, end));
  };

/** The VM is as requested. */
export const mark =
  (to: 'on' | 'off') =>
  async (deps: AllocationDeps, allocation: AllocationRow, { run }: StepContext): Promise<Outcome<never>> =>
    done(
      deps.finishPowerChange(allocation.id, {
        run_id: run.id,
        correlation_id: run.correlation_id,
        to,
        reason: null,
        kind: null,
      }),
    );

/** The end of a change that was cancelled, timed out or broke. */
export const markUnknown = async (
  deps: AllocationDeps,
  allocation: AllocationRow,
  { run }: StepContext,
): Promise<Outcome<never>> =>
  done(
    deps.finishPowerChange(allocation.id, {
      run_id: run.id,
      correlation_id: run.correlation_id,
      to: 'unknown',
      reason: 'The change was not finished. Start or stop the VM to end this state.',
      kind: null,
    }),
  );
