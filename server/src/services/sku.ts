/**
 * SKUs. A SKU is launchable once it is enabled and has a price; a slice also needs a VM profile. `createSku`, `updateSku` and
 * `retireSku` are the changes, in a transaction of the caller.
 */
import type { PublicApi, RequestOf, SkuSpec as SkuSpecSchema, Static } from '@gpuaas/contract';
import { SLOT_PARTS } from '@gpuaas/contract';
import { invariant } from '@gpuaas/kit';
import { judgeGpusAgain } from '../agents/gpu-model.ts';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Reader, Tx } from '../db/client.ts';
import * as db from '../db/sku.ts';
import { endPrices } from '../db/sku-price.ts';
import { retireProfilesOf } from '../db/sku-vm-profile.ts';
import { listSkuUses, withAllocationCounts } from '../db/statements/catalog-use.ts';
import { gpuCountsProblem, gpuCountUses, SWITCHED_ON, skuAvailability, skuBlockers } from '../domain/catalog.ts';
import { fabricOf } from '../domain/fabric.ts';
import { gpuIdsProblem } from '../domain/gpu-model.ts';
import { invalidField, notFound } from '../errors.ts';
import { resourceChanged } from '../pipeline/caller.ts';
import { listPage } from '../pipeline/page.ts';
import { refreshSummary } from '../placement/summary.ts';
import { assertCurrent, assertUnused, nameTaken, retiring, switchOr400 } from './catalog-rules.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;
export type SkuSpec = Static<typeof SkuSpecSchema>;
type SkuChange = Partial<
  Pick<SkuSpec, 'display_name' | 'gpu_ids' | 'allowed_gpu_counts' | 'enabled' | 'disabled_reason'>
>;

/** All that an operator sets of it, as a site file states it. */
export const skuSpecOf = (row: db.SkuRow): Required<SkuSpec> => ({
  name: row.name,
  display_name: row.display_name,
  vendor: row.vendor,
  gpu_model: row.gpu_model,
  gpu_ids: row.gpu_ids,
  capacity_shape: row.capacity_shape,
  gpus_per_node: row.gpus_per_node,
  allowed_gpu_counts: row.allowed_gpu_counts,
  enabled: row.enabled,
  disabled_reason: row.disabled_reason,
});

const view = ({
  gpu_hourly_price_minor,
  currency,
  has_vm_profile: _,
  has_image: __,
  has_default_image: ___,
  regions: ____,
  ...sku
}: db.SkuRow) => ({
  ...sku,
  required_parts: sku.capacity_shape === 'gpu_slice' ? [...SLOT_PARTS] : [],
  gpu_hourly_price:
    gpu_hourly_price_minor === null || currency === null ? null : { amount_minor: gpu_hourly_price_minor, currency },
});
const tenantView = (row: db.SkuRow) => {
  const { gpu_ids: _, ...shown } = view(row);
  const fabric = row.regions.map(({ name: region_name, fabric_isolation }) => ({
    region_name,
    ...fabricOf({ capacity_shape: row.capacity_shape, fabric_isolation }),
  }));
  return { ...shown, ...skuAvailability(row), fabric };
};
const operatorViews = async (reader: Reader, rows: readonly db.SkuRow[]) =>
  withAllocationCounts(
    reader,
    'sku_name',
    rows.map((row) => ({ ...view(row), blockers: skuBlockers(row) })),
  );
const operatorView = async (reader: Reader, row: db.SkuRow) => {
  const [shown] = await operatorViews(reader, [row]);
  invariant(shown !== undefined, 'each row has a view');
  return shown;
};
const nameOf = (row: db.SkuRow): string => row.name;

export const list = (ctx: ReadCtx, { query }: Req<'skuList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listSkus(reader, page, { shape: query.capacity_shape ?? null }),
    nameOf,
    tenantView,
  );

const found = (row: db.SkuRow | undefined): db.SkuRow => {
  if (row === undefined) throw notFound('SKU');
  return row;
};

export const get = (ctx: ReadCtx, { params }: Req<'skuGet'>) =>
  ctx.read(async (reader) => {
    const row = found(await db.findSku(reader, params.sku_name));
    if (row.retired_at !== null) throw notFound('SKU');
    return tenantView(row);
  });

export const adminList = (ctx: ReadCtx, { query }: Req<'adminSkuList'>) =>
  listPage(
    ctx,
    query,
    async (reader, page) =>
      operatorViews(reader, await db.listSkus(reader, page, { include_retired: query.include_retired ?? false })),
    ({ name }) => name,
    (row) => row,
  );

export const adminGet = (ctx: ReadCtx, { params }: Req<'adminSkuGet'>) =>
  ctx.read(async (reader) => operatorView(reader, found(await db.findSku(reader, params.sku_name))));

