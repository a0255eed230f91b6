/**
 * The checks of the site as a table of pure judgements. A check judges one fact; a fact that could not be read makes its
 * check `unknown` with the reason, and no other. Everything that is not in order names its cure.
 */
import type { SiteCheckState } from '@gpuaas/contract';
import type { Fact, GatheredFacts } from './doctor-facts.ts';
import { INFRASTRUCTURE_CHECKS } from './doctor-infrastructure.ts';
import { SERVICE_CHECKS } from './doctor-services.ts';
import { type AnyCheck, because } from './doctor-verdict.ts';

export type SiteCheck = Readonly<{
  key: string;
  label: string;
  state: SiteCheckState;
  detail: string;
  cure: string | null;
  runbook_url: string | null;
}>;

export const SITE_CHECKS: readonly AnyCheck[] = [...INFRASTRUCTURE_CHECKS, ...SERVICE_CHECKS];

const judge = (check: AnyCheck, facts: GatheredFacts, now: Date): Pick<SiteCheck, 'state' | 'detail' | 'cure'> => {
  const fact = facts[check.fact] as Fact<never>;
  if ('value' in fact) return check.judge(fact.value, now);
  return {
    state: 'unknown',
    detail: `The check did not complete: ${because(fact.unknown)}`,
    cure: 'Repeat it. If it stays unknown, read the log of gpuaas-api.',
  };
};

export const judgeSite = (facts: GatheredFacts, now: Date): SiteCheck[] =>
  SITE_CHECKS.map((check) => {
    const { key, label, runbook } = check;
    const runbook_url = runbook === null ? null : `doc/operations/runbooks/${runbook}`;
    return { key, label, ...judge(check, facts, now), runbook_url };
  });

/** The worst of them. What could not be checked may be broken, so it is a warning. */
export const siteState = (checks: readonly Pick<SiteCheck, 'state'>[]): 'ok' | 'warning' | 'failed' => {
  const states = new Set(checks.map(({ state }) => state));
  if (states.has('failed')) return 'failed';
  return states.has('warning') || states.has('unknown') ? 'warning' : 'ok';
};
