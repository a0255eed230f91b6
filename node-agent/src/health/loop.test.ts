import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HealthReport } from '@gpuaas/contract/node';
import { silentLog } from '@gpuaas/kit';
import { startTestHost } from '../../test/slice.ts';
import { HEALTH_MAX_S } from '../config.ts';
import { runHealthLoop } from './loop.ts';

test('health is reported periodically, at once when it changes, and again after a failed report', async (t) => {
  const host = startTestHost(t);
  const stop = new AbortController();
  const sent: HealthReport[] = [];
  let now = Date.parse('2026-06-01T00:00:00Z');
  await runHealthLoop({
    host: host.sim,
    state: host.state,
    log: silentLog(),
    signal: stop.signal,
    every_ms: 30_000,
    interval_ms: 0,
    now: () => new Date(now),
    send: async (report) => {
      sent.push(report);
      if (sent.length === 1) throw new Error('the platform is away');
      if (sent.length === 2) {
        now += 29_999;
        host.fault({ state: 'fabric_manager_dead' });
      }
      if (sent.length === 3) now += 30_000;
      if (sent.length === 4) stop.abort();
    },
  });
  assert.deepEqual(
    sent.map((report) => [report.observed_at.slice(14, 23), report.alerts.map((alert) => alert.id)]),
    [
      ['00:00.000', []],
      ['00:00.000', []],
      ['00:29.999', ['fabric_manager_down']],
      ['00:59.999', ['fabric_manager_down']],
    ],
  );
});

test('a disk that the host mounts right after a check is reported within a minute', async (t) => {
  let waited = 0;
  t.mock.method(globalThis, 'setTimeout', (done: () => void, ms: number) => {
    waited += ms;
    return setImmediate(done);
  });
  for (const interval of [{}, { interval_ms: HEALTH_MAX_S * 1_000 }]) {
    const host = startTestHost(t);
    const stop = new AbortController();
    const sent: HealthReport[] = [];
    waited = 0;
    await runHealthLoop({
      ...interval,
      host: host.sim,
      state: host.state,
      log: silentLog(),
      signal: stop.signal,
      now: () => new Date(Date.parse('2026-06-01T00:00:00Z') + waited),
      send: async (report) => {
        sent.push(report);
        if (sent.length === 1) host.fault({ state: 'disk_mounted', slot: 0 });
        else stop.abort();
      },
    });
    assert.deepEqual(
      sent.map(({ alerts }) => alerts.map(({ id }) => id)),
      [[], ['disk_in_use']],
    );
    assert.ok(waited > 0 && waited < 60_000, `${waited} ms`);
  }
});
