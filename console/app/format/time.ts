/** Human-readable times. Every relative time is shown with the exact one in UTC beside it or on hover. */
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `2 d 4 h`, `3 min`, `12 s`: at most two units, the second only if it matters. */
export const span = (ms: number): string => {
  const rest = Math.max(0, ms);
  if (rest < MINUTE) return `${Math.floor(rest / SECOND)} s`;
  if (rest < 10 * MINUTE) return pair(rest, MINUTE, 'min', SECOND, 's');
  if (rest < HOUR) return `${Math.floor(rest / MINUTE)} min`;
  if (rest < 10 * HOUR) return pair(rest, HOUR, 'h', MINUTE, 'min');
  if (rest < DAY) return `${Math.floor(rest / HOUR)} h`;
  return pair(rest, DAY, 'd', HOUR, 'h');
};

const pair = (ms: number, large: number, largeName: string, small: number, smallName: string): string => {
  const whole = Math.floor(ms / large);
  const part = Math.floor((ms % large) / small);
  return part === 0 ? `${whole} ${largeName}` : `${whole} ${largeName} ${part} ${smallName}`;
};

export const ago = (at: string, nowMs: number): string => {
  const ms = nowMs - Date.parse(at);
  return ms < 5 * SECOND ? 'just now' : `${span(ms)} ago`;
};

export const until = (at: string, nowMs: number): string => {
  const ms = Date.parse(at) - nowMs;
  return ms <= 0 ? 'now' : `in ${span(ms)}`;
};

/** `2026-11-15 22:57:07 UTC` */
export const exact = (at: string): string => `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** `2026-11-15 22:45 UTC`, for a time that is not known to the second. */
export const minute = (at: string): string => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/** `22:57:07.123` for a line of a timeline whose date is shown elsewhere. */
export const clock = (at: string): string => new Date(at).toISOString().slice(11, 23);
export const day = (at: string): string => new Date(at).toISOString().slice(0, 10);

const FLAG_UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** A duration as the CLI reads it, in the largest unit that is exact: 3d, 36h, 90m. */
export const durationFlag = (seconds: number): string => {
  const [unit, size] = FLAG_UNITS.find(([, one]) => seconds % one === 0) ?? FLAG_UNITS[3];
  return `${seconds / size}${unit}`;
};

export const duration = (ms: number): string =>
  ms < SECOND ? `${ms} ms` : ms < 10 * SECOND ? `${(ms / SECOND).toFixed(1)} s` : span(ms);
