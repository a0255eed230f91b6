import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateHealth } from './health.ts';
import { clearRefusal, isStopped, LAUNCH_FAILURES_MAX, launchReport } from './launch-failures.ts';

const AT = '2026-11-16T12:00:00.000Z';
const verdictOf = (failures: number) =>
  evaluateHealth({
    reports: [launchReport(failures, 'The VM could not be started.', AT)],
    overrides: [],
    slots: [],
    unallocated: [],
    now: new Date(AT),
  });

test('failed launches are shown from the first, and stop placement only at the limit', () => {
  for (let failures = 0; failures <= LAUNCH_FAILURES_MAX + 1; failures++) {
    const verdict = verdictOf(failures);
    assert.equal(verdict.alerts.length, failures === 0 ? 0 : 1);
    assert.equal(verdict.health, failures < LAUNCH_FAILURES_MAX ? 'ok' : 'unhealthy');
    assert.equal(isStopped(failures), failures >= LAUNCH_FAILURES_MAX);
  }
  assert.match(verdictOf(1).alerts[0]?.message ?? '', /^A launch failed on this host\. The host is used last/);
  assert.match(verdictOf(3).alerts[0]?.message ?? '', /^3 launches in a row failed.*until an operator clears/);
  assert.ok((launchReport(1, 'x'.repeat(2_000), AT).alerts[0]?.message.length ?? 0) <= 500);
});

test('there is nothing to clear when no launch failed', () => {
  assert.deepEqual(clearRefusal(0), { is_done: true, reason: 'No launches have failed on the node.' });
  assert.equal(clearRefusal(1), null);
});
