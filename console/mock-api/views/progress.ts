/** The progress of an allocation's run, by the server's own rule. */
import { progressOf as progressByRule } from '../../../server/src/domain/progress.ts';
import { isLive } from '../../../server/src/domain/workflow.ts';
import type { Allocation, AllocationView, Run } from '../core/rows.ts';

/** `isDetailed` adds the fields that lists leave out: every step of the path. */
export const progressOf = (
  run: Run | undefined,
  { capacity_shape }: Allocation,
  nowMs: number,
  isDetailed: boolean,
): AllocationView['progress'] => {
  if (run === undefined || !isLive(run.state)) return null;
  const at = run.path.find(({ step }) => step === run.step);
  const bytes = run.state === 'pending' ? undefined : at?.bytes;
  const elapsedS = Math.max(0, nowMs - Date.parse(run.step_started_at)) / 1000;
  const facts = {
    workflow: run.workflow,
    step: run.step,
    capacity_shape,
    started_at: run.step_started_at,
    percent: at === undefined || bytes === undefined ? null : Math.min(99, Math.floor((elapsedS / at.seconds) * 100)),
    bytes_per_s: at === undefined || bytes === undefined ? null : Math.round(bytes / at.seconds),
    note: null,
    medians_s: Object.fromEntries(run.path.flatMap(({ kind, seconds }) => (kind === null ? [] : [[kind, seconds]]))),
    history: isDetailed ? run.steps : null,
  };
  return progressByRule(facts, nowMs);
};
