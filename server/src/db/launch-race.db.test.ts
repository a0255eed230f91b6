/** Launches that race through two control planes, and one whose response is lost. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { Client } from 'pg';
import { type Caller, startTestApp, type TestApp } from '../../test/app.ts';
import { type TestDatabase, testDatabase } from '../../test/database.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { startPgProxy } from '../../test/pg-proxy.ts';
import { aNode } from '../../test/placement.ts';
import { refreshSummary } from '../placement/summary.ts';
import { PLATFORM } from './client.ts';

const REGION = 'us-buffalo-1';
const LAUNCHES = 50;

const closers: (() => Promise<void>)[] = [];
const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
after(async () => {
  for (const close of closers) await close();
});

const withSql = async <T>(url: string, fn: (sql: Client) => Promise<T>): Promise<T> => {
  const sql = new Client({ connectionString: url });
  await sql.connect();
  try {
    return await fn(sql);
  } finally {
    await sql.end();
  }
};

/** A second control plane on the same database: callers of the first are callers of it. */
const startSecond = (first: TestApp): Promise<TestApp> =>
  startTestApp(t, { oidc: first.app.deps.config.oidc }, { db: first.db });

const addNode = (db: TestDatabase): Promise<void> =>
  withSql(db.ownerUrl, async (sql) => {
    const { id } = await aNode(sql, { region_name: REGION });
    await db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
  });

const launch = (caller: Caller, project: string, gpu_count: number, name = `l-${randomUUID()}`, key = randomUUID()) =>
  caller.post(
    `/api/v1/projects/${project}/allocations`,
    { name, sku_name: 'h200-sxm-slice', region_name: REGION, gpu_count },
    { 'idempotency-key': key },
  );

describe('launches through two control planes', () => {
  it('50 launches race for the last 8 slots: 8 get one, 42 the reason, none is half placed (F14)', async () => {
    const first = await startTestApp(t, { roles: ['gpuaas-api'] });
    const second = await startSecond(first);
    const tenant = await first.user('ada');
    await addNode(first.db);
    const callers = [tenant, second.bearer(tenant.token)];
    const responses = await Promise.all(
      Array.from({ length: LAUNCHES }, (_, at) => launch(callers[at % 2] ?? tenant, tenant.project_id, 1)),
    );
    assert.equal(responses.filter(({ status }) => status === 202).length, 8);
    for (const { status, body } of responses.filter((response) => response.status !== 202)) {
      assert.deepEqual([status, body.code], [409, 'insufficient_capacity']);
      assert.ok(body.reasons.length > 0);
    }
    await withSql(first.db.ownerUrl, async (sql) => {
      const { rows } = await sql.query(
        `select count(*)::int as claims, count(distinct slot_id)::int as slots, count(distinct allocation_id)::int as allocations
         from allocation_resource_claims where released_at is null`,
      );
      assert.deepEqual(rows, [{ claims: 8, slots: 8, allocations: 8 }]);
    });
    await assertInvariants(first.db.database);
  });

  it('a launch whose commit response was lost is found by its key: exactly one allocation (F9)', async () => {
    const db = await testDatabase(t);
    const proxy = await startPgProxy(t, db.ownerUrl);
    const test = await startTestApp(t, { database_url: proxy.url, roles: ['gpuaas-api'] }, { db });
    const tenant = await test.user('ada');
    await addNode(db);
    const [name, key] = [`lost-${randomUUID().slice(0, 8)}`, randomUUID()];
    const cut = proxy.cut(name, 'after the commit succeeded');
    const lost = await launch(tenant, tenant.project_id, 2, name, key);
    await cut;
    assert.deepEqual([lost.status, lost.body.code, lost.body.retryable], [503, 'unavailable', true]);
    assert.match(lost.body.detail, /may have been saved/);
    const again = await launch(tenant, tenant.project_id, 2, name, key);
    assert.deepEqual([again.status, again.headers['idempotency-replayed']], [202, 'true']);
    await withSql(db.ownerUrl, async (sql) => {
      const { rows } = await sql.query(
        `select (select count(*)::int from allocations) as allocations,
           (select count(*)::int from allocation_resource_claims) as claims, (select count(*)::int from workflow_runs) as runs`,
      );
      assert.deepEqual(rows, [{ allocations: 1, claims: 2, runs: 1 }]);
    });
    await assertInvariants(db.database);
  });
});
