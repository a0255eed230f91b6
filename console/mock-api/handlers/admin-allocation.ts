import { forceReleaseRefusal } from '../../../server/src/domain/allocation-actions.ts';
import { chargeEndRefusal } from '../../../server/src/domain/restore.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { cleanupRefusal } from '../../../server/src/domain/slot-actions.ts';
import { type MockCtx, must, type Req } from '../core/context.ts';
import { conflict, invalidField, refuse } from '../core/errors.ts';
import { idOf, newestFirst, pageOf } from '../core/page.ts';
import type { Allocation } from '../core/rows.ts';
import { heldSlots, restartCleanup, startRelease } from '../simulation/allocation.ts';
import { costMinor } from '../simulation/usage.ts';
import { allocationView } from '../views/allocation.ts';

const view = (ctx: MockCtx) => {
  const claims = Map.groupBy(ctx.world.claims, (claim) => claim.allocation_id);
  return (row: Allocation) => ({
    allocation: allocationView(ctx)(row),
    organization_id: row.organization_id,
    node_id: row.node_id,
    claims: (claims.get(row.id) ?? []).map(({ allocation_id: _, ...claim }) => claim),
  });
};

/** Actions of operators on a tenant's allocation are in the tenant's own audit chain. */
const concerned = (ctx: MockCtx, id: string): Allocation => {
  const row = must(ctx.world.allocations.get(id), 'allocation');
  ctx.setTarget(row.organization_id, row.project_id);
  ctx.target('allocation', id);
  return row;
};

/** Checked before anything changes; the returned function shortens the record that the release has closed. */
const chargeEnd = (ctx: MockCtx, row: Allocation, until: string): (() => void) => {
  const { world } = ctx;
  const usage = world.usage.find((one) => one.allocation_id === row.id);
  const is_node_held = row.node_id !== null && world.restoreHeld.has(row.node_id);
  refuse(chargeEndRefusal(usage && { is_node_held }));
  const end = usage?.ended_at ?? world.ago();
  if (usage === undefined || until < usage.started_at || until > end)
    throw invalidField('charge_until', `must be between ${usage?.started_at} and ${end}`, 'out_of_range');
  return () => {
    usage.ended_at = until;
    usage.cost_minor = costMinor({ ...usage, cost_minor: null }, Date.parse(until));
    ctx.note({ charge_until: until });
  };
};

export const adminAllocation = {
  adminAllocationList: async (ctx: MockCtx, { query }: Req<'adminAllocationList'>) => {
    const rows = [...ctx.world.allocations.values()]
      .filter((row) => query.state === undefined || row.state === query.state)
      .filter((row) => query.node_id === undefined || row.node_id === query.node_id)
      .filter((row) => query.organization_id === undefined || row.organization_id === query.organization_id);
    return pageOf(ctx, query, newestFirst(rows), idOf, view(ctx));
  },
  adminAllocationGet: async (ctx: MockCtx, { params }: Req<'adminAllocationGet'>) =>
    view(ctx)(must(ctx.world.allocations.get(params.allocation_id), 'allocation')),
  adminAllocationForceRelease: async (ctx: MockCtx, { params, body }: Req<'adminAllocationForceRelease'>) => {
    const row = concerned(ctx, params.allocation_id);
    ctx.note({ reason: body.reason, from_state: row.state });
    const isDone = refuse(forceReleaseRefusal(row.state));
    const endCharge = body.charge_until === undefined ? undefined : chargeEnd(ctx, row, body.charge_until);
    if (!isDone) startRelease(ctx.world, row, `Released by an operator: ${body.reason}`, ctx.correlation_id);
    ctx.note({ workflow_run_id: row.run_id });
    endCharge?.();
    return view(ctx)(row);
  },
  adminAllocationForceCleanup: async (ctx: MockCtx, { params, body }: Req<'adminAllocationForceCleanup'>) => {
    const row = concerned(ctx, params.allocation_id);
    ctx.note({ ...body, from_state: row.state });
    refuse(cleanupRefusal(row.state));
    if (!ctx.world.claims.some((one) => one.allocation_id === row.id && one.released_at === null))
      throw conflict(REFUSALS.nothing_to_clean);
    if (heldSlots(ctx.world, row).some((slot) => slot.status === 'cleanup_blocked'))
      restartCleanup(ctx.world, row, ctx.correlation_id);
    ctx.note({ workflow_run_id: row.run_id });
    return view(ctx)(row);
  },
  adminClaimBackfill: async (_ctx: MockCtx, { body }: Req<'adminClaimBackfill'>) => ({
    // Every allocation of the simulator has its claims from the start.
    is_dry_run: body.is_dry_run,
    claimed: [],
    skipped: [],
    next_after_id: null,
  }),
};
