import '../../test/own-cluster.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { aNode, anAllocation, aTenant, type Tenant } from '../../test/placement.ts';
import type { ReadCtx } from '../context.ts';
import type { Database, Reader } from '../db/client.ts';
import { usageCost } from '../domain/usage.ts';
import { list, summaryGet } from './usage.ts';

const NOW = '2026-03-17T10:20:30.456Z';
const MONTH = '2026-03-01T00:00:00.000Z';
const PRICE = 457;

const contextOf = (database: Database, { organization_id, project_id }: Tenant): ReadCtx =>
  ({
    deps: { clock: { now: () => new Date(NOW) } },
    operation: 'usageList',
    organization_id,
    project_id,
    principal: null,
    read: <T>(fn: (reader: Reader) => Promise<T>) =>
      database.read({ tenant_id: organization_id, principal_id: 'usr_a' }, fn),
  }) as unknown as ReadCtx;

const listed = async (ctx: ReadCtx): Promise<number> => {
  const query = { limit: 200 };
  const { items } = await list(ctx, {
    params: { project_id: '' },
    query,
    body: {},
    if_match: undefined,
    last_event_id: undefined,
  } as never);
  return items.reduce((sum, { cost }) => sum + cost.amount_minor, 0);
};

const micros = (from: string, to: string): bigint => BigInt(Date.parse(to) - Date.parse(from)) * 1_000n;

test('the month’s cost equals its listed records, and of older ones only the part since it began', async (t) => {
  // Closed before the database is dropped, by the next hook.
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const node = await aNode(sql);
  const [mine, others] = [await aTenant(sql), await aTenant(sql)];
  /** An allocation whose only record is this one. */
  const used = async (tenant: Tenant, gpus: number, started: string, ended: string | null, currency = 'USD') => {
    const { id } = await anAllocation(sql, { node, tenant });
    const cost =
      ended === null ? null : usageCost({ gpu_count: gpus, gpu_hourly_price_minor: PRICE }, micros(started, ended));
    await sql.query(
      `insert into usage_records (id, allocation_id, organization_id, project_id, sku_name, gpu_count, gpu_hourly_price_minor, currency,
         started_at, ended_at, cost_minor, correlation_id) values ($1, $2, $3, $4, 'test-slice', $5, $6, $10, $7, $8, $9, 'c')`,
      [
        mintId('usg'),
        id,
        tenant.organization_id,
        tenant.project_id,
        gpus,
        PRICE,
        started,
        ended,
        cost?.toString() ?? null,
        currency,
      ],
    );
  };
  const ctx = contextOf(database, mine);
  assert.deepEqual(await summaryGet(ctx), {
    since: MONTH,
    costs: [{ amount_minor: 0, currency: 'USD' }],
    costs_per_hour: [{ amount_minor: 0, currency: 'USD' }],
    running_allocations: 0,
    running_gpus: 0,
  });

  await used(mine, 1, '2026-03-02T00:00:00.001Z', '2026-03-02T00:11:07.333Z');
  await used(mine, 2, MONTH, '2026-03-09T17:59:59.999Z');
  await used(mine, 4, '2026-03-17T10:00:00.007Z', null);
  await used(others, 8, '2026-03-05T00:00:00.000Z', null);
  const within = await summaryGet(ctx);
  assert.deepEqual(within.costs, [{ amount_minor: await listed(ctx), currency: 'USD' }]);
  assert.deepEqual(
    [within.running_allocations, within.running_gpus, within.costs_per_hour[0]?.amount_minor],
    [1, 4, 4 * PRICE],
  );

  const spans = [
    [1, '2026-02-27T03:04:05.678Z', '2026-03-01T00:00:07.777Z'],
    [1, '2026-01-15T13:14:15.161Z', null],
  ] as const;
  const before = await listed(ctx);
  for (const [gpus, started, ended] of spans) await used(mine, gpus, started, ended);
  await used(mine, 8, '2026-02-01T00:00:00.000Z', MONTH);
  const february = spans.map(([gpu_count, started]) =>
    Number(usageCost({ gpu_count, gpu_hourly_price_minor: PRICE }, micros(started, MONTH))),
  );
  const whole = spans.map(([gpu_count, started, ended]) =>
    Number(usageCost({ gpu_count, gpu_hourly_price_minor: PRICE }, micros(started, ended ?? NOW))),
  );
  const since = whole.map((cost, n) => cost - (february[n] ?? 0)).reduce((sum, part) => sum + part, 0);
  const all = await summaryGet(ctx);
  assert.deepEqual(all.costs, [{ amount_minor: before + since, currency: 'USD' }]);
  assert.deepEqual([all.running_allocations, all.running_gpus], [2, 5]);

  await used(mine, 1, '2026-03-17T09:20:30.456Z', null, 'EUR');
  const both = await summaryGet(ctx);
  assert.deepEqual(both.costs, [{ amount_minor: PRICE, currency: 'EUR' }, ...all.costs]);
  assert.deepEqual(both.costs_per_hour, [{ amount_minor: PRICE, currency: 'EUR' }, ...all.costs_per_hour]);
  assert.deepEqual([both.running_allocations, both.running_gpus], [3, 6]);
});
