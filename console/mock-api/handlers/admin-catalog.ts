/** Regions, SKUs, VM profiles and prices, as operators change them. */
import {
  type CatalogUse,
  gpuCountsProblem,
  gpuCountUses,
  inUseSentence,
  profileUses,
  REGION_DEFAULTS,
  SWITCHED_ON,
  switchAfter,
  type UsedNoun,
  useOf,
  VM_PROFILE_DEFAULTS,
  vmProfileProblem,
} from '../../../server/src/domain/catalog.ts';
import { gpuIdsProblem } from '../../../server/src/domain/gpu-model.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { assertVersion, type MockCtx, must, type Req } from '../core/context.ts';
import { conflict, invalidField, Refusal } from '../core/errors.ts';
import { newestFirst, pageOf } from '../core/page.ts';
import type { Price, Region, Sku, VmProfile } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { endOverrides } from '../simulation/slots.ts';
import { operatorRegion, operatorSku, priceView, unreleased, vmProfileView } from '../views/catalog.ts';

type Named = Readonly<{ name: string; retired_at: string | null }>;
const nameOf = (row: Named): string => row.name;
const listed = <Row extends Named>(rows: readonly Row[], query: Readonly<{ include_retired?: boolean }>): Row[] =>
  rows
    .filter((row) => query.include_retired === true || row.retired_at === null)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

type Noun = 'region' | 'SKU' | 'pool' | 'VM profile' | 'image';

/** The row of the name, for a change of it. */
export const current = <Row extends Named & { version: number }>(
  rows: readonly Row[],
  name: string,
  noun: Noun,
  ifMatch?: number,
): Row => {
  const row = must(
    rows.find((one) => one.name === name),
    noun,
  );
  if (row.retired_at !== null) throw conflict(REFUSALS.catalog_retired(noun, name));
  if (ifMatch !== undefined) assertVersion(row, ifMatch);
  return row;
};

/** A new row, or a retired one that comes back with these values. */
export const put = <Row extends Named & { version: number }>(rows: Row[], made: Row, noun: Noun): Row => {
  const index = rows.findIndex((one) => one.name === made.name);
  const before = rows[index];
  if (before === undefined) {
    rows.push(made);
    return made;
  }
  if (before.retired_at === null) throw new Refusal('already_exists', REFUSALS.catalog_name_taken(noun, made.name));
  return Object.assign(before, made, { version: before.version + 1 });
};

/** Disabled needs a reason that tenants read; enabled has none. */
const switched = (...given: Parameters<typeof switchAfter>) => {
  const after = switchAfter(...given);
  if (after === null)
    throw invalidField('disabled_reason', 'is required while disabled', 'required', REFUSALS.disabled_reason);
  return after;
};

export const nodesIn = (world: World, key: 'region_name' | 'pool_name', name: string): CatalogUse[] =>
  useOf(
    'node',
    [...world.nodes.values()].filter((one) => one[key] === name && one.state !== 'deleted').map((one) => one.name),
  );
export const allocationsIn = (world: World, key: 'region_name' | 'sku_name', name: string): CatalogUse[] =>
  useOf('allocation', unreleased(world, key, name));

export const assertUnused = (noun: UsedNoun, name: string, uses: readonly CatalogUse[]): void => {
  const sentence = inUseSentence(noun, name, uses);
  if (sentence === null) return;
  throw new Refusal('conflict', sentence, { reasons: uses.map((use) => ({ code: 'in_use', ...use })) });
};

export const retired = <Row extends { retired_at: string | null; version: number }>(ctx: MockCtx, row: Row): Row => {
  row.retired_at = ctx.world.ago();
  row.version += 1;
  return row;
};

const regions = {
  adminRegionList: async (ctx: MockCtx, { query }: Req<'adminRegionList'>) =>
    pageOf(ctx, query, listed(ctx.world.regions, query), nameOf, (row) => operatorRegion(ctx.world, row)),
  adminRegionGet: async (ctx: MockCtx, { params }: Req<'adminRegionGet'>) =>
    operatorRegion(
      ctx.world,
      must(
        ctx.world.regions.find((one) => one.name === params.region_name),
        'region',
      ),
    ),
  adminRegionCreate: async (ctx: MockCtx, { body }: Req<'adminRegionCreate'>) => {
    const made: Region = {
      name: body.name,
      display_name: body.display_name,
      ...switched(SWITCHED_ON, body),
      wipe_minimum: body.wipe_minimum ?? REGION_DEFAULTS.wipe_minimum,
      allows_wipe_override: body.allows_wipe_override ?? REGION_DEFAULTS.allows_wipe_override,
      fabric_isolation: body.fabric_isolation ?? REGION_DEFAULTS.fabric_isolation,
      retired_at: null,
      version: 1,
    };
    ctx.target('region', body.name);
    return operatorRegion(ctx.world, put(ctx.world.regions, made, 'region'));
  },
  adminRegionUpdate: async (ctx: MockCtx, { params, body, if_match }: Req<'adminRegionUpdate'>) => {
    const row = current(ctx.world.regions, params.region_name, 'region', if_match);
    Object.assign(row, body, switched(row, body));
    row.version += 1;
    if (!row.allows_wipe_override) endOverrides(ctx.world, row.name);
    return operatorRegion(ctx.world, row);
  },
  adminRegionRetire: async (ctx: MockCtx, { params }: Req<'adminRegionRetire'>) => {
    const row = current(ctx.world.regions, params.region_name, 'region');
    const uses = [...nodesIn(ctx.world, 'region_name', row.name), ...allocationsIn(ctx.world, 'region_name', row.name)];
    assertUnused('region', row.name, uses);
    return operatorRegion(ctx.world, retired(ctx, row));
  },
};

