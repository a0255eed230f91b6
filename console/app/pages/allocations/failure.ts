/** What is said of an allocation that failed: what failed, what it cost, what happens now, what one can do. */
import type { Allocation, TimelineEntry } from '@gpuaas/sdk';
import { money } from '../../format/money.ts';
import { duration } from '../../format/time.ts';

const FAILED_OUTCOMES: readonly string[] = ['stuck', 'error', 'timeout'];

export const isFailedEntry = ({ outcome }: Pick<TimelineEntry, 'outcome'>): boolean =>
  FAILED_OUTCOMES.includes(outcome);

/** The last step that went wrong; for a failed launch not one of the cleanup after it. */
export const lastFailure = (
  timeline: readonly TimelineEntry[],
  state: Allocation['state'],
): TimelineEntry | undefined =>
  timeline.findLast((entry) => isFailedEntry(entry) && (state !== 'failed' || entry.phase === 'launch'));

const ENDINGS: Readonly<Record<string, string>> = {
  stuck: 'gave up',
  error: 'failed',
  timeout: 'took too long',
};

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

export type FailureWords = Readonly<{
  title: string;
  cause: string;
  step: string | null;
  charged: string;
  now: string;
}>;

type Failed = Pick<Allocation, 'state' | 'state_reason' | 'cost_so_far' | 'released_at' | 'progress'>;

const chargedWords = ({ state, cost_so_far: cost }: Failed): string => {
  if (cost.amount_minor === 0) return 'Nothing was charged.';
  return state === 'release_failed'
    ? `${money(cost)} was charged for the time until it was given back. Charging ended then; the cleanup costs nothing.`
    : `${money(cost)} was charged for the time that it was active. Charging has ended.`;
};

/** A failed launch keeps its state; that the cleanup after it is over, or stands still, only its steps say. */
const cleanupEnd = (timeline: readonly TimelineEntry[]): string | undefined => {
  const last = timeline.findLast(({ phase }) => phase !== 'launch');
  return last !== undefined && ['done', 'stuck'].includes(last.outcome) ? last.outcome : undefined;
};

const nowWords = ({ state, released_at, progress }: Failed, timeline: readonly TimelineEntry[]): string => {
  const end = state === 'failed' ? cleanupEnd(timeline) : undefined;
  if (released_at !== null || end === 'done')
    return 'Its disks were erased and read back, and its GPUs are free for others.';
  if (end === 'stuck')
    return 'Its cleanup is blocked. Its GPUs and disks are held back: nobody gets them before the erasure is proven. The operators have been told.';
  if (state === 'release_failed')
    return 'Its GPUs and disks are held back: nobody gets them before the erasure is proven. The operators have been told.';
  if (progress !== null) return 'Its disks are being erased. Its GPUs are held back until that is proven.';
  return 'It is being cleaned up and its disks are erased. Its GPUs are held back until that is proven.';
};

export const failureWords = (allocation: Failed, timeline: readonly TimelineEntry[]): FailureWords | null => {
  if (allocation.state !== 'failed' && allocation.state !== 'release_failed') return null;
  const at = lastFailure(timeline, allocation.state);
  const reason = allocation.state_reason ?? at?.detail ?? null;
  return {
    title: allocation.state === 'failed' ? 'The launch failed' : 'The cleanup is blocked',
    cause: reason === null ? 'No reason was given; the timeline has what is known.' : sentence(reason),
    step:
      at === undefined
        ? null
        : `“${at.label}” ${ENDINGS[at.outcome] ?? at.outcome} at attempt ${Math.max(1, at.attempt)}, after ${duration(at.duration_ms)}.`,
    charged: chargedWords(allocation),
    now: nowWords(allocation, timeline),
  };
};

/** What somebody who helps needs to know, and nothing that names anything of the tenant's. */
export const reportText = ({ id, correlation_id, state, state_reason }: Allocation): string =>
  [
    `Allocation: ${id}`,
    `Correlation id: ${correlation_id}`,
    `State: ${state}${state_reason === null ? '' : `: ${state_reason}`}`,
    '',
    'What I did and expected:',
    '',
  ].join('\n');

export const reportLink = (allocation: Allocation): string =>
  `mailto:?subject=${encodeURIComponent(`GPUaaS allocation ${allocation.id} ${allocation.state}`)}&body=${encodeURIComponent(reportText(allocation))}`;
