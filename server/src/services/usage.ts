/** Charged time of a project. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx } from '../context.ts';
import { listUsage, type UsageRow } from '../db/usage.ts';
import { costSoFar } from '../domain/usage.ts';
import { onlyText, projectOf } from './caller.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from './page.ts';

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
