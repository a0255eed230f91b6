/**
 * The progress of an allocation's work, derived from the declared steps of its workflow. A step is weighted by its
 * recent or usual duration, so that the percentage advances evenly; a step without a host task has no weight.
 */
import type { PublicApi, ResponseOf, StepOutcome } from '@gpuaas/contract';
import {
  type CapacityShape,
  type Phase,
  pathOf,
  type StepDeclaration,
  stepEntries,
  taskKindOf,
  type WorkflowDeclaration,
} from './workflow-declaration.ts';
import { findStep, WORKFLOWS } from './workflow-steps.ts';

/** Only runs of these workflows are shown as progress. */
const PROGRESS_PHASES: readonly Phase[] = ['launch', 'power', 'cleanup'];
const SHOWN: readonly WorkflowDeclaration[] = WORKFLOWS.filter(({ phase }) => PROGRESS_PHASES.includes(phase));

export const PROGRESS_WORKFLOWS: readonly string[] = SHOWN.map(({ name }) => name);
export const PROGRESS_KINDS: readonly string[] = [
  ...new Set(
    SHOWN.flatMap(stepEntries).flatMap(([, step]) =>
      (['gpu_slice', 'baremetal'] as const).flatMap((shape) => taskKindOf(step, shape) ?? []),
    ),
  ),
];

type View = NonNullable<ResponseOf<PublicApi['allocationGet']>['progress']>;
export type ProgressStep = View['steps'][number];
export type Progress = View;

/** What a run did in one of its steps so far. */
export type StepHistory = Readonly<{ step: string; outcome: StepOutcome; started_at: string; finished_at: string }>;

export type ProgressFacts = Readonly<{
  workflow: string;
  step: string;
  capacity_shape: CapacityShape;
  started_at: string;
  percent: number | null;
  bytes_per_s: number | null;
  note: string | null;
  /** Median duration of recent tasks in seconds, by kind. */
  medians_s: Readonly<Record<string, number>>;
  /** By step, at most once each; null omits the path. */
  history: readonly StepHistory[] | null;
}>;

/** A step that takes longer than usual is not almost done. */
const FRACTION_MAX = 0.95;
const OVERALL_MAX = 99;

/** The completed share of the step: as the agent reports, otherwise by its usual time. */
const fractionOf = ({ percent, started_at }: ProgressFacts, expectedS: number, nowMs: number): number => {
  if (percent !== null) return percent / 100;
  if (expectedS <= 0) return 0;
  return Math.min(FRACTION_MAX, Math.max(0, (nowMs - Date.parse(started_at)) / 1000 / expectedS));
};

const expectedOf = (step: StepDeclaration, { capacity_shape, medians_s }: ProgressFacts): number | null => {
  const kind = taskKindOf(step, capacity_shape);
  return kind === null ? null : (medians_s[kind] ?? step.usual_s);
};
const rounded = (seconds: number | null): number | null => (seconds === null ? null : Math.max(1, Math.round(seconds)));

const STATES: Readonly<Record<StepOutcome, ProgressStep['state']>> = {
  next: 'done',
  done: 'done',
  failed: 'failed',
  stuck: 'failed',
  error: 'failed',
  timeout: 'failed',
  cancelled: 'skipped',
  wait: 'skipped',
  retried: 'skipped',
};

/** A step that the run passed without running it is skipped; one that it may still reach is pending. */
const stateOf = (seen: StepHistory | undefined, isAhead: boolean): ProgressStep['state'] => {
  if (seen !== undefined) return STATES[seen.outcome];
  return isAhead ? 'pending' : 'skipped';
};

type Entry = readonly [string, StepDeclaration];

const shownStep = (facts: ProgressFacts, [key, declared]: Entry, isAhead: boolean): ProgressStep => {
  const seen = facts.history?.find(({ step }) => step === key);
  const base = { key, label: declared.label, expected_s: rounded(expectedOf(declared, facts)) };
  if (key === facts.step) {
    const { started_at, percent, note } = facts;
    return { ...base, state: 'running', started_at, took_ms: null, percent, note };
  }
  const state = stateOf(seen, isAhead);
  const took_ms = seen === undefined ? null : Math.max(0, Date.parse(seen.finished_at) - Date.parse(seen.started_at));
  return {
    ...base,
    state,
    started_at: seen === undefined ? null : new Date(seen.started_at).toISOString(),
    took_ms,
    percent: state === 'done' ? 100 : null,
    note: null,
  };
};

const isDone = ({ history }: ProgressFacts, key: string): boolean =>
  history?.some(({ step, outcome }) => step === key && STATES[outcome] === 'done') === true;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

export const progressOf = (
  facts: ProgressFacts,
  nowMs: number,
  among: readonly WorkflowDeclaration[] = SHOWN,
): Progress | null => {
  const found = findStep(facts.workflow, facts.step, among);
  if (found === undefined) return null;
  const { workflow, declared: at } = found;
  const path = pathOf(workflow);
  const isOn = path.some(([key]) => key === facts.step);
  // Off-path steps come last: the steps before them show how the run got there.
  const shown: readonly Entry[] = isOn ? path : [...path, [facts.step, at]];
  const index = shown.findIndex(([key]) => key === facts.step);
  const expected = expectedOf(at, facts);
  const weights = path.map(([, step]) => expectedOf(step, facts) ?? 0);
  const over = path.map(([key], place) => (isOn ? place < index : isDone(facts, key)));
  const before = sum(weights.filter((_, place) => over[place]));
  const done = before + (expected ?? 0) * fractionOf(facts, expected ?? 0, nowMs);
  return {
    workflow: facts.workflow,
    workflow_label: workflow.label,
    phase: workflow.phase,
    step: facts.step,
    label: at.label,
    step_number: index + 1,
    step_count: shown.length,
    percent: facts.percent,
    bytes_per_s: facts.bytes_per_s,
    note: facts.note,
    started_at: facts.started_at,
    expected_s: rounded(expected),
    overall_percent: Math.min(OVERALL_MAX, Math.floor((done / Math.max(sum(weights), Number.EPSILON)) * 100)),
    steps: facts.history === null ? [] : shown.map((entry, place) => shownStep(facts, entry, isOn && place > index)),
  };
};
