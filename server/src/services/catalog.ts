import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx, WriteCtx } from '../context.ts';
import * as db from '../db/catalog.ts';
import type { Tx } from '../db/client.ts';
import { lockSummary } from '../db/placement.ts';
import { listOverriddenNodes, quarantineOverridden } from '../db/slot-approval.ts';
import { REASONS } from '../domain/reasons.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, notFound } from '../errors.ts';
import { resourceChanged } from '../pipeline/caller.ts';
import { listPage } from '../pipeline/page.ts';
import { refreshSummary } from '../placement/summary.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const skuView = ({ gpu_hourly_price_minor, currency, ...sku }: db.SkuRow) => ({
  ...sku,
  gpu_hourly_price: { amount_minor: gpu_hourly_price_minor, currency },
});

export const regionList = (ctx: ReadCtx, { query }: Req<'regionList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listRegions(reader, page),
    (row) => row.name,
    (row) => row,
  );

export const skuList = (ctx: ReadCtx, { query }: Req<'skuList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listSkus(reader, page, query.capacity_shape ?? null),
    (row) => row.name,
    skuView,
  );

export const skuGet = (ctx: ReadCtx, { params }: Req<'skuGet'>) =>
  ctx.read(async (reader) => {
    const row = await db.findSku(reader, params.sku_name);
    if (row === undefined) throw notFound('SKU');
    return skuView(row);
  });

/** Disabled needs a reason that tenants read; enabled has none. */
const reasonFor = (enabled: boolean, given: string | undefined, before: string | null): string | null => {
  if (enabled) return null;
  const reason = given ?? before;
  if (reason === null)
    throw new AppError('invalid_request', REFUSALS.disabled_reason, {
      errors: [{ pointer: '/body/disabled_reason', code: 'required', message: 'is required while disabled' }],
    });
  return reason;
};

/** The number of slots that become unschedulable with the policy that made them available. */
const endOverrides = async (tx: Tx, regionName: string): Promise<number> => {
  const nodeIds = await listOverriddenNodes(tx, regionName);
  for (const id of nodeIds) await lockSummary(tx, id);
  const slots = await quarantineOverridden(tx, regionName, REASONS.override_not_allowed);
  for (const id of nodeIds) await refreshSummary(tx, id);
  return slots;
};

export const regionUpdate = async (ctx: WriteCtx, req: Req<'adminRegionUpdate'>) => {
  const before = await db.findRegion(ctx.tx, req.params.region_name);
  if (before === undefined) throw notFound('region');
  const enabled = req.body.enabled ?? before.enabled;
  const allows_wipe_override = req.body.allows_wipe_override ?? before.allows_wipe_override;
  const slots_quarantined = allows_wipe_override ? 0 : await endOverrides(ctx.tx, before.name);
  const row = await db.updateRegion(ctx.tx, before.name, req.if_match, {
    enabled,
    disabled_reason: reasonFor(enabled, req.body.disabled_reason, before.disabled_reason),
    wipe_minimum: req.body.wipe_minimum ?? before.wipe_minimum,
    allows_wipe_override,
  });
  if (row === undefined) throw resourceChanged(before.version);
  ctx.note({
    enabled_before: before.enabled,
    enabled_after: row.enabled,
    wipe_minimum_before: before.wipe_minimum,
    wipe_minimum_after: row.wipe_minimum,
    allows_wipe_override_before: before.allows_wipe_override,
    allows_wipe_override_after: row.allows_wipe_override,
    slots_quarantined,
  });
  return row;
};

export const skuUpdate = async (ctx: WriteCtx, req: Req<'adminSkuUpdate'>) => {
  const before = await db.findSku(ctx.tx, req.params.sku_name);
  if (before === undefined) throw notFound('SKU');
  const enabled = req.body.enabled ?? before.enabled;
  const price = req.body.gpu_hourly_price_minor ?? before.gpu_hourly_price_minor;
  const disabled_reason = reasonFor(enabled, req.body.disabled_reason, before.disabled_reason);
  if (
    !(await db.updateSku(ctx.tx, before.name, req.if_match, {
      gpu_hourly_price_minor: price,
      enabled,
      disabled_reason,
    }))
  )
    throw resourceChanged(before.version);
  ctx.note({
    price_minor_before: before.gpu_hourly_price_minor,
    price_minor_after: price,
    enabled_before: before.enabled,
    enabled_after: enabled,
  });
  const after = await db.findSku(ctx.tx, before.name);
  if (after === undefined) throw notFound('SKU');
  return skuView(after);
};
