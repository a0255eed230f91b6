/**
 * The timeline of an allocation, grouped into runs: a launch, a power change or a cleanup, each with its steps and
 * attempts.
 */
import { STEP_OUTCOME_LABELS, type TimelineEntry } from '@gpuaas/sdk';
import type { Tone } from '../../format/state.ts';
import { isFailedEntry } from './failure.ts';

export type TimelineRun = Readonly<{
  key: string;
  workflow: string;
  title: string;
  kind: TimelineEntry['phase'];
  entries: readonly TimelineEntry[];
  started_at: string;
  finished_at: string;
  duration_ms: number;
  failures: number;
}>;

const runOf = (entries: readonly TimelineEntry[], index: number): TimelineRun | null => {
  const [first, last] = [entries[0], entries.at(-1)];
  if (first === undefined || last === undefined) return null;
  return {
    key: `${index} ${first.workflow}`,
    workflow: first.workflow,
    title: first.workflow_label,
    kind: first.phase,
    entries,
    started_at: first.started_at,
    finished_at: last.finished_at,
    duration_ms: Math.max(0, Date.parse(last.finished_at) - Date.parse(first.started_at)),
    failures: entries.filter(isFailedEntry).length,
  };
};

/** A run ends where another workflow begins or its step numbers restart. */
export const runsOf = (timeline: readonly TimelineEntry[]): readonly TimelineRun[] => {
  const groups: TimelineEntry[][] = [];
  for (const entry of timeline) {
    const last = groups.at(-1)?.at(-1);
    if (last !== undefined && last.workflow === entry.workflow && entry.sequence > last.sequence)
      groups.at(-1)?.push(entry);
    else groups.push([entry]);
  }
  return groups.flatMap((entries, index) => runOf(entries, index) ?? []);
};

const TONES: Readonly<Record<TimelineEntry['outcome'], Tone>> = {
  next: 'good',
  done: 'good',
  wait: 'busy',
  retried: 'warn',
  failed: 'bad',
  error: 'bad',
  timeout: 'bad',
  stuck: 'bad',
  cancelled: 'idle',
};

export const outcomeWord = (outcome: TimelineEntry['outcome']): Readonly<{ word: string; tone: Tone }> => {
  const label = STEP_OUTCOME_LABELS[outcome];
  return { word: label.charAt(0).toUpperCase() + label.slice(1), tone: TONES[outcome] };
};
