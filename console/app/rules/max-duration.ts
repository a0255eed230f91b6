/** Bounds of an allocation's maximum duration, as the contract sets them. */
import { DURATION_MAX_S, DURATION_MIN_S } from '@gpuaas/sdk';

export const maxDurationProblem = (seconds: number): string | null => {
  if (!Number.isFinite(seconds)) return 'Enter a number of hours.';
  if (seconds < DURATION_MIN_S) return `Enter at least ${DURATION_MIN_S / 60} minutes.`;
  return seconds > DURATION_MAX_S ? `Enter at most ${DURATION_MAX_S / 86_400} days.` : null;
};
