/**
 * Where the work on an allocation is, in words and numbers for its tenant, derived from the declared steps of its
 * workflow. How much a step weighs in the whole is what it took lately, or what it usually takes, so that the whole
 * moves evenly; a step without host work weighs nothing.
 */
import {
  type CapacityShape,
  type Phase,
  pathOf,
  type StepDeclaration,
  stepEntries,
  taskKindOf,
  type WorkflowDeclaration,
} from './workflow-declaration.ts';
import { findWorkflow, WORKFLOWS } from './workflow-steps.ts';

/** Of these an allocation shows its progress; the rest leaves it as it is. */
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

export type ProgressFacts = Readonly<{
  workflow: string;
  step: string;
  capacity_shape: CapacityShape;
  started_at: string;
  percent: number | null;
  bytes_per_s: number | null;
  /** What tasks took lately, as a median in seconds, by kind. */
  medians_s: Readonly<Record<string, number>>;
}>;

export type Progress = Readonly<{
  workflow: string;
  step: string;
  label: string;
  step_number: number;
  step_count: number;
  percent: number | null;
  bytes_per_s: number | null;
  started_at: string;
  expected_s: number | null;
  overall_percent: number;
}>;

/** Nobody knows that it is nearly done when it takes longer than usual. */
const FRACTION_MAX = 0.95;
const OVERALL_MAX = 99;

/** How much of the step is done: as the host says, else by the time it usually takes. */
const fractionOf = ({ percent, started_at }: ProgressFacts, expectedS: number | undefined, nowMs: number): number => {
  if (percent !== null) return percent / 100;
  if (expectedS === undefined || expectedS <= 0) return 0;
  return Math.min(FRACTION_MAX, Math.max(0, (nowMs - Date.parse(started_at)) / 1000 / expectedS));
};

export const progressOf = (facts: ProgressFacts, nowMs: number): Progress | null => {
  const declared = findWorkflow(facts.workflow, facts.step, SHOWN);
  const path = declared === undefined ? [] : pathOf(declared);
  const index = path.findIndex(([key]) => key === facts.step);
  const [, at] = path[index] ?? [];
  if (at === undefined) return null;
  const medianOf = (step: StepDeclaration): number | undefined => {
    const kind = taskKindOf(step, facts.capacity_shape);
    return kind === null ? undefined : facts.medians_s[kind];
  };
  const weights = path.map(([, step]) => medianOf(step) ?? step.usual_s);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const expected = at.task === null ? undefined : (medianOf(at) ?? at.usual_s);
  const done = sum(weights.slice(0, index)) + sum(weights.slice(index, index + 1)) * fractionOf(facts, expected, nowMs);
  return {
    workflow: facts.workflow,
    step: facts.step,
    label: at.label,
    step_number: index + 1,
    step_count: path.length,
    percent: facts.percent,
    bytes_per_s: facts.bytes_per_s,
    started_at: facts.started_at,
    expected_s: expected === undefined ? null : Math.max(1, Math.round(expected)),
    overall_percent: Math.min(OVERALL_MAX, Math.floor((done / Math.max(sum(weights), Number.EPSILON)) * 100)),
  };
};
