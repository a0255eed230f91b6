/** Cost and quota use of allocations, by the server's own formula. */
import { isHeld } from '../../../server/src/domain/allocation.ts';
import { costSoFar } from '../../../server/src/domain/usage.ts';
import type { Allocation, UsageRecord } from '../core/rows.ts';
import type { World } from '../core/world.ts';

/** The record in the words of the formula. */
export const chargeOf = ({ gpu_hourly_price, ...record }: UsageRecord) => ({
  ...record,
  gpu_hourly_price_minor: gpu_hourly_price.amount_minor,
});

export const costMinor = (record: UsageRecord, nowMs: number): number => costSoFar(chargeOf(record), nowMs);

export const costOf = (world: World, row: Allocation): number =>
  world.usage
    .filter((one) => one.allocation_id === row.id)
    .reduce((sum, record) => sum + costMinor(record, world.now()), 0);

/** GPUs that count against the quota: held and not being released. */
export const gpusUsed = (world: World, at: Readonly<{ organization_id: string; project_id: string | null }>): number =>
  [...world.allocations.values()]
    .filter((row) => row.organization_id === at.organization_id && isHeld(row.state))
    .filter((row) => at.project_id === null || row.project_id === at.project_id)
    .reduce((sum, row) => sum + row.gpu_count, 0);

export const quotaView = (world: World, organization_id: string, project_id: string | null) => {
  const row = world.quotas.get(project_id ?? organization_id);
  return {
    organization_id,
    project_id,
    gpu_limit: row?.limit ?? null,
    gpu_used: gpusUsed(world, { organization_id, project_id }),
    version: row?.version ?? 1,
  };
};

/** Null without any limit. */
export const quotaLeft = (world: World, organizationId: string, projectId: string): number | null => {
  const left = [quotaView(world, organizationId, null), quotaView(world, organizationId, projectId)].flatMap((one) =>
    one.gpu_limit === null ? [] : [one.gpu_limit - one.gpu_used],
  );
  return left.length === 0 ? null : Math.min(...left);
};
