import '../../test/own-cluster.ts';
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import type { ReadCtx } from '../context.ts';
import { type Database, PLATFORM, type Reader } from '../db/client.ts';
import { refreshSummary } from '../placement/summary.ts';
import { countCapacity } from '../reconcilers/count-capacity.ts';
import { sampleCapacity } from '../reconcilers/sample-capacity.ts';
import { historyList } from './capacity-history.ts';

const world = async (t: TestContext) => {
  // Closed before the database is dropped, by the next hook.
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  return { database, sql };
};

const history = (database: Database, query: { since?: string; region_name?: string; gpu_model?: string } = {}) => {
  const ctx = {
    deps: { clock: { now: () => new Date() } },
    read: <T>(fn: (reader: Reader) => Promise<T>) => database.read(PLATFORM, fn),
  } as unknown as ReadCtx;
  return historyList(ctx, { params: {}, query, body: {}, if_match: undefined, last_event_id: undefined });
};

const daysAgo = (days: number): string => new Date(Date.now() - days * 24 * 3_600_000).toISOString();

test('a time slot is sampled once by any process, with the counts of all pools', async (t) => {
  const { database, sql } = await world(t);
  await sql.query("insert into pools (id, name) values ('pol_other', 'other')");
  const [shared, own] = [await aNode(sql), await aNode(sql, { pool_id: 'pol_other' })];
  await anAllocation(sql, { node: shared, gpu_count: 2, state: 'active' });
  for (const { id } of [shared, own]) await database.write(PLATFORM, (tx) => refreshSummary(tx, id));
  await countCapacity({ database });
  await Promise.all([1, 2, 3].map(() => sampleCapacity({ database })));
  const { items } = await history(database);
  // A sample may be taken at each side of a five-minute mark.
  assert.ok(items.length === 1 || items.length === 2, `${items.length}`);
  const [{ sampled_at, ...counts } = assert.fail('no sample')] = items;
  assert.equal(Date.parse(sampled_at) % 300_000, 0);
  assert.deepEqual(counts, {
    region_name: 'us-test-1',
    gpu_model: 'H200 SXM',
    delivered_gpus: 16,
    healthy_gpus: 16,
    reserved_gpus: 2,
    active_gpus: 2,
    free_gpus: 14,
  });
});

test('outdated counters are not sampled', async (t) => {
  const { database, sql } = await world(t);
  const { id } = await aNode(sql);
  await database.write(PLATFORM, (tx) => refreshSummary(tx, id));
  await countCapacity({ database });
  await sql.query("update capacity_counters set counted_at = now() - interval '2 minutes'");
  await sampleCapacity({ database });
  assert.deepEqual((await history(database)).items, []);
});

test('samples older than 90 days are deleted; long spans are thinned to real samples', async (t) => {
  const { database, sql } = await world(t);
  const { id } = await aNode(sql);
  await database.write(PLATFORM, (tx) => refreshSummary(tx, id));
  await countCapacity({ database });
  await sql.query(
    `insert into capacity_samples select date_bin('5 min', now(), 'epoch') - n * interval '5 min', r, 'H200 SXM', n, 0, 0, 0, 0
     from generate_series(1, 91 * 288) n cross join unnest('{us-a,us-b}'::text[]) r`,
  );
  await sampleCapacity({ database });
  const { rows } = await sql.query(
    "select count(*)::integer as old from capacity_samples where sampled_at < now() - interval '90 days'",
  );
  assert.deepEqual(rows, [{ old: 0 }]);
  // The series of a sample are written together; these were not.
  await sql.query("delete from capacity_samples where region_name = 'us-test-1'");

  const day = (await history(database, { region_name: 'us-a' })).items;
  assert.ok(day.length >= 286 && day.length <= 288, `${day.length}`);
  assert.deepEqual(
    day.map(({ sampled_at }) => sampled_at),
    day.map(({ sampled_at }) => sampled_at).toSorted(),
  );
  for (const days of [2, 7, 30, 90, 4_000]) {
    const { items } = await history(database, { since: daysAgo(days), gpu_model: 'H200 SXM' });
    const [a, b] = ['us-a', 'us-b'].map((name) => items.filter(({ region_name }) => region_name === name));
    assert.ok(a !== undefined && a.length > 140 && a.length <= 301, `${days} days: ${a?.length}`);
    assert.deepEqual(
      a.map(({ sampled_at }) => sampled_at),
      b?.map(({ sampled_at }) => sampled_at),
    );
    const first = Date.parse(a[0]?.sampled_at ?? '');
    assert.ok(first >= Date.now() - (Math.min(days, 90) * 24 + 1) * 3_600_000);
    assert.ok(Date.now() - Date.parse(a.at(-1)?.sampled_at ?? '') < 10 * 60_000);
  }
  assert.deepEqual((await history(database, { since: daysAgo(-1) })).items, []);
  assert.deepEqual((await history(database, { gpu_model: 'none' })).items, []);
});
