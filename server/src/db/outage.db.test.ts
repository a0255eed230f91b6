import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { Client } from 'pg';
import { startTestApp, type TestResponse } from '../../test/app.ts';
import { testDatabase } from '../../test/database.ts';
import { startOwnPostgres } from '../../test/own-postgres.ts';
import { startPgProxy } from '../../test/pg-proxy.ts';
import type { User } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';

const WORKERS = 6;
const ENOUGH = 30;

const withSql = async <T>(url: string, fn: (sql: Client) => Promise<T>): Promise<T> => {
  const sql = new Client({ connectionString: url });
  await sql.connect();
  try {
    return await fn(sql);
  } finally {
    await sql.end();
  }
};

describe('the database becomes unavailable', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  after(async () => {
    for (const close of closers) await close();
  });

  const create = (user: User, name: string, key: string) =>
    user.post(`/api/v1/organizations/${user.organization_id}/projects`, { name }, { 'idempotency-key': key });

  it('restarted under load: 503 meanwhile, then recovery, no partial writes', async () => {
    const { db, crash, start } = await startOwnPostgres(t, 2);
    const test = await startTestApp(t, {}, { db });
    const ada = await test.user('ada');

    const sent: { name: string; key: string; answer: TestResponse }[] = [];
    const count = (status: number) => sent.filter(({ answer }) => answer.status === status).length;
    let stopping = false;
    const worker = async () => {
      while (!stopping) {
        const [name, key] = [`p-${randomUUID()}`, randomUUID()];
        sent.push({ name, key, answer: await create(ada, name, key) });
      }
    };
    const load = Promise.all(Array.from({ length: WORKERS }, worker));
    const nobody = test.bearer(null);

    await until('work before', () => count(201) >= ENOUGH);
    assert.equal((await nobody.get('/readyz')).status, 200);
    await crash();
    const [refusedBefore, madeBefore] = [count(503), count(201)];
    await until('refusals', () => count(503) >= refusedBefore + ENOUGH);
    const down = await nobody.get('/readyz');
    assert.deepEqual([down.status, down.body.ready, down.body.checks.database], [503, false, 'unreachable']);
    assert.equal((await nobody.get('/healthz')).status, 200, 'alive, though not ready');
    assert.equal(count(201), madeBefore, 'nothing succeeds without a database');

    await start();
    const started = performance.now();
    await until('recovery', () => count(201) > madeBefore);
    await until('readiness', async () => (await nobody.get('/readyz')).status === 200);
    const recoveredMs = performance.now() - started;
    await until('work after', () => count(201) >= madeBefore + ENOUGH);
    stopping = true;
    await load;

    assert.deepEqual(new Set(sent.map(({ answer }) => answer.status)), new Set([201, 503]));
    for (const { answer } of sent) {
      if (answer.status !== 503) continue;
      assert.deepEqual([answer.body.code, answer.body.retryable], ['unavailable', true]);
      assert.ok(Number(answer.headers['retry-after']) > 0);
    }
    // A refused client retries with the same key: one effect each, whether or not the first attempt committed.
    for (const one of sent.filter(({ answer }) => answer.status === 503).slice(-200))
      assert.equal((await create(ada, one.name, one.key)).status, 201);
    await withSql(db.ownerUrl, async (sql) => {
      const halves = await sql.query(
        `select p.id as project, count(distinct a.id) filter (where a.metadata ->> 'replayed' is null) as audits, count(distinct o.id) as events
         from (select id from projects where name like 'p-%') p
         full join (select * from audit_logs where action = 'project.create' and result = 'success') a on a.target_id = p.id
         full join (select * from outbox_events where event_type = 'project.created' and data ->> 'name' like 'p-%') o on o.subject = p.id
         group by 1 having p.id is null or count(distinct a.id) filter (where a.metadata ->> 'replayed' is null) <> 1 or count(distinct o.id) <> 1`,
      );
      assert.deepEqual(halves.rows, []);
      const { rows } = await sql.query<{ name: string }>("select name from projects where name like 'p-%'");
      const names = new Set(rows.map((row) => row.name));
      assert.equal(names.size, rows.length);
      for (const { name, answer } of sent) if (answer.status === 201) assert.ok(names.has(name), `${name} is lost`);
      // Background work recovered too: events are sent and audit rows are sealed.
      const unsent = 'select from outbox_events where sent_at is null';
      const unsealed =
        'select from audit_logs l where not exists (select from audit_seals s where s.audit_log_id = l.id)';
      await until('relay', async () => (await sql.query(unsent)).rowCount === 0);
      await until('sealing', async () => (await sql.query(unsealed)).rowCount === 0);
    });
    console.log(JSON.stringify({ requests: sent.length, refused: count(503), recovered_ms: Math.round(recoveredMs) }));
  });

  describe('during one request', () => {
    const setting = async () => {
      const db = await testDatabase(t);
      const proxy = await startPgProxy(t, db.ownerUrl);
      const test = await startTestApp(t, { database_url: proxy.url }, { db });
      return { db, proxy, ada: await test.user('ada') };
    };
    const counts = (url: string, name: string) =>
      withSql(url, async (sql) => {
        const [projects, events] = await Promise.all([
          sql.query('select from projects where name = $1', [name]),
          sql.query("select from outbox_events where event_type = 'project.created' and data ->> 'name' = $1", [name]),
        ]);
        return [projects.rowCount, events.rowCount];
      });

    it('the commit succeeded and the response was lost: the retry finds it, and there is one project', async () => {
      const { db, proxy, ada } = await setting();
      const [name, key] = [`lost-${randomUUID().slice(0, 8)}`, randomUUID()];
      const cut = proxy.cut(name, 'after the commit succeeded');
      const first = await create(ada, name, key);
      await cut;
      assert.deepEqual([first.status, first.body.code, first.body.retryable], [503, 'unavailable', true]);
      assert.deepEqual(await counts(db.ownerUrl, name), [1, 1]);
      const again = await create(ada, name, key);
      assert.deepEqual([again.status, again.headers['idempotency-replayed']], [201, 'true']);
      assert.equal(again.body.name, name);
      assert.deepEqual(await counts(db.ownerUrl, name), [1, 1]);
    });

    it('the commit never arrived: nothing exists, and the retry does it once', async () => {
      const { db, proxy, ada } = await setting();
      const [name, key] = [`cut-${randomUUID().slice(0, 8)}`, randomUUID()];
      const cut = proxy.cut(name, 'before the commit is sent');
      const first = await create(ada, name, key);
      await cut;
      assert.equal(first.status, 503);
      assert.deepEqual(await counts(db.ownerUrl, name), [0, 0]);
      await until('the dead session lets go of the key', async () => (await create(ada, name, key)).status === 201);
      assert.deepEqual(await counts(db.ownerUrl, name), [1, 1]);
    });
  });
});
