/** Launches that race through two server processes: nothing in memory is shared, only the database decides. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { Client } from 'pg';
import { startTestApp } from '../../test/app.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode } from '../../test/placement.ts';
import { callerOf, startServerProcess } from '../../test/server-process.ts';
import { until } from '../../test/until.ts';
import { refreshSummary } from '../placement/summary.ts';
import { PLATFORM } from './client.ts';

const ROOT = join(import.meta.dirname, '../../..');
const REGION = 'us-buffalo-1';
const ROUNDS = 3;
const LAUNCHES = 50;
const SLOTS = 8;
const WITHIN_MS = 120_000;

const closers: (() => Promise<void>)[] = [];
const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
after(async () => {
  for (const close of closers) await close();
});

it('two server processes race for the last slots, round after round: each slot once, every loser a reason, none half placed (F14)', async () => {
  const { db, issuer, ...app } = await startTestApp(t, { roles: ['gpuaas-api'] });
  const tenant = await app.user('ada');
  const sql = new Client({ connectionString: db.ownerUrl });
  await sql.connect();
  t.after(() => sql.end());
  const start = () => startServerProcess(t, { root: ROOT, database_url: db.ownerUrl, issuer_url: issuer.url });
  const servers = await Promise.all([start(), start()]);
  for (const server of servers)
    await until('readiness', async () => (await server.status('/readyz')) === 200, WITHIN_MS);
  const caller = callerOf(servers, tenant.token);
  for (let round = 1; round <= ROUNDS; round++) {
    const { id } = await aNode(sql, { region_name: REGION });
    await db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
    const responses = await Promise.all(
      Array.from({ length: LAUNCHES }, () =>
        caller.post(`/api/v1/projects/${tenant.project_id}/allocations`, {
          name: `l-${randomUUID()}`,
          sku_name: 'h200-sxm-slice',
          region_name: REGION,
          gpu_count: 1,
        }),
      ),
    );
    assert.equal(responses.filter(({ status }) => status === 202).length, SLOTS);
    for (const { status, body } of responses.filter((response) => response.status !== 202)) {
      assert.deepEqual([status, body.code], [409, 'insufficient_capacity']);
      assert.ok(body.reasons.length > 0);
    }
    const { rows } = await sql.query(
      `select count(*)::int as claims, count(distinct slot_id)::int as slots, count(distinct allocation_id)::int as allocations
       from allocation_resource_claims where released_at is null`,
    );
    const all = round * SLOTS;
    assert.deepEqual(rows, [{ claims: all, slots: all, allocations: all }]);
  }
  await assertInvariants(db.database);
  for (const server of servers) await server.stop();
});
