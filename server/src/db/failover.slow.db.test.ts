/** The primary dies under launches and releases, and its replica takes over. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { startTestApp } from '../../test/app.ts';
import { newClusterDir } from '../../test/cluster.ts';
import { startPgProxy } from '../../test/pg-proxy.ts';
import { startTraffic } from '../../test/traffic.ts';
import { until } from '../../test/until.ts';
import { removeEmbeddedPostgres, startEmbeddedPostgres } from '../ports/postgres/embedded.ts';
import { findHome } from '../ports/postgres/placement.ts';
import { createDatabase } from './client.ts';
import { APP_ROLE, migrate } from './migrate.ts';

const RECOVERS_WITHIN_MS = 15_000;
const WITHIN_MS = 120_000;
const ENOUGH = 3;

const closers: (() => Promise<void>)[] = [];
const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
after(async () => {
  for (const close of closers) await close();
});

const start = async (dataDir: string) => {
  const postgres = await startEmbeddedPostgres({ dataDir, durability: 'safe' });
  t.after(() => postgres.stop());
  return postgres;
};

const newDir = (): string => {
  const dir = newClusterDir();
  t.after(() => removeEmbeddedPostgres(dir));
  return dir;
};

const connect = async (url: string): Promise<Client> => {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  t.after(() => client.end());
  return client;
};

/** A copy of a stopped cluster that follows it once both run. The copy keeps owners, because PostgreSQL insists on its own. */
const copyAsStandby = (primaryDir: string, standbyDir: string, primaryUrl: string): void => {
  const from = join(findHome(primaryDir), 'data');
  const to = join(findHome(standbyDir), 'data');
  mkdirSync(standbyDir, { recursive: true });
  assert.equal(spawnSync('cp', ['-a', from, to]).status, 0);
  // An empty file of the cluster's owner.
  assert.equal(spawnSync('cp', ['-a', join(to, 'PG_VERSION'), join(to, 'standby.signal')]).status, 0);
  const { searchParams, username } = new URL(primaryUrl);
  const conninfo = `host=${searchParams.get('host')} user=${username} application_name=replica`;
  appendFileSync(join(to, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
};

it('the primary is killed under launches and releases: 503 until the replica is promoted, then all work continues on it', async () => {
  const dirs = { primary: newDir(), standby: newDir() };
  const first = await start(dirs.primary);
  await migrate({ url: first.url, log: silentLog() });
  await first.stop();
  copyAsStandby(dirs.primary, dirs.standby, first.url);
  const primary = await start(dirs.primary);
  const standby = await start(dirs.standby);
  const [sql, replica] = [await connect(primary.url), await connect(standby.url)];
  // A commit that was confirmed is on both, or this test could lose it.
  await sql.query("alter system set synchronous_standby_names = 'replica'");
  await sql.query('select pg_reload_conf()');
  await until('the replica to stream, in step', async () => {
    const { rows } = await sql.query(
      "select from pg_stat_replication where state = 'streaming' and sync_state = 'sync'",
    );
    return rows.length === 1;
  });

  const hosts = [await startPgProxy(t, standby.url), await startPgProxy(t, primary.url)].map(({ url }) => new URL(url));
  const url = `postgresql://${hosts[0]?.username}@${hosts.map(({ host }) => host).join(',')}${hosts[0]?.pathname}`;
  const database = createDatabase({ url, role: APP_ROLE, log: silentLog(), poolMax: 4 });
  t.after(() => database.end());
  const db = { ownerUrl: primary.url, url, database, drop: async () => {} };
  const test = await startTestApp(t, { database_url: url }, { db });
  const tenant = await test.user('ada');
  const nobody = test.bearer(null);
  const traffic = await startTraffic({ t, tenant, ...db, nodes: 1, tenants: 3 });
  await until('work before', () => traffic.released() >= ENOUGH, WITHIN_MS);
  assert.equal((await nobody.get('/readyz')).status, 200, 'the standby is first in the list and is not used');

  const refused = traffic.count(503);
  const refusals = (count: number) => until('refusals', () => traffic.count(503) >= refused + count, WITHIN_MS);
  process.kill(primary.pid, 'SIGKILL');
  await primary.exited;
  // Sessions that were committing still do; then they notice that their server is gone.
  await refusals(ENOUGH);
  const accepted = traffic.count(202);
  await refusals(ENOUGH * 3);
  assert.equal(traffic.count(202), accepted, 'nothing is accepted without a primary');
  const down = await nobody.get('/readyz');
  assert.deepEqual([down.status, down.body.ready], [503, false]);

  const { rows } = await replica.query('select pg_promote(true, 10) as is_promoted');
  assert.deepEqual(rows, [{ is_promoted: true }]);
  const promotedAt = performance.now();
  await until('work on the replica', () => traffic.count(202) > accepted, RECOVERS_WITHIN_MS);
  const recovered_ms = Math.round(performance.now() - promotedAt);
  await until('readiness', async () => (await nobody.get('/readyz')).status === 200, RECOVERS_WITHIN_MS);
  const done = traffic.released();
  await until('work after', () => traffic.released() >= done + ENOUGH, WITHIN_MS);
  await traffic.finish(standby.url);
  assert.equal(traffic.count(500), 0);
  console.log(JSON.stringify({ recovered_ms, refused: traffic.count(503) - refused }));
});
