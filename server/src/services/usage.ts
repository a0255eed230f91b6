/** Charged time of a project. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx } from '../context.ts';
import { listUsage, listUsageTotals, type UsageRow, type UsageTotals } from '../db/usage.ts';
import { costSince, costSoFar, monthStart } from '../domain/usage.ts';
import { onlyText, projectOf } from '../pipeline/caller.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';

const usageView = (nowMs: number) => (row: UsageRow) => ({
  id: row.id,
  allocation_id: row.allocation_id,
  sku_name: row.sku_name,
  gpu_count: row.gpu_count,
  gpu_hourly_price: { amount_minor: row.gpu_hourly_price_minor, currency: row.currency },
  started_at: row.started_at,
  ended_at: row.ended_at,
  cost: { amount_minor: costSoFar(row, nowMs), currency: row.currency },
});

export const list = async (ctx: ReadCtx, { query }: RequestOf<PublicApi['usageList']>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const filter = {
    project_id: projectOf(ctx),
    allocation_id: query.allocation_id ?? null,
    before: onlyText(decodeCursor(ctx, query.cursor)?.[0]),
    limit: limit + 1,
  };
  const rows = await ctx.read((reader) => listUsage(reader, filter));
  return pageOf(ctx, limit, rows, (row) => [row.id], usageView(ctx.deps.clock.now().getTime()));
};

export const summaryGet = async (ctx: ReadCtx) => {
  const nowMs = ctx.deps.clock.now().getTime();
  const sinceMs = monthStart(nowMs);
  const since = new Date(sinceMs).toISOString();
  const totals = await ctx.read((reader) => listUsageTotals(reader, projectOf(ctx), since));
  const sum = <T>(items: readonly T[], of: (item: T) => number) => items.reduce((total, item) => total + of(item), 0);
  const runningOf = ({ partial }: UsageTotals) => partial.filter(({ ended_at }) => ended_at === null);
  const running = totals.flatMap(runningOf);
  const perCurrency = (of: (total: UsageTotals) => number) =>
    totals.length === 0
      ? [{ amount_minor: 0, currency: 'USD' }]
      : totals.map((total) => ({ amount_minor: of(total), currency: total.currency }));
  return {
    since,
    costs: perCurrency(
      ({ closed_minor, partial }) => closed_minor + sum(partial, (record) => costSince(record, sinceMs, nowMs)),
    ),
    costs_per_hour: perCurrency((total) =>
      sum(runningOf(total), (record) => record.gpu_count * record.gpu_hourly_price_minor),
    ),
    running_allocations: running.length,
    running_gpus: sum(running, ({ gpu_count }) => gpu_count),
  };
};
