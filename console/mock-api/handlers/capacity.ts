/** What could be launched, what may be, and what it cost: as the tenant sees it. */
import { type MockCtx, organizationOf, projectOf, type Req } from '../core/context.ts';
import { idOf, newestFirst, pageOf } from '../core/page.ts';
import type { UsageRecord } from '../core/rows.ts';
import { freeSlots, regionLargest } from '../life/placement.ts';
import { costMinor, quotaLeft, quotaView } from '../life/usage.ts';

const monthStart = (nowMs: number): string => {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)).toISOString();
};

const USD = (amount_minor: number) => ({ amount_minor, currency: 'USD' });

export const capacity = {
  capacityList: async (ctx: MockCtx, { query }: Req<'capacityList'>) => {
    const { world } = ctx;
    const rows = world.regions.flatMap((region) => world.skus.map((sku) => ({ region, sku })));
    return pageOf(
      ctx,
      query,
      rows,
      ({ region, sku }) => `${region.name} ${sku.name}`,
      ({ region, sku }) => {
        const isOpen = region.enabled && sku.enabled;
        const largest_set = isOpen ? regionLargest(world, sku, region.name) : 0;
        const nodes = [...world.nodes.values()].filter((node) => node.region_name === region.name);
        const free = nodes.reduce((sum, node) => sum + freeSlots(world, node, sku.capacity_shape).length, 0);
        return {
          region_name: region.name,
          sku_name: sku.name,
          capacity_shape: sku.capacity_shape,
          available_gpus: largest_set === 0 ? 0 : free,
          largest_set,
          counted_at: world.ago(),
        };
      },
    );
  },
  quotaGet: async (ctx: MockCtx) => {
    const { world } = ctx;
    const [organizationId, projectId] = [organizationOf(ctx), projectOf(ctx)];
    const left = quotaLeft(world, organizationId, projectId);
    return {
      organization: quotaView(world, organizationId, null),
      project: quotaView(world, organizationId, projectId),
      gpus_remaining: left === null ? null : Math.max(0, left),
    };
  },
  usageList: async (ctx: MockCtx, { query }: Req<'usageList'>) => {
    const { world } = ctx;
    const rows = world.usage
      .filter((one) => one.project_id === projectOf(ctx))
      .filter((one) => query.allocation_id === undefined || one.allocation_id === query.allocation_id);
    return pageOf(ctx, query, newestFirst(rows), idOf, (record: UsageRecord) => {
      const { project_id: _, cost_minor: __, ...rest } = record;
      return { ...rest, cost: USD(costMinor(record, world.now())) };
    });
  },
  usageSummaryGet: async (ctx: MockCtx) => {
    const { world } = ctx;
    const since = monthStart(world.now());
    const rows = world.usage.filter((one) => one.project_id === projectOf(ctx));
    const running = rows.filter((one) => one.ended_at === null);
    const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
    const ofMonth = rows
      .filter((one) => one.ended_at === null || one.ended_at >= since)
      .map((one) => {
        const begun = Math.max(Date.parse(one.started_at), Date.parse(since));
        const started_at = new Date(begun).toISOString();
        return costMinor({ ...one, started_at, cost_minor: null }, world.now());
      });
    return {
      since,
      cost: USD(sum(ofMonth)),
      cost_per_hour: USD(sum(running.map((one) => one.gpu_count * one.gpu_hourly_price.amount_minor))),
      running_allocations: running.length,
      running_gpus: sum(running.map((one) => one.gpu_count)),
    };
  },
};
