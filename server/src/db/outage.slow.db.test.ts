/** PostgreSQL is restarted, crashes, loses a backend, and its replies are lost, while two servers launch and release. */
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { Client } from 'pg';
import { startTestApp } from '../../test/app.ts';
import { startOwnPostgres } from '../../test/own-postgres.ts';
import { startPgProxy } from '../../test/pg-proxy.ts';
import { startTraffic } from '../../test/traffic.ts';
import { until } from '../../test/until.ts';

const RECOVERS_WITHIN_MS = 10_000;
const WITHIN_MS = 120_000;
const ENOUGH = 3;
const LOST_REPLIES = 3;
/** As GpuaasAuditSealLag has it. */
const TAIL_MAX_S = 60;

const closers: (() => Promise<void>)[] = [];
const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
after(async () => {
  for (const close of closers) await close();
});

const withSql = async <T>(url: string, fn: (sql: Client) => Promise<T>): Promise<T> => {
  const sql = new Client({ connectionString: url });
  sql.on('error', () => {});
  await sql.connect();
  try {
    return await fn(sql);
  } finally {
    await sql.end();
  }
};

it('PostgreSQL restarted, crashed, with a killed backend and with lost replies under launches and releases of two servers: each time work continues within 10 s, and nothing is half done or done twice', async () => {
  const { db, restart, crash, start } = await startOwnPostgres(t, 4);
  const { ownerUrl } = db;
  const proxy = await startPgProxy(t, ownerUrl);
  const one = await startTestApp(t, { database_url: proxy.url }, { db });
  const other = await startTestApp(t, {}, { db, issuer: one.issuer });
  const tenant = await one.user('ada');
  const callers = [tenant, other.bearer(tenant.token)];
  const traffic = await startTraffic({ t, tenant, callers, ...db, nodes: 1, tenants: 3 });

  const rounds: readonly Readonly<{ what: string; breakIt: () => Promise<void> }>[] = [
    {
      what: 'a fast shutdown',
      breakIt: restart,
    },
    {
      what: 'an immediate shutdown',
      breakIt: async () => {
        await crash();
        await start();
      },
    },
    {
      what: 'a killed backend',
      breakIt: async () => {
        const sessions =
          "select pid from pg_stat_activity where backend_type = 'client backend' and datname = 'gpuaas'";
        const listSessions = () =>
          withSql(ownerUrl, async (sql) => (await sql.query<{ pid: number }>(sessions)).rows.map(({ pid }) => pid));
        const [victim] = await listSessions();
        assert.ok(victim !== undefined);
        process.kill(victim, 'SIGKILL');
        // PostgreSQL ends all sessions and recovers.
        await until('it to accept connections again', async () => {
          const pids = await listSessions().catch(() => [victim]);
          return !pids.includes(victim);
        });
      },
    },
  ];
  const recovered_ms: Record<string, number> = {};
  for (const { what, breakIt } of rounds) {
    const before = traffic.released();
    await until(`work before ${what}`, () => traffic.released() >= before + ENOUGH, WITHIN_MS);
    await breakIt();
    const [up, accepted] = [performance.now(), traffic.count(202)];
    await until(`work after ${what}`, () => traffic.count(202) > accepted, RECOVERS_WITHIN_MS);
    recovered_ms[what] = Math.round(performance.now() - up);
    for (const server of [one, other])
      await until(
        'readiness',
        async () => (await server.bearer(null).get('/readyz')).status === 200,
        RECOVERS_WITHIN_MS,
      );
  }
  // Commits succeed, and the server does not learn it: the retry finds the effect. A cut may meet a refusal, which has none.
  for (const [kind, action] of [
    ['launches', 'allocation.create'],
    ['releases', 'allocation.release'],
  ] as const) {
    await proxy.cut(action, 'before the commit is sent');
    const wanted = traffic.replayed()[kind] + LOST_REPLIES;
    await until(
      `${LOST_REPLIES} retries of ${kind}`,
      async () => {
        await proxy.cut(action, 'after the commit succeeded');
        return traffic.replayed()[kind] >= wanted;
      },
      WITHIN_MS,
    );
  }
  await traffic.finish();
  assert.equal(traffic.count(500), 0);
  assert.ok(traffic.count(503) > 0, 'requests met the outages');
  const unsealed_s = traffic.oldestUnsealed();
  assert.ok(unsealed_s > 0 && unsealed_s < TAIL_MAX_S, `the tail of the audit log was ${unsealed_s} s old`);
  console.log(JSON.stringify({ recovered_ms, unsealed_s, accepted: traffic.count(202), refused: traffic.count(503) }));
});
