/** A launch whose connection to the database breaks around its commit. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Client } from 'pg';
import { startTestApp } from '../../test/app.ts';
import { testDatabase } from '../../test/database.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { type CutPoint, startPgProxy } from '../../test/pg-proxy.ts';
import { aNode } from '../../test/placement.ts';
import { until } from '../../test/until.ts';
import { PLATFORM } from '../db/client.ts';
import { refreshSummary } from '../placement/summary.ts';

const REGION = 'us-buffalo-1';

for (const { point, before } of [
  { point: 'after the commit succeeded', before: 1 },
  { point: 'before the commit is sent', before: 0 },
] as const satisfies readonly { point: CutPoint; before: number }[])
  test(`a launch that is cut off ${point} exists once after its retry, with one claim set`, async (t) => {
    const closers: (() => Promise<void>)[] = [];
    const hook = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
    t.after(async () => {
      for (const close of closers) await close();
    });
    const db = await testDatabase(hook);
    const proxy = await startPgProxy(hook, db.ownerUrl);
    const app = await startTestApp(hook, { roles: ['gpuaas-api'], database_url: proxy.url }, { db });
    const ada = await app.user('ada');
    const sql = new Client({ connectionString: db.ownerUrl });
    await sql.connect();
    hook.after(() => sql.end());
    const node = await aNode(sql, { region_name: REGION });
    await db.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));

    const [name, key] = [`lost-${randomUUID().slice(0, 8)}`, randomUUID()];
    const body = { name, sku_name: 'h200-sxm-slice', region_name: REGION, gpu_count: 2 };
    const launch = () => ada.post(`/api/v1/projects/${ada.project_id}/allocations`, body, { 'idempotency-key': key });
    const counts = async () => {
      const { rows } = await sql.query(
        `select count(distinct a.id)::integer as allocations, count(c.id)::integer as claims,
           (select count(*)::integer from workflow_runs) as runs,
           (select coalesce(max(gpu_used), 0)::integer from quotas) as gpu_used
         from allocations a left join allocation_resource_claims c on c.allocation_id = a.id where a.name = $1`,
        [name],
      );
      return rows[0];
    };
    const whole = (n: number) => ({ allocations: n, claims: 2 * n, runs: n, gpu_used: 2 * n });

    const cut = proxy.cut(name, point);
    const first = await launch();
    await cut;
    assert.deepEqual([first.status, first.body.code, first.body.retryable], [503, 'unavailable', true]);
    assert.deepEqual(await counts(), whole(before));
    await until('the lost session frees the key', async () => (await launch()).status === 202);
    assert.deepEqual(await counts(), whole(1));
    await assertInvariants(db.database);
  });
