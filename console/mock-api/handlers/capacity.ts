/** Launchable capacity, quota and cost, as the tenant sees them. */
import { costSince, monthStart } from '../../../server/src/domain/usage.ts';
import { type MockCtx, organizationOf, projectOf, type Req } from '../core/context.ts';
import { idOf, newestFirst, pageOf } from '../core/page.ts';
import type { UsageRecord } from '../core/rows.ts';
import { expectedFor } from '../simulation/expected.ts';
import { launchable, snapshotOf } from '../simulation/placement.ts';
import { chargeOf, costMinor, quotaLeft, quotaView } from '../simulation/usage.ts';
import { isOpen } from '../views/catalog.ts';

const USD = (amount_minor: number) => ({ amount_minor, currency: 'USD' });

const isLive = (row: Readonly<{ retired_at: string | null }>): boolean => row.retired_at === null;

export const capacity = {
  capacityList: async (ctx: MockCtx, { query }: Req<'capacityList'>) => {
    const { world } = ctx;
    const snapshot = snapshotOf(world);
    const rows = world.regions
      .filter(isLive)
      .flatMap((region) => world.skus.filter(isLive).map((sku) => ({ region, sku })));
    return pageOf(
      ctx,
      query,
      rows,
      ({ region, sku }) => `${region.name} ${sku.name}`,
      ({ region, sku }) => {
        const { free_gpus, largest_set } = launchable(snapshot, sku, region.name, organizationOf(ctx));
        return {
          region_name: region.name,
          sku_name: sku.name,
          capacity_shape: sku.capacity_shape,
          available_gpus: free_gpus,
          largest_set,
          expected:
            isOpen(world, sku) && region.enabled ? expectedFor(world, sku, region.name, organizationOf(ctx)) : null,
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
    const ofMonth = rows.map((one) => costSince(chargeOf(one), since, world.now()));
    return {
      since: new Date(since).toISOString(),
      costs: [USD(sum(ofMonth))],
      costs_per_hour: [USD(sum(running.map((one) => one.gpu_count * one.gpu_hourly_price.amount_minor)))],
      running_allocations: running.length,
      running_gpus: sum(running.map((one) => one.gpu_count)),
    };
  },
};
