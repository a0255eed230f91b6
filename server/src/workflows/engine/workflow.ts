/**
 * How a workflow is written: the declaration of its steps (`domain/workflow-steps.ts`) and a function for each. Steps
 * are ensure-style, because any of them may run twice: the process can die between the work and its record. A step
 * without a declaration or function, or a jump to an unknown step, does not compile.
 */
import { backoffMs, invariant } from '@gpuaas/kit';
import type { LeasedRun } from '../../db/workflow-run.ts';
import type { Plan } from '../../domain/workflow.ts';
import { type StepDeclaration, stepEntries, type WorkflowDeclaration } from '../../domain/workflow-declaration.ts';
import type { Outcome } from './outcome.ts';

export type RunInfo = Pick<
  LeasedRun,
  | 'id'
  | 'workflow'
  | 'workflow_version'
  | 'subject_id'
  | 'organization_id'
  | 'project_id'
  | 'correlation_id'
  | 'attempt'
>;

export type SignalPayload = Readonly<Record<string, unknown>>;

export type Signals = Readonly<{
  /** The oldest unconsumed signal of this name. It is consumed when the step's outcome is recorded. */
  take(name: string): SignalPayload | undefined;
  /** True when the run waited for this name and timed out. */
  timedOut(name: string): boolean;
}>;

export type StepContext = Readonly<{
  run: RunInfo;
  /** Aborted when the step timed out, its lease was lost, or the worker has to stop. */
  signal: AbortSignal;
  signals: Signals;
  /** The declaration of the running step. */
  step: StepDeclaration;
}>;

export type StepFunction<Deps, Subject, Step extends string> = (
  deps: Deps,
  subject: Subject,
  ctx: StepContext,
) => Promise<Outcome<Step>>;

export type Retry = Readonly<{ attempts_max: number; base_ms: number; cap_ms: number }>;
const RETRY_DEFAULT: Retry = { attempts_max: 5, base_ms: 1_000, cap_ms: 60_000 };
const STEP_TIMEOUT_DEFAULT_MS = 60_000;

export type Definition<Deps, Subject, Step extends string> = Readonly<{
  declared: WorkflowDeclaration<Step>;
  deadlineMs: number;
  load(deps: Deps, subjectId: string): Promise<Subject>;
  steps: { readonly [K in Step]: StepFunction<Deps, Subject, Step> };
  stepTimeoutMs?: number | (Readonly<Partial<Record<Step, number>>> & Readonly<{ default?: number }>);
  retry?: Partial<Retry>;
  /** The step that cleans up a cancelled run; without it the run is cancelled at once. */
  onCancel?: NoInfer<Step>;
  /** The step for a run past its deadline; without it the run is stuck. */
  onDeadline?: NoInfer<Step>;
  /** The step for a run whose step used up its attempts; without it the run is stuck. */
  onFailure?: NoInfer<Step>;
}>;

/** What a caller needs to start a run. */
export type Startable = Readonly<{
  name: string;
  version: number;
  first: string;
  deadlineMs: number;
  stepNames: readonly string[];
}>;

export type Workflow<Deps, Subject, Step extends string> = Definition<Deps, Subject, Step> & Startable;

export const workflow = <Deps, Subject, Step extends string>(
  definition: Definition<Deps, Subject, Step>,
): Workflow<Deps, Subject, Step> => {
  const { name, version } = definition.declared;
  invariant(/^[a-z0-9-]{1,64}$/.test(name), 'a workflow is named in lower case with dashes');
  const stepNames = stepEntries(definition.declared).map(([key]) => key);
  const [first] = stepNames;
  invariant(first !== undefined, `workflow ${name} has no steps`);
  for (const step of stepNames) invariant(/^[A-Za-z0-9]{1,64}$/.test(step), `step ${step} is not a plain word`);
  return { ...definition, name, version, first, stepNames };
};

/** A workflow bound to its dependencies, as the worker sees it. */
export type BoundWorkflow = Startable &
  Readonly<{
    plan: Plan;
    retry: Retry;
    timeoutMs(step: string): number;
    take(step: string, ctx: Omit<StepContext, 'step'>): Promise<Outcome<string>>;
  }>;

export const bind = <Deps, Subject, Step extends string>(
  definition: Workflow<Deps, Subject, Step>,
  deps: Deps,
): BoundWorkflow => {
  const retry = { ...RETRY_DEFAULT, ...definition.retry };
  const timeouts: Readonly<Record<string, number | undefined>> =
    typeof definition.stepTimeoutMs === 'number'
      ? { default: definition.stepTimeoutMs }
      : { ...definition.stepTimeoutMs };
  const steps: Readonly<Record<string, StepFunction<Deps, Subject, Step> | undefined>> = definition.steps;
  const declared: Readonly<Record<string, StepDeclaration | undefined>> = definition.declared.steps;
  return {
    name: definition.name,
    version: definition.version,
    first: definition.first,
    deadlineMs: definition.deadlineMs,
    stepNames: definition.stepNames,
    retry,
    plan: {
      onCancel: definition.onCancel ?? null,
      onDeadline: definition.onDeadline ?? null,
      onFailure: definition.onFailure ?? null,
      attemptsMax: retry.attempts_max,
      retryDelayMs: (attempt) => backoffMs(attempt, { baseMs: retry.base_ms, capMs: retry.cap_ms }),
    },
    timeoutMs: (step) => timeouts[step] ?? timeouts['default'] ?? STEP_TIMEOUT_DEFAULT_MS,
    take: async (key, ctx) => {
      const [run, step] = [steps[key], declared[key]];
      const has = run !== undefined && step !== undefined;
      invariant(has, `workflow ${definition.name} version ${definition.version} has no step ${key}`);
      return run(deps, await definition.load(deps, ctx.run.subject_id), { ...ctx, step });
    },
  };
};
