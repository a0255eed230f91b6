/** Launches and releases while the network between a process and its database is silent. */

import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startTestApp } from '../../test/app.ts';
import { testDatabase } from '../../test/database.ts';
import { startPgProxy } from '../../test/pg-proxy.ts';
import { startTraffic } from '../../test/traffic.ts';
import { until as untilWithin } from '../../test/until.ts';

/** Of a query: longer than a loop may stall, and than a query takes on a busy machine. */
const LIMIT_MS = 8_000;
const STALLED_MS = { unready: 1_000, exit: 3_000 };
const WITHIN_MS = 300_000;
const LOOK_AGAIN_MS = 200;
const ENOUGH = 4;

const until = (what: string, condition: () => boolean | Promise<boolean>) => untilWithin(what, condition, WITHIN_MS);

const closers: (() => Promise<void>)[] = [];
const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
after(async () => {
  for (const close of closers) await close();
});

it('under launches and releases: not ready meanwhile, all work continues when it is back, nothing is half done', async () => {
  const db = await testDatabase(t);
  const proxy = await startPgProxy(t, db.ownerUrl);
  const stalled: string[] = [];
  const test = await startTestApp(
    t,
    { database_url: proxy.url, database_query_timeout_ms: LIMIT_MS, loop_stalled_ms: STALLED_MS },
    { db, onStall: (loop) => void stalled.push(loop) },
  );
  const tenant = await test.user('ada');
  const nobody = test.bearer(null);
  // Each look commits a write.
  const readiness = async () => {
    await pause(LOOK_AGAIN_MS);
    return (await nobody.get('/readyz')).body;
  };
  const traffic = await startTraffic({ t, tenant, ...db, nodes: 1, tenants: 3 });
  await until('work before', () => traffic.released() >= ENOUGH);
  await until('readiness before', async () => (await readiness()).ready);
  proxy.silence();
  await until('a stalled loop to be named', async () => {
    const { ready, checks } = await readiness();
    assert.deepEqual([ready, checks.database], [false, 'unreachable']);
    return /no longer running: \w/.test(checks.loops);
  });
  assert.equal((await nobody.get('/healthz')).status, 200);
  await until('the process to be told to end', () => stalled.length === 1);
  const refused = traffic.count(503);
  await until('refusals', () => traffic.count(503) >= refused + ENOUGH);
  proxy.heal();
  await until('readiness', async () => (await readiness()).ready);
  const done = traffic.released();
  await until('work after', () => traffic.released() >= done + ENOUGH);
  await traffic.finish();
});
