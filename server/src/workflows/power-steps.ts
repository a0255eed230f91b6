/**
 * What the workflows of power share. A host that says no ends the change in the state that is known then; one that does not
 * answer, and a change that is called off or takes too long, end in `unknown`. Nothing is released and no claim is touched:
 * the tenant reads the reason and decides.
 */
import type { AllocationRow } from '../db/allocation.ts';
import type { PowerRest } from '../domain/power.ts';
import { type AllocationDeps, askHost, hostWorkOf } from './allocation-steps.ts';
import { done, next, type Outcome, stuck } from './engine/outcome.ts';
import type { StepContext } from './engine/workflow.ts';

/** What is known after a host said that it could not do its part, and what the tenant may do about it. */
export type Refused = Readonly<{ to: PowerRest; advice: string }>;

/** Has the host do one thing. A change that is no longer this run's ends without a word: a release has won. */
export const powerThen =
  <const Step extends string>(then: Step, refused: Refused) =>
  async (deps: AllocationDeps, allocation: AllocationRow, ctx: StepContext): Promise<Outcome<Step>> => {
    const answer = await askHost(deps, allocation, ctx, 'power');
    if (answer === 'completed') return next(then);
    if (answer === 'gone') return done();
    if (answer !== 'failed') return answer;
    const { kind, failed } = hostWorkOf(ctx, allocation);
    const reason = `${failed} ${refused.advice}`;
    const settled = { run_id: ctx.run.id, correlation_id: ctx.run.correlation_id, to: refused.to, reason, kind };
    return stuck(reason, deps.settlePower(allocation.id, settled));
  };

/** The VM is as requested. */
export const mark =
  (to: 'on' | 'off') =>
  async (deps: AllocationDeps, allocation: AllocationRow, { run }: StepContext): Promise<Outcome<never>> =>
    done(
      deps.settlePower(allocation.id, {
        run_id: run.id,
        correlation_id: run.correlation_id,
        to,
        reason: null,
        kind: null,
      }),
    );

/** Where a change goes that was called off, took too long or broke. */
export const markUnknown = async (
  deps: AllocationDeps,
  allocation: AllocationRow,
  { run }: StepContext,
): Promise<Outcome<never>> =>
  done(
    deps.settlePower(allocation.id, {
      run_id: run.id,
      correlation_id: run.correlation_id,
      to: 'unknown',
      reason: 'The change was not finished. Start or stop the VM to end this state.',
      kind: null,
    }),
  );
