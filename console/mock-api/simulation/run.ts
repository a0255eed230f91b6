/**
 * Workflow runs: one step after the other, each with its task on a host, its timeline entry and its event. A run whose
 * turn was incremented (cancelled, retried, superseded by a release) skips what was scheduled for it.
 */
import { REASONS } from '../../../server/src/domain/reasons.ts';
import { stepLabel, workflowWords } from '../../../server/src/domain/workflow-steps.ts';
import type { PathStep, Run } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { PATHS, type PathName, workflowOf } from './paths.ts';
import { endTask, startTask } from './task.ts';

const DEADLINE_MS = 3_600_000;
const OWNER = 'gpuaas-provisioning-worker/control-1';

export type Failing = Readonly<{ step: string; reason: string; error_code: string }>;
export type RunPlan = Readonly<{
  path: PathName;
  subject_id: string;
  organization_id: string | null;
  project_id: string | null;
  correlation_id: string;
  node_id: string | null;
  allocation_id: string | null;
  /** The step at which it fails, if it does. */
  failing?: Failing | null;
  onStep?: (step: PathStep) => void;
  onDone(run: Run): void;
  onStuck?: (run: Run, reason: string) => void;
}>;

/** How to continue a run, for those that may be retried. */
const plans = new WeakMap<Run, RunPlan>();

export const emitRun = (world: World, run: Run): void =>
  world.emit('workflow_run.changed', {
    subject: run.id,
    organization_id: run.organization_id,
    project_id: run.project_id,
    correlation_id: run.correlation_id,
    data: {
      workflow_run_id: run.id,
      workflow: run.workflow,
      subject_id: run.subject_id,
      step: run.step,
      state: run.state,
    },
  });

export const recordStep = (
  world: World,
  run: Run,
  outcome: Run['steps'][number]['outcome'],
  detail: string | null = null,
): void => {
  const finished_at = world.ago();
  run.steps.push({
    sequence: run.steps.length + 1,
    step: run.step,
    label: stepLabel(run.workflow, run.step),
    attempt: run.attempt,
    outcome,
    detail,
    started_at: run.step_started_at,
    finished_at,
    duration_ms: Date.parse(finished_at) - Date.parse(run.step_started_at),
  });
};

const endRun = (world: World, run: Run, state: Run['state'], reason: string | null): void => {
  run.state = state;
  run.state_reason = reason;
  run.state_since = world.ago();
  run.owner = null;
  run.state_deadline_at = null;
  run.turn += 1;
  if (state !== 'stuck') run.finished_at = world.ago();
  emitRun(world, run);
};

const enterStep = (world: World, run: Run, index: number, plan: RunPlan): void => {
  const at = run.path[index];
  if (at === undefined) return;
  const { turn } = run;
  run.step = at.step;
  run.step_started_at = world.ago();
  run.state = 'running';
  run.owner = OWNER;
  plan.onStep?.(at);
  run.task_id =
    at.kind === null || run.node_id === null
      ? null
      : startTask(
          world,
          {
            node_id: run.node_id,
            kind: at.kind,
            allocation_id: plan.allocation_id,
            correlation_id: run.correlation_id,
          },
          true,
        ).id;
  emitRun(world, run);
  world.agenda.after(at.seconds * 1000, () => {
    if (run.turn !== turn) return;
    const failing = plan.failing?.step === at.step ? plan.failing : null;
    if (failing) {
      endTask(world, run.task_id, { state: 'failed', reason: failing.reason, error_code: failing.error_code });
      // A failed launch leaves nothing to retry: its cleanup has its own run.
      const isLaunch = workflowWords(run.workflow).phase === 'launch';
      recordStep(world, run, isLaunch ? 'failed' : 'stuck', failing.reason);
      endRun(world, run, isLaunch ? 'done' : 'stuck', failing.reason);
      plan.onStuck?.(run, failing.reason);
      return;
    }
    endTask(world, run.task_id, { state: 'completed' });
    const isLast = index === run.path.length - 1;
    recordStep(world, run, isLast ? 'done' : 'next');
    if (!isLast) return enterStep(world, run, index + 1, plan);
    endRun(world, run, 'done', null);
    plan.onDone(run);
  });
};

/** A run as a row, before anything of it has happened. */
export const newRun = (world: World, plan: Omit<RunPlan, 'onDone'>, atMs = world.now()): Run => {
  const path: readonly PathStep[] = PATHS[plan.path];
  const at = new Date(atMs).toISOString();
  const run: Run = {
    id: world.mint('workflow_run', atMs),
    workflow: workflowOf(plan.path),
    workflow_version: 1,
    subject_id: plan.subject_id,
    organization_id: plan.organization_id,
    project_id: plan.project_id,
    step: path[0]?.step ?? '',
    state: 'pending',
    state_reason: null,
    state_since: at,
    state_deadline_at: new Date(atMs + DEADLINE_MS).toISOString(),
    attempt: 1,
    workers_lost: 0,
    wake_at: null,
    owner: null,
    correlation_id: plan.correlation_id,
    created_at: at,
    finished_at: null,
    path,
    step_started_at: at,
    node_id: plan.node_id,
    steps: [],
    task_id: null,
    turn: 0,
  };
  world.runs.set(run.id, run);
  return run;
};

export const startRun = (world: World, plan: RunPlan, delayMs = 300): Run => {
  const run = newRun(world, plan);
  plans.set(run, plan);
  emitRun(world, run);
  const { turn } = run;
  world.agenda.after(delayMs, () => {
    if (run.turn === turn) enterStep(world, run, 0, plan);
  });
  return run;
};

export const cancelRun = (world: World, run: Run, reason: string): void => {
  if (run.state === 'done' || run.state === 'cancelled') return;
  endTask(world, run.task_id, { state: 'cancelled', reason });
  recordStep(world, run, 'cancelled', reason);
  endRun(world, run, 'cancelled', reason);
};

/** Continues from a step; an injected failure from before succeeds now. */
export const retryRun = (world: World, run: Run, step: string, plan = plans.get(run)): void => {
  const index = Math.max(
    0,
    run.path.findIndex((one) => one.step === step),
  );
  recordStep(world, run, 'retried', REASONS.run_retried);
  run.turn += 1;
  run.attempt += 1;
  run.state_reason = null;
  run.state_since = world.ago();
  run.state_deadline_at = world.ago(-DEADLINE_MS);
  run.finished_at = null;
  if (plan !== undefined) enterStep(world, run, index, { ...plan, failing: null });
};

/** For seeded runs: what a retry would do. */
export const planFor = (run: Run, plan: RunPlan): void => {
  plans.set(run, plan);
};