const assertIds = (world: World, sku: Parameters<typeof gpuIdsProblem>[0]): void => {
  const problem = gpuIdsProblem(
    sku,
    world.skus.filter((one) => one.retired_at === null),
  );
  if (problem !== null) throw invalidField('gpu_ids', problem);
};

const assertCounts = (sku: Parameters<typeof gpuCountsProblem>[0]): void => {
  const problem = gpuCountsProblem(sku);
  if (problem !== null) throw invalidField('allowed_gpu_counts', problem);
};

const skus = {
  adminSkuList: async (ctx: MockCtx, { query }: Req<'adminSkuList'>) =>
    pageOf(ctx, query, listed(ctx.world.skus, query), nameOf, (row) => operatorSku(ctx.world, row)),
  adminSkuGet: async (ctx: MockCtx, { params }: Req<'adminSkuGet'>) =>
    operatorSku(
      ctx.world,
      must(
        ctx.world.skus.find((one) => one.name === params.sku_name),
        'SKU',
      ),
    ),
  adminSkuCreate: async (ctx: MockCtx, { body }: Req<'adminSkuCreate'>) => {
    assertCounts(body);
    const gpu_ids = body.gpu_ids ?? [];
    assertIds(ctx.world, { ...body, gpu_ids });
    const made: Sku = { ...body, gpu_ids, ...switched(SWITCHED_ON, body), retired_at: null, version: 1 };
    ctx.target('sku', body.name);
    return operatorSku(ctx.world, put(ctx.world.skus, made, 'SKU'));
  },
  adminSkuUpdate: async (ctx: MockCtx, { params, body, if_match }: Req<'adminSkuUpdate'>) => {
    const row = current(ctx.world.skus, params.sku_name, 'SKU', if_match);
    const change = { ...body, ...switched(row, body) };
    assertCounts({ ...row, ...change });
    const allowed = body.allowed_gpu_counts ?? row.allowed_gpu_counts;
    const dropped = row.allowed_gpu_counts.filter((count) => !allowed.includes(count));
    const profiles = ctx.world.vmProfiles.filter((one) => one.sku_name === row.name && one.retired_at === null);
    assertUnused('GPU count', `${dropped.join(', ')} of SKU ${row.name}`, gpuCountUses(allowed, profiles));
    if (change.gpu_ids !== undefined) assertIds(ctx.world, { ...row, ...change, gpu_ids: change.gpu_ids });
    Object.assign(row, change);
    row.version += 1;
    return operatorSku(ctx.world, row);
  },
  adminSkuRetire: async (ctx: MockCtx, { params }: Req<'adminSkuRetire'>) => {
    const row = current(ctx.world.skus, params.sku_name, 'SKU');
    assertUnused('SKU', row.name, allocationsIn(ctx.world, 'sku_name', row.name));
    const isOf = (one: Readonly<{ sku_name: string }>) => one.sku_name === row.name;
    for (const price of ctx.world.prices.filter((one) => isOf(one) && one.cancelled_at === null)) {
      if (Date.parse(price.valid_from) > ctx.world.now()) price.cancelled_at = ctx.world.ago();
      else price.ended_at ??= ctx.world.ago();
    }
    for (const profile of ctx.world.vmProfiles.filter((one) => isOf(one) && one.retired_at === null))
      retired(ctx, profile);
    return operatorSku(ctx.world, retired(ctx, row));
  },
};

/** The SKU that a profile or a price is for. */
const skuFor = (world: World, name: string): Sku => {
  const row = world.skus.find((one) => one.name === name && one.retired_at === null);
  if (row === undefined) throw invalidField('sku_name', 'names no SKU', 'unknown', `There is no SKU named "${name}".`);
  return row;
};

/** One default per SKU and GPU count. */
const replaceDefault = (world: World, row: VmProfile): void => {
  if (!row.is_default) return;
  for (const one of world.vmProfiles)
    if (one.sku_name === row.sku_name && one.gpu_count === row.gpu_count && one !== row && one.is_default) {
      one.is_default = false;
      one.version += 1;
    }
};

const assertUnneeded = (world: World, row: VmProfile): void => {
  const sku = world.skus.find((one) => one.name === row.sku_name && one.retired_at === null);
  assertUnused('VM profile', row.name, profileUses(row, sku, []));
};

