/** Where the work on something is: the step in words, and how far the whole is by what its steps take. */
import type { AllocationView, Run } from '../core/rows.ts';

type Progress = NonNullable<AllocationView['progress']>;

const OVERALL_MAX = 99;

/** `isDetailed` adds what is left out of lists: what the step usually takes. */
export const progressOf = (run: Run | undefined, nowMs: number, isDetailed: boolean): Progress | null => {
  if (run === undefined || !['pending', 'running', 'waiting'].includes(run.state)) return null;
  const index = run.path.findIndex((one) => one.step === run.step);
  const at = run.path[index];
  if (at === undefined) return null;
  const isBegun = run.state !== 'pending';
  const elapsed = isBegun ? Math.max(0, nowMs - Date.parse(run.step_started_at)) / 1000 : 0;
  const fraction = Math.min(0.99, elapsed / at.seconds);
  const weights = run.path.map((one) => (one.kind === null ? 0 : one.seconds));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const before = weights.slice(0, index).reduce((sum, weight) => sum + weight, 0);
  const done = before + (weights[index] ?? 0) * fraction;
  return {
    workflow: run.workflow,
    step: at.step,
    label: at.label,
    step_number: index + 1,
    step_count: run.path.length,
    percent: at.bytes === undefined ? null : Math.floor(fraction * 100),
    bytes_per_s: at.bytes === undefined || !isBegun ? null : Math.round(at.bytes / at.seconds),
    started_at: run.step_started_at,
    expected_s: isDetailed && at.kind !== null ? Math.max(1, Math.round(at.seconds)) : null,
    overall_percent: Math.min(OVERALL_MAX, Math.floor((done / total) * 100)),
  };
};