const assertCounts = (sku: Parameters<typeof gpuCountsProblem>[0]): void => {
  const problem = gpuCountsProblem(sku);
  if (problem !== null) throw invalidField('allowed_gpu_counts', problem);
};

/** What only one of them has. */
const changedIds = (before: readonly string[], after: readonly string[]): string[] => [
  ...before.filter((id) => !after.includes(id)),
  ...after.filter((id) => !before.includes(id)),
];

const assertIds = async (tx: Tx, sku: Parameters<typeof gpuIdsProblem>[0]): Promise<void> => {
  const problem = gpuIdsProblem(sku, await db.listNamingSkus(tx));
  if (problem !== null) throw invalidField('gpu_ids', problem);
};

/** Nodes that no SKU offered before have no rank in the placement index yet. */
const refreshNodes = async (tx: Tx, gpuModel: string): Promise<void> => {
  for (const id of await db.listModelNodes(tx, gpuModel)) await refreshSummary(tx, id);
};

export const createSku = async (tx: Tx, spec: SkuSpec): Promise<db.SkuRow> => {
  assertCounts(spec);
  const gpu_ids = [...(spec.gpu_ids ?? [])];
  await assertIds(tx, { ...spec, gpu_ids });
  const isNew = await db.insertSku(tx, { ...spec, gpu_ids, ...switchOr400(SWITCHED_ON, spec) });
  if (!isNew) throw nameTaken('SKU', spec.name);
  await refreshNodes(tx, spec.gpu_model);
  await judgeGpusAgain(tx, gpu_ids);
  return found(await db.findSku(tx, spec.name));
};

/** Without a version it changes whatever is there. */
export const updateSku = async (tx: Tx, name: string, change: SkuChange, ifMatch?: number) => {
  // New VM profiles wait: none gets a GPU count that this change drops.
  const before = found(await db.lockSku(tx, name, 'no key update'));
  assertCurrent('SKU', before, ifMatch);
  const values = {
    name,
    display_name: change.display_name ?? before.display_name,
    gpu_ids: [...(change.gpu_ids ?? before.gpu_ids)],
    allowed_gpu_counts: change.allowed_gpu_counts ?? before.allowed_gpu_counts,
    ...switchOr400(before, change),
  };
  assertCounts({ ...before, ...values });
  const dropped = before.allowed_gpu_counts.filter((count) => !values.allowed_gpu_counts.includes(count));
  assertUnused(
    'GPU count',
    `${dropped.join(', ')} of SKU ${name}`,
    gpuCountUses(values.allowed_gpu_counts, before.vm_profiles),
  );
  if (change.gpu_ids !== undefined) await assertIds(tx, { ...before, ...values });
  if (!(await db.updateSku(tx, before.version, values))) throw resourceChanged(before.version + 1);
  await judgeGpusAgain(tx, changedIds(before.gpu_ids, values.gpu_ids));
  return { before, after: found(await db.findSku(tx, name)) };
};

export const retireSku = async (
  tx: Tx,
  name: string,
): Promise<Readonly<{ after: db.SkuRow; vm_profiles: readonly string[] }>> => {
  const before = found(await db.lockSku(tx, name, 'update'));
  assertCurrent('SKU', before);
  assertUnused('SKU', name, await listSkuUses(tx, name));
  await retiring('SKU', name, () => db.retireSku(tx, name));
  // A SKU that comes back must not be sold at a price or in sizes that no operator has decided since.
  await endPrices(tx, name);
  await judgeGpusAgain(tx, before.gpu_ids);
  const vm_profiles = await retireProfilesOf(tx, name);
  return { after: found(await db.findSku(tx, name)), vm_profiles };
};

export const create = async (ctx: WriteCtx, { body }: Req<'adminSkuCreate'>) => {
  const row = await createSku(ctx.tx, body);
  ctx.target('sku', row.name);
  ctx.note({ ...skuSpecOf(row), was_retired: row.version > 1 });
  return operatorView(ctx.tx, row);
};

export const update = async (ctx: WriteCtx, { params, body, if_match }: Req<'adminSkuUpdate'>) => {
  const { before, after } = await updateSku(ctx.tx, params.sku_name, body, if_match);
  ctx.note({
    display_name_before: before.display_name,
    display_name_after: after.display_name,
    gpu_ids_before: before.gpu_ids,
    gpu_ids_after: after.gpu_ids,
    allowed_gpu_counts_before: before.allowed_gpu_counts,
    allowed_gpu_counts_after: after.allowed_gpu_counts,
    enabled_before: before.enabled,
    enabled_after: after.enabled,
  });
  return operatorView(ctx.tx, after);
};

export const retire = async (ctx: WriteCtx, { params, body }: Req<'adminSkuRetire'>) => {
  const { after: row, vm_profiles } = await retireSku(ctx.tx, params.sku_name);
  ctx.note({ reason: body.reason, vm_profiles_retired: vm_profiles });
  return operatorView(ctx.tx, row);
};
