/** Builds the health report from what was read, what the kernel logged, and what is expected. */
import type { Fact, HealthReport } from '@gpuaas/contract/node';
import { factOf, reasonOf } from '../topology/read.ts';
import { alertKey, type Checked, type Expectation, type HealthFacts, SHOWN, toAlert } from './alert.ts';
import { checkDiskUse } from './disk-use-check.ts';
import { checkLog } from './gpu-log-check.ts';
import {
  checkBoot,
  checkDisks,
  checkEcc,
  checkFabricManager,
  checkGpuCount,
  checkLinks,
  checkReadable,
  checkTemperature,
} from './host-check.ts';

export const HEALTH_SOURCE = 'node-agent';
const ALERTS_MAX = 200;

export const healthReport = (
  facts: HealthFacts,
  log: Fact<readonly string[]>,
  expectation: Expectation,
): HealthReport => {
  const system = factOf(facts.system);
  const checks: readonly Checked[] = [
    checkReadable(facts),
    checkReadLog(log, system === null ? null : new Date(system.booted_at)),
    checkGpuCount(facts, expectation),
    checkLinks(facts),
    checkEcc(facts),
    checkTemperature(facts),
    checkFabricManager(facts),
    checkDisks(facts, expectation),
    checkDiskUse(facts, expectation),
    checkBoot(facts, expectation),
  ];
  // Two checks may find the same condition; the first one is kept.
  const alerts = new Map(
    checks
      .flatMap((check) => check.found)
      .toReversed()
      .map((found) => [alertKey(found), toAlert(found, expectation, facts.observed_at)]),
  );
  return {
    source: HEALTH_SOURCE,
    observed_at: facts.observed_at,
    successes: checks.filter((check) => check.found.length === 0).map((check) => check.name),
    alerts: [...alerts.values()].toReversed().toSorted(worstFirst).slice(0, ALERTS_MAX),
  };
};

type Alert = HealthReport['alerts'][number];

/** If there are too many alerts, the most important are sent. */
const worstFirst = (a: Alert, b: Alert): number => weight(a) - weight(b);
const weight = (alert: Alert): number => {
  if (alert.classifications.includes('prevent_allocations')) return 0;
  return alert.classifications.includes('suppress_alert') ? 2 : 1;
};

const checkReadLog = (log: Fact<readonly string[]>, bootedAt: Date | null): Checked => {
  const reason = reasonOf(log);
  if (reason === null) return checkLog(factOf(log) ?? [], bootedAt);
  const message = `Failed to read the kernel log: ${reason}`;
  const found = { id: 'unreadable_kernel_log', target: 'node', message, tenant_message: null };
  return { name: 'kernel_log', found: [{ ...found, classifications: [...SHOWN] }] };
};
