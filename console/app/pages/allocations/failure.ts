/** The description of a failed allocation: what failed, what it cost, what happens now, and the available actions. */
import { type Allocation, FAILED_STEP_OUTCOMES, type TimelineEntry } from '@gpuaas/sdk';
import { money } from '../../format/money.ts';
import { duration } from '../../format/time.ts';

const FAILED_OUTCOMES: readonly string[] = FAILED_STEP_OUTCOMES;

export const isFailedEntry = ({ outcome }: Pick<TimelineEntry, 'outcome'>): boolean =>
  FAILED_OUTCOMES.includes(outcome);

/** The last failed step; for a failed launch not one of the cleanup after it. */
export const lastFailure = (
  timeline: readonly TimelineEntry[],
  state: Allocation['state'],
): TimelineEntry | undefined =>
  timeline.findLast((entry) => isFailedEntry(entry) && (state !== 'failed' || entry.phase === 'launch'));

const ENDINGS: Readonly<Record<string, string>> = {
  failed: 'failed',
  stuck: 'stopped',
  error: 'failed',
  timeout: 'timed out',
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
  if (cost.amount_minor === 0) return 'No charges.';
  return state === 'release_failed'
    ? `${money(cost)} charged until release. Cleanup is not charged.`
    : `${money(cost)} charged while active. Charging has ended.`;
};

/** A failed launch keeps its state; only its steps show whether the cleanup after it is complete or blocked. */
const cleanupEnd = (timeline: readonly TimelineEntry[]): string | undefined => {
  const last = timeline.findLast(({ phase }) => phase !== 'launch');
  return last !== undefined && ['done', 'stuck'].includes(last.outcome) ? last.outcome : undefined;
};

const nowWords = ({ state, released_at, progress }: Failed, timeline: readonly TimelineEntry[]): string => {
  const end = state === 'failed' ? cleanupEnd(timeline) : undefined;
  if (released_at !== null || end === 'done') return 'The disks are wiped and verified. The GPUs are available again.';
  if (end === 'stuck')
    return 'Cleanup is blocked. GPUs and disks stay unschedulable until the wipe is verified. Operators have been notified.';
  if (state === 'release_failed')
    return 'GPUs and disks stay unschedulable until the wipe is verified. Operators have been notified.';
  if (progress !== null) return 'The disks are being wiped. GPUs stay unschedulable until the wipe is verified.';
  return 'Cleanup is running. GPUs stay unschedulable until the wipe is verified.';
};

export const failureWords = (allocation: Failed, timeline: readonly TimelineEntry[]): FailureWords | null => {
  if (allocation.state !== 'failed' && allocation.state !== 'release_failed') return null;
  const at = lastFailure(timeline, allocation.state);
  const reason = allocation.state_reason ?? at?.detail ?? null;
  return {
    title: allocation.state === 'failed' ? 'Launch failed' : 'Cleanup blocked',
    cause: reason === null ? 'No reason was reported. See the timeline.' : sentence(reason),
    step:
      at === undefined
        ? null
        : `“${at.label}” ${ENDINGS[at.outcome] ?? at.outcome} on attempt ${Math.max(1, at.attempt)} after ${duration(at.duration_ms)}.`,
    charged: chargedWords(allocation),
    now: nowWords(allocation, timeline),
  };
};

/** The data that operators need for support, without tenant names. */
export const reportText = ({ id, correlation_id, state, state_reason }: Allocation): string =>
  [
    `Allocation: ${id}`,
    `Correlation ID: ${correlation_id}`,
    `State: ${state}${state_reason === null ? '' : `: ${state_reason}`}`,
    '',
    'What I did and expected:',
    '',
  ].join('\n');

export const reportLink = (allocation: Allocation): string =>
  `mailto:?subject=${encodeURIComponent(`GPUaaS allocation ${allocation.id} ${allocation.state}`)}&body=${encodeURIComponent(reportText(allocation))}`;
