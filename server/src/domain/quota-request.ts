import { REFUSALS } from './sentences.ts';

/** An approval raises a limit: one that operators have raised or removed meanwhile would be lowered. Null is no limit. */
export const approvalRefusal = (current: number | null, granted: number): string | null =>
  current === null || current >= granted ? REFUSALS.quota_request_reached(current, granted) : null;
