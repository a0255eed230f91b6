/**
 * Allocations that need attention, with the reason: failed, blocked, late, charged but unused, or ending soon. Healthy
 * allocations are not listed.
 */
import { type Allocation, MOVING_ALLOCATION_STATES } from '@gpuaas/sdk';
import { money } from '../../format/money.ts';
import { span } from '../../format/time.ts';

export type Attention = Readonly<{ kind: string; tone: 'bad' | 'warn'; sentence: string; next: string }>;

const HOUR_MS = 3_600_000;
const SOON_MS = HOUR_MS;
/** A failure is listed for a while; after that it is only in the list of allocations. */
const NEWS_MS = 72 * HOUR_MS;

const because = (reason: string | null): string => (reason === null ? '' : `: ${reason.replace(/\.$/, '')}`);

const failure = (allocation: Allocation, nowMs: number): Attention | null => {
  if (allocation.state !== 'failed' || nowMs - Date.parse(allocation.state_since) > NEWS_MS) return null;
  const cost = allocation.activated_at === null ? 'No charges.' : `Charged: ${money(allocation.cost_so_far)}.`;
  return {
    kind: 'failed',
    tone: 'bad',
    sentence: `Failed ${span(nowMs - Date.parse(allocation.state_since))} ago${because(allocation.state_reason)}. ${cost}`,
    next: 'Open it to see the failure and to launch again.',
  };
};

const blocked = ({ state, state_reason }: Allocation): Attention | null =>
  state === 'release_failed'
    ? {
        kind: 'blocked',
        tone: 'bad',
        sentence: `Cleanup is blocked${because(state_reason)}. Charging has ended.`,
        next: 'A platform operator must act. The GPUs stay unschedulable until wiped.',
      }
    : null;

const late = ({ state, state_deadline_at }: Allocation, nowMs: number): Attention | null => {
  const isMoving = MOVING_ALLOCATION_STATES.some((moving) => moving === state);
  if (!isMoving || state_deadline_at === null || Date.parse(state_deadline_at) > nowMs) return null;
  const since = span(nowMs - Date.parse(state_deadline_at));
  return {
    kind: 'late',
    tone: 'bad',
    sentence: `${state === 'releasing' ? 'Cleanup' : 'Launch'} is overdue by ${since}.`,
    next: 'The timeline shows the current step.',
  };
};

const power = ({ state, power: vm }: Allocation): Attention | null => {
  if (state !== 'active' || vm === null) return null;
  if (vm.state === 'off')
    return {
      kind: 'off',
      tone: 'warn',
      sentence: 'Powered off and still charged: the GPUs stay reserved until release.',
      next: 'Start it, or release it to end the charges.',
    };
  return vm.state === 'unknown'
    ? {
        kind: 'power',
        tone: 'warn',
        sentence: `The power state is unknown${because(vm.reason)}.`,
        next: 'Start, stop or reboot it to reach a known state.',
      }
    : null;
};

const ending = ({ state, release_at, is_protected }: Allocation, nowMs: number): Attention | null => {
  if (state !== 'active' || release_at === null) return null;
  const leftMs = Date.parse(release_at) - nowMs;
  if (leftMs > SOON_MS) return null;
  if (is_protected)
    return leftMs > 0
      ? null
      : {
          kind: 'overdue',
          tone: 'warn',
          sentence: 'The maximum duration has passed, but the allocation is protected. Charges continue.',
          next: 'Unprotect it to release it, or extend the maximum duration.',
        };
  return {
    kind: 'ending',
    tone: 'warn',
    sentence:
      leftMs > 0
        ? `Released automatically in ${span(leftMs)}. The disks are wiped then.`
        : 'The maximum duration has passed. Release starts now.',
    next: 'Copy the data you need, or extend the maximum duration.',
  };
};

/** Everything about one allocation, the most severe first. */
export const attentionOf = (allocation: Allocation, nowMs: number): readonly Attention[] =>
  [
    failure(allocation, nowMs),
    blocked(allocation),
    late(allocation, nowMs),
    ending(allocation, nowMs),
    power(allocation),
  ].filter((one) => one !== null);

export type AttentionRow = Readonly<{ allocation: Allocation; attention: Attention }>;

export const attentionRows = (allocations: readonly Allocation[], nowMs: number): readonly AttentionRow[] => {
  const rows = allocations.flatMap((allocation) =>
    attentionOf(allocation, nowMs).map((attention) => ({ allocation, attention })),
  );
  return [
    ...rows.filter(({ attention }) => attention.tone === 'bad'),
    ...rows.filter(({ attention }) => attention.tone === 'warn'),
  ];
};
