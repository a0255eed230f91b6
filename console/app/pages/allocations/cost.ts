/** The cost between two responses of the server too: the last amount grows by the price per hour. */
import type { Allocation, Money } from '@gpuaas/sdk';

const HOUR_MS = 3_600_000;

type Charged = Pick<Allocation, 'activated_at' | 'release_requested_at' | 'gpu_count' | 'cost_so_far' | 'placement'>;

export const isCharged = ({ activated_at, release_requested_at }: Charged): boolean =>
  activated_at !== null && release_requested_at === null;

export const pricePerHour = ({ gpu_count, placement }: Pick<Allocation, 'gpu_count' | 'placement'>): Money => ({
  currency: placement.gpu_hourly_price.currency,
  amount_minor: gpu_count * placement.gpu_hourly_price.amount_minor,
});

/** Whole minor units, rounded down: the shown amount never exceeds the charge. */
export const costNow = (allocation: Charged, readAtMs: number, nowMs: number): Money => {
  if (!isCharged(allocation)) return allocation.cost_so_far;
  const since = Math.floor((pricePerHour(allocation).amount_minor * Math.max(0, nowMs - readAtMs)) / HOUR_MS);
  return { ...allocation.cost_so_far, amount_minor: allocation.cost_so_far.amount_minor + since };
};

/** The time left in words, or that there is no limit. */
export const endWords = (
  { release_at, is_protected, state, max_duration_s }: Allocation,
  left: (at: string) => string,
): string => {
  if (state === 'requested' || state === 'provisioning')
    return max_duration_s === null ? 'no limit' : 'starts at activation';
  if (release_at === null) return state === 'active' ? 'no limit' : '–';
  return is_protected ? `${left(release_at)}, protected` : left(release_at);
};
