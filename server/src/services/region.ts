/**
 * Regions. `createRegion`, `updateRegion` and `retireRegion` are the changes, in a transaction of the caller; the operations
 * below them add what a request needs.
 */
import type { PublicApi, RegionSpec as RegionSpecSchema, RequestOf, Static } from '@gpuaas/contract';
import { invariant } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Reader, Tx } from '../db/client.ts';
import { lockSummary } from '../db/placement.ts';
import * as db from '../db/region.ts';
import { listOverriddenNodes, quarantineOverridden } from '../db/slot-approval.ts';
import { listRegionUses, withAllocationCounts } from '../db/statements/catalog-use.ts';
import { REGION_DEFAULTS, SWITCHED_ON } from '../domain/catalog.ts';
import { REASONS } from '../domain/reasons.ts';
import { notFound } from '../errors.ts';
import { resourceChanged } from '../pipeline/caller.ts';
import { listPage } from '../pipeline/page.ts';
import { refreshSummary } from '../placement/summary.ts';
import { assertCurrent, assertUnused, nameTaken, retiring, switchOr400 } from './catalog-rules.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;
export type RegionSpec = Static<typeof RegionSpecSchema>;
type RegionChange = Partial<Omit<RegionSpec, 'name'>>;

/** All that an operator sets of it, as a site file states it. */
export const regionSpecOf = ({ retired_at: _, version: __, ...spec }: db.RegionRow): Required<RegionSpec> => spec;

const nameOf = (row: db.RegionRow): string => row.name;
const same = (row: db.RegionRow): db.RegionRow => row;
const operatorViews = (reader: Reader, rows: readonly db.RegionRow[]) =>
  withAllocationCounts(reader, 'region_name', rows);

export const list = (ctx: ReadCtx, { query }: Req<'regionList'>) =>
  listPage(ctx, query, (reader, page) => db.listRegions(reader, page), nameOf, same);

export const adminList = (ctx: ReadCtx, { query }: Req<'adminRegionList'>) =>
  listPage(
    ctx,
    query,
    async (reader, page) => operatorViews(reader, await db.listRegions(reader, page, query.include_retired ?? false)),
    nameOf,
    (row) => row,
  );

const found = (row: db.RegionRow | undefined): db.RegionRow => {
  if (row === undefined) throw notFound('region');
  return row;
};

const operatorView = async (reader: Reader, row: db.RegionRow) => {
  const [view] = await operatorViews(reader, [row]);
  invariant(view !== undefined, 'each row has a view');
  return view;
};

export const adminGet = (ctx: ReadCtx, { params }: Req<'adminRegionGet'>) =>
  ctx.read(async (reader) => operatorView(reader, found(await db.findRegion(reader, params.region_name))));

export const createRegion = async (tx: Tx, spec: RegionSpec): Promise<db.RegionRow> => {
  const isNew = await db.insertRegion(tx, {
    name: spec.name,
    display_name: spec.display_name,
    ...switchOr400(SWITCHED_ON, spec),
    wipe_minimum: spec.wipe_minimum ?? REGION_DEFAULTS.wipe_minimum,
    allows_wipe_override: spec.allows_wipe_override ?? REGION_DEFAULTS.allows_wipe_override,
    fabric_isolation: spec.fabric_isolation ?? REGION_DEFAULTS.fabric_isolation,
  });
  if (!isNew) throw nameTaken('region', spec.name);
  return found(await db.findRegion(tx, spec.name));
};

/** The number of slots that become unschedulable with the policy that made them available. */
const endOverrides = async (tx: Tx, regionName: string): Promise<number> => {
  const nodeIds = await listOverriddenNodes(tx, regionName);
  for (const id of nodeIds) await lockSummary(tx, id);
  const slots = await quarantineOverridden(tx, regionName, REASONS.override_not_allowed);
  for (const id of nodeIds) await refreshSummary(tx, id);
  return slots;
};

/** Without a version it changes whatever is there. */
export const updateRegion = async (tx: Tx, name: string, change: RegionChange, ifMatch?: number) => {
  const before = found(await db.findRegion(tx, name));
  assertCurrent('region', before, ifMatch);
  const allows_wipe_override = change.allows_wipe_override ?? before.allows_wipe_override;
  const slots_quarantined = allows_wipe_override ? 0 : await endOverrides(tx, name);
  const after = await db.updateRegion(tx, before.version, {
    name,
    display_name: change.display_name ?? before.display_name,
    ...switchOr400(before, change),
    wipe_minimum: change.wipe_minimum ?? before.wipe_minimum,
    allows_wipe_override,
    fabric_isolation: change.fabric_isolation ?? before.fabric_isolation,
  });
  if (after === undefined) throw resourceChanged(before.version + 1);
  return { before, after, slots_quarantined };
};

export const retireRegion = async (tx: Tx, name: string): Promise<db.RegionRow> => {
  assertCurrent('region', found(await db.lockRegion(tx, name)));
  assertUnused('region', name, await listRegionUses(tx, name));
  await retiring('region', name, () => db.retireRegion(tx, name));
  return found(await db.findRegion(tx, name));
};

export const create = async (ctx: WriteCtx, { body }: Req<'adminRegionCreate'>) => {
  const row = await createRegion(ctx.tx, body);
  ctx.target('region', row.name);
  ctx.note({ ...regionSpecOf(row), was_retired: row.version > 1 });
  return operatorView(ctx.tx, row);
};

export const update = async (ctx: WriteCtx, { params, body, if_match }: Req<'adminRegionUpdate'>) => {
  const { before, after, slots_quarantined } = await updateRegion(ctx.tx, params.region_name, body, if_match);
  ctx.note({
    display_name_before: before.display_name,
    display_name_after: after.display_name,
    enabled_before: before.enabled,
    enabled_after: after.enabled,
    wipe_minimum_before: before.wipe_minimum,
    wipe_minimum_after: after.wipe_minimum,
    allows_wipe_override_before: before.allows_wipe_override,
    allows_wipe_override_after: after.allows_wipe_override,
    fabric_isolation_before: before.fabric_isolation,
    fabric_isolation_after: after.fabric_isolation,
    slots_quarantined,
  });
  return operatorView(ctx.tx, after);
};

export const retire = async (ctx: WriteCtx, { params, body }: Req<'adminRegionRetire'>) => {
  const row = await retireRegion(ctx.tx, params.region_name);
  ctx.note({ reason: body.reason });
  return operatorView(ctx.tx, row);
};
