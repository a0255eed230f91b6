/** The shape of a check of the site, and the words that several checks share. */
import type { SiteCheckState } from '@gpuaas/contract';
import type { FactName, SiteFacts } from './doctor-facts.ts';

export type Verdict = Readonly<{ state: SiteCheckState; detail: string; cure: string | null }>;

export const ok = (detail: string): Verdict => ({ state: 'ok', detail, cure: null });
export const warning = (detail: string, cure: string): Verdict => ({ state: 'warning', detail, cure });
export const failed = (detail: string, cure: string): Verdict => ({ state: 'failed', detail, cure });
export const notConfigured = (detail: string): Verdict => ({ state: 'not_configured', detail, cure: null });

type Check<K extends FactName> = Readonly<{
  key: string;
  label: string;
  fact: K;
  /** A file of doc/operations/runbooks, with its anchor. */
  runbook: string | null;
  judge(fact: SiteFacts[K], now: Date): Verdict;
}>;
export type AnyCheck = Check<FactName>;

/** Each judgement has the type of its own fact; in the table they stand side by side. */
export const check = <K extends FactName>(declared: Check<K>): AnyCheck => declared as unknown as AnyCheck;

const MINUTE_S = 60;
const HOUR_S = 3_600;
export const DAY_S = 86_400;

export const span = (seconds: number): string => {
  const abs = Math.abs(seconds);
  const of = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`;
  if (abs < 2 * MINUTE_S) return of(Math.round(abs), 'second');
  if (abs < 2 * HOUR_S) return of(Math.round(abs / MINUTE_S), 'minute');
  return abs < 2 * DAY_S ? of(Math.round(abs / HOUR_S), 'hour') : of(Math.round(abs / DAY_S), 'day');
};

export const secondsUntil = (time: string, now: Date): number => (Date.parse(time) - now.getTime()) / 1000;

const LISTED_MAX = 5;
export const listed = (names: readonly string[]): string =>
  names.length <= LISTED_MAX
    ? names.join(', ')
    : `${names.slice(0, LISTED_MAX).join(', ')} and ${names.length - LISTED_MAX} more`;

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

/** A reason from another system, as the end of a sentence. */
export const because = (reason: string): string => (/[.!?]$/.test(reason) ? reason : `${reason}.`);