export const retireVmProfile = (ctx: MockCtx, name: string): VmProfile =>
  retired(ctx, current(ctx.world.vmProfiles, name, 'VM profile'));

export const changeVmProfile = (world: World, row: VmProfile, change: Partial<VmProfile>): VmProfile => {
  Object.assign(row, change, { version: row.version + 1 });
  replaceDefault(world, row);
  return row;
};

const vmProfiles = {
  adminVmProfileList: async (ctx: MockCtx, { query }: Req<'adminVmProfileList'>) => {
    const rows = listed(ctx.world.vmProfiles, query);
    return pageOf(
      ctx,
      query,
      rows.filter((one) => query.sku_name === undefined || one.sku_name === query.sku_name),
      nameOf,
      vmProfileView,
    );
  },
  adminVmProfileGet: async (ctx: MockCtx, { params }: Req<'adminVmProfileGet'>) =>
    vmProfileView(
      must(
        ctx.world.vmProfiles.find((one) => one.name === params.vm_profile_name),
        'VM profile',
      ),
    ),
  adminVmProfileCreate: async (ctx: MockCtx, { body }: Req<'adminVmProfileCreate'>) => {
    const problem = vmProfileProblem(skuFor(ctx.world, body.sku_name), body.gpu_count);
    if (problem !== null) throw invalidField(problem.field, problem.problem);
    const made: VmProfile = {
      ...body,
      hugepages: body.hugepages ?? VM_PROFILE_DEFAULTS.hugepages,
      numa_policy: body.numa_policy ?? VM_PROFILE_DEFAULTS.numa_policy,
      is_default: body.is_default ?? VM_PROFILE_DEFAULTS.is_default,
      retired_at: null,
      version: 1,
    };
    const row = put(ctx.world.vmProfiles, made, 'VM profile');
    replaceDefault(ctx.world, row);
    ctx.target('vm_profile', row.name);
    return vmProfileView(row);
  },
  adminVmProfileUpdate: async (ctx: MockCtx, { params, body, if_match }: Req<'adminVmProfileUpdate'>) => {
    const row = current(ctx.world.vmProfiles, params.vm_profile_name, 'VM profile', if_match);
    if (body.is_default === false) assertUnneeded(ctx.world, row);
    return vmProfileView(changeVmProfile(ctx.world, row, body));
  },
  adminVmProfileRetire: async (ctx: MockCtx, { params }: Req<'adminVmProfileRetire'>) => {
    const row = current(ctx.world.vmProfiles, params.vm_profile_name, 'VM profile');
    assertUnneeded(ctx.world, row);
    return vmProfileView(retireVmProfile(ctx, row.name));
  },
};

const prices = {
  adminPriceList: async (ctx: MockCtx, { query }: Req<'adminPriceList'>) =>
    pageOf(
      ctx,
      query,
      newestFirst(ctx.world.prices.filter((one) => query.sku_name === undefined || one.sku_name === query.sku_name)),
      (one) => one.id,
      (one) => priceView(ctx.world, one),
    ),
  adminPriceGet: async ({ world }: MockCtx, { params }: Req<'adminPriceGet'>) =>
    priceView(
      world,
      must(
        world.prices.find((one) => one.id === params.price_id),
        'price',
      ),
    ),
  adminPriceCreate: async (ctx: MockCtx, { body }: Req<'adminPriceCreate'>) => {
    const { world } = ctx;
    skuFor(world, body.sku_name);
    const valid_from = body.valid_from ?? world.ago();
    if (Date.parse(valid_from) < world.now()) throw invalidField('valid_from', 'is in the past');
    const isTaken = world.prices.some(
      (one) =>
        one.sku_name === body.sku_name &&
        one.cancelled_at === null &&
        Date.parse(one.valid_from) === Date.parse(valid_from),
    );
    if (isTaken) throw conflict(REFUSALS.price_time_taken);
    const row: Price = {
      id: world.mint('price'),
      sku_name: body.sku_name,
      gpu_hourly_price: { amount_minor: body.gpu_hourly_price_minor, currency: body.currency },
      valid_from: new Date(valid_from).toISOString(),
      created_by: ctx.principal.id,
      created_at: world.ago(),
      cancelled_at: null,
      ended_at: null,
    };
    world.prices.push(row);
    ctx.target('price', row.id);
    return priceView(world, row);
  },
  adminPriceCancel: async (ctx: MockCtx, { params }: Req<'adminPriceCancel'>) => {
    const { world } = ctx;
    const row = must(
      world.prices.find((one) => one.id === params.price_id),
      'price',
    );
    const { state } = priceView(world, row);
    if (state !== 'future') throw conflict(REFUSALS.price_begun(state));
    row.cancelled_at = world.ago();
    return priceView(world, row);
  },
};

export const adminCatalog = { ...regions, ...skus, ...vmProfiles, ...prices };
