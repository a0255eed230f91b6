/**
 * The site as one file: export, plan, apply. Applying uses the changes of the single resources, in one transaction, and then
 * plans the file again: only a site that is as the file says is committed, whatever was changed beside it.
 */
import { createHash } from 'node:crypto';
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx, WriteCtx } from '../context.ts';
import { insertAuditLog } from '../db/audit.ts';
import type { Reader, Tx } from '../db/client.ts';
import { deleteGroupMapping } from '../db/group-mapping.ts';
import { listOsImages } from '../db/os-image.ts';
import { findPool, listPools } from '../db/pool.ts';
import { changeQuota, putQuota, unsetQuota } from '../db/quota.ts';
import { listRegions } from '../db/region.ts';
import { getSitePolicy } from '../db/site-policy.ts';
import { listSkus, lockSkus } from '../db/sku.ts';
import { listLivePrices } from '../db/sku-price.ts';
import { listVmProfiles } from '../db/sku-vm-profile.ts';
import { listPoolUses, listRegionUses, listSkuUses } from '../db/statements/catalog-use.ts';
import {
  listImageVersions,
  listNamedMappings,
  listNamedQuotas,
  listPlaces,
  lockSite,
  type NamedMapping,
  type NamedPlace,
  type NamedQuota,
  readNow,
} from '../db/statements/site.ts';
import { type CatalogUse, inUseSentence } from '../domain/catalog.ts';
import { REFUSALS } from '../domain/sentences.ts';
import {
  canonicalSite,
  changedRow,
  fileOf,
  type PlannedChange,
  type Site,
  type SiteRow,
  type SiteSection,
  type WholeSite,
} from '../domain/site.ts';
import { changeView, movesPool } from '../domain/site-change.ts';
import { planSite, type SiteWorld } from '../domain/site-plan.ts';
import { changesImages, imagesAfter, usesInFile } from '../domain/site-uses.ts';
import { AppError, conflict } from '../errors.ts';
import { principalOf } from '../pipeline/caller.ts';
import { createGroupMapping } from './group-mapping.ts';
import { createImage, imageSpecOf, listDefaults, retireImage, updateImage } from './os-image.ts';
import { createPool, retirePool, updatePool } from './pool.ts';
import { cancelPrice, createPrice, type SetBy } from './price.ts';
import { createRegion, regionSpecOf, retireRegion, updateRegion } from './region.ts';
import { changeSitePolicy } from './site-policy.ts';
import { createSku, retireSku, skuSpecOf, updateSku } from './sku.ts';
import { createVmProfile, retireVmProfile, updateVmProfile, vmProfileSpecOf } from './vm-profile.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const ALL = { after: null, limit: 1_000_000 };

/** The site with what changes of it need besides the values. */
type Reading = Readonly<{
  site: WholeSite;
  world: SiteWorld;
  places: readonly NamedPlace[];
  mappings: readonly NamedMapping[];
  quotas: readonly NamedQuota[];
  prices: Awaited<ReturnType<typeof listLivePrices>>;
}>;

const namesIn = (file: Site): string[] => [
  ...new Set(
    [...(file.pools ?? []), ...(file.quotas ?? []), ...(file.group_mappings ?? [])].flatMap(
      ({ organization }) => organization ?? [],
    ),
  ),
];

/** With a file only the limits and names are read that it can concern. */
const readSite = async (reader: Reader, file: Site | null): Promise<Reading> => {
  const names = file === null ? null : namesIn(file);
  const now_ms = Date.parse(await readNow(reader));
  const skus = await listSkus(reader, ALL);
  const live = new Set(skus.map(({ name }) => name));
  const { sign_up, mail_domains, default_gpu_limit, contact } = await getSitePolicy(reader);
  const [mappings, prices] = [await listNamedMappings(reader), await listLivePrices(reader)];
  const quotas = file !== null && file.quotas === undefined ? [] : await listNamedQuotas(reader);
  const images = (await listOsImages(reader, ALL, null)).filter(({ versions }) => versions[0]?.retired_at === null);
  const site = canonicalSite(
    {
      version: 1,
      regions: (await listRegions(reader, ALL)).map(regionSpecOf),
      skus: skus.map(skuSpecOf),
      vm_profiles: (await listVmProfiles(reader, ALL, { sku_name: null, include_retired: false })).map(vmProfileSpecOf),
      prices: prices.map(({ sku_name, gpu_hourly_price_minor, currency, valid_from, state }) => ({
        ...{ sku_name, gpu_hourly_price_minor, currency },
        ...(state === 'current' ? {} : { valid_from }),
      })),
      images: images.map((row) => {
        const spec = imageSpecOf(row);
        return { ...spec, sku_names: spec.sku_names.filter((name) => live.has(name)) };
      }),
      pools: (await listPools(reader, ALL, false)).map(({ name, purpose, organization_name }) => ({
        ...{ name, purpose, organization: organization_name },
      })),
      policy: { sign_up, mail_domains: [...mail_domains], default_gpu_limit, contact },
      quotas: quotas.map(({ organization, project, gpu_limit }) => ({ organization, project, gpu_limit })),
      group_mappings: mappings.map(({ id: _, ...mapping }) => mapping),
    },
    now_ms,
  );
  const places = names === null ? [] : await listPlaces(reader, names);
  const world = {
    now_ms,
    organizations: new Set(places.map(({ organization }) => organization)),
    projects: new Set(
      places.flatMap(({ organization, project }) => (project === null ? [] : `${organization}/${project}`)),
    ),
    image_versions: await listImageVersions(reader),
    digest: sha256,
  };
  return { site, world, places, mappings, quotas, prices };
};

export const exportSite = (ctx: ReadCtx) => ctx.read(async (reader) => fileOf((await readSite(reader, null)).site));

const planOf = (file: Site, reading: Reading) => {
  const plan = planSite(file, reading.site, reading.world);
  if (!('changes' in plan))
    throw new AppError('invalid_request', REFUSALS.site_file_problems(plan.problems.length), {
      errors: plan.problems.map((one) => ({ ...one, pointer: `/body/site${one.pointer}` })),
    });
  return plan;
};

type Planned = Readonly<{ hash: string; changes: readonly PlannedChange[] }>;

const usesOf = async (
  reader: Reader,
  change: PlannedChange,
  inFile: (change: PlannedChange) => CatalogUse[],
): Promise<string | null> => {
  const { section, name } = change;
  if (movesPool(change)) {
    const { node_count = 0 } = (await findPool(reader, name)) ?? {};
    return node_count === 0 ? null : REFUSALS.pool_has_nodes(name, node_count);
  }
  if (section === 'images') return inUseSentence('image', name, inFile(change));
  if (change.after !== null) return null;
  if (section === 'vm_profiles') return inUseSentence('VM profile', name, inFile(change));
  if (section === 'regions') return inUseSentence('region', name, await listRegionUses(reader, name));
  if (section === 'skus') return inUseSentence('SKU', name, await listSkuUses(reader, name));
  const pool = section === 'pools' ? await findPool(reader, name) : undefined;
  return pool === undefined ? null : inUseSentence('pool', name, await listPoolUses(reader, pool.id));
};

const planView = async (reader: Reader, plan: Planned, file: Site, { site }: Reading) => {
  const now = changesImages(plan.changes) ? await listDefaults(reader) : [];
  const images = { now, after: imagesAfter(now, plan.changes) };
  const changes = [];
  for (const change of plan.changes) {
    const use = await usesOf(reader, change, (one) => usesInFile(one, file, site, images));
    changes.push(changeView(change, use === null ? [] : [use]));
  }
  return { hash: plan.hash, changes };
};

export const plan = (ctx: ReadCtx, { body }: Req<'adminSitePlan'>) =>
  ctx.read(async (reader) => {
    const reading = await readSite(reader, body.site);
    return planView(reader, planOf(body.site, reading), body.site, reading);
  });

type Making = Readonly<{ tx: Tx; by: SetBy; reading: Reading }>;
type Maker<S extends SiteSection> = Readonly<{
  make(given: Making, row: SiteRow<S>): Promise<unknown>;
  change(given: Making, after: SiteRow<S>, before: SiteRow<S>): Promise<unknown>;
  remove(given: Making, before: SiteRow<S>, left: PlannedChange['left']): Promise<unknown>;
}>;

const placeOf = (
  places: readonly NamedPlace[],
  of: Readonly<{ organization: string; project: string | null }>,
): NamedPlace => {
  const found = places.find((one) => one.organization === of.organization && one.project === of.project);
  if (found === undefined) throw new Error(`the plan names no place ${of.organization}/${of.project}`);
  return found;
};
const poolValues = (given: Making, { name, purpose, organization }: SiteRow<'pools'>) => ({
  ...{ name, purpose },
  organization_id:
    organization === null ? null : placeOf(given.reading.places, { organization, project: null }).organization_id,
});
const stays = (what: string) => () => Promise.reject(new Error(`a site file never removes ${what}`));
const setPrice = ({ tx, by }: Making, { valid_from, ...spec }: SiteRow<'prices'>) =>
  createPrice(tx, valid_from === '' ? spec : { ...spec, valid_from }, by);
const endPrice = ({ tx, reading }: Making, before: SiteRow<'prices'>) => {
  const found = reading.prices.find((one) => one.sku_name === before.sku_name && one.valid_from === before.valid_from);
  if (found === undefined) throw new Error(`the plan names no price of ${before.sku_name}`);
  return cancelPrice(tx, found.id);
};
/** An operator may have set the limit since the plan was read: what the plan does not name is not overwritten. */
const setQuota = async ({ tx, reading }: Making, row: SiteRow<'quotas'>, before?: SiteRow<'quotas'>): Promise<void> => {
  const { organization_id, project_id } = placeOf(reading.places, row);
  const quota = { organization_id, project_id: project_id ?? '', gpu_limit: row.gpu_limit };
  const isSet =
    before === undefined
      ? (await putQuota(tx, { ...quota, version: 1 })) !== undefined
      : await changeQuota(tx, { ...quota, before: before.gpu_limit });
  if (!isSet) throw conflict(REFUSALS.site_changed);
};
const endQuota = async (
  { tx, reading }: Making,
  before: SiteRow<'quotas'>,
  left: PlannedChange['left'],
): Promise<void> => {
  const { organization_id, project_id } = placeOf(reading.quotas, before);
  const gpu_limit = left?.gpu_limit ?? null;
  const place = { organization_id, project_id: project_id ?? '' };
  if (!(await unsetQuota(tx, { ...place, gpu_limit, before: before.gpu_limit }))) throw conflict(REFUSALS.site_changed);
};
const addMapping = (given: Making, row: SiteRow<'group_mappings'>) => {
  const { organization_id, project_id } = placeOf(given.reading.places, row);
  return createGroupMapping(given.tx, { group: row.group, role: row.role, organization_id, project_id });
};
const endMapping = ({ tx, reading }: Making, { group, organization, project }: SiteRow<'group_mappings'>) => {
  const isIt = (one: NamedMapping) =>
    one.group === group && one.organization === organization && one.project === project;
  return deleteGroupMapping(tx, reading.mappings.find(isIt)?.id ?? '');
};

const MAKERS: { readonly [S in SiteSection]: Maker<S> } = {
  regions: {
    make: ({ tx }, row) => createRegion(tx, row),
    change: ({ tx }, after, before) => updateRegion(tx, after.name, changedRow(before, after)),
    remove: ({ tx }, { name }) => retireRegion(tx, name),
  },
  skus: {
    make: ({ tx }, row) => createSku(tx, row),
    change: ({ tx }, after, before) => updateSku(tx, after.name, changedRow(before, after)),
    remove: ({ tx }, { name }) => retireSku(tx, name),
  },
  vm_profiles: {
    make: ({ tx }, row) => createVmProfile(tx, row),
    change: ({ tx }, after, before) => updateVmProfile(tx, after.name, changedRow(before, after)),
    remove: ({ tx }, { name }) => retireVmProfile(tx, name),
  },
  prices: {
    make: setPrice,
    change: async (given, after, before) => {
      if (before.valid_from !== '') await endPrice(given, before);
      return setPrice(given, after);
    },
    remove: endPrice,
  },
  images: {
    make: ({ tx }, row) => createImage(tx, row),
    change: ({ tx }, after, before) =>
      after.digest === before.digest ? updateImage(tx, after.name, changedRow(before, after)) : createImage(tx, after),
    remove: ({ tx }, { name }) => retireImage(tx, name),
  },
  pools: {
    make: (given, row) => createPool(given.tx, poolValues(given, row)),
    change: (given, row) => updatePool(given.tx, row.name, poolValues(given, row)),
    remove: ({ tx }, { name }) => retirePool(tx, name),
  },
  policy: {
    make: ({ tx }, row) => changeSitePolicy(tx, row),
    change: ({ tx }, after, before) => changeSitePolicy(tx, changedRow(before, after)),
    remove: stays('the policy'),
  },
  quotas: { make: setQuota, change: setQuota, remove: endQuota },
  group_mappings: {
    make: addMapping,
    change: async (given, after, before) => {
      await endMapping(given, before);
      return addMapping(given, after);
    },
    remove: endMapping,
  },
};

const carryOut = <S extends SiteSection>(given: Making, change: PlannedChange<S>): Promise<unknown> => {
  const { section, before, after, left } = change as Readonly<{
    section: S;
    before: SiteRow<S> | null;
    after: SiteRow<S> | null;
    left?: PlannedChange['left'];
  }>;
  const maker: Maker<S> = MAKERS[section];
  if (before === null) return after === null ? Promise.resolve() : maker.make(given, after);
  return after === null ? maker.remove(given, before, left) : maker.change(given, after, before);
};

/**
 * Makes the site as the file says, in the transaction of the caller, which is in the platform scope. Null as the hash accepts
 * any plan: for the installation itself.
 */
export const applySite = async (tx: Tx, file: Site, hash: string | null, by: SetBy) => {
  await lockSite(tx);
  // A change of one image waits: each alone could leave a SKU its last default image, both together take it away.
  if (file.images !== undefined) await lockSkus(tx);
  const reading = await readSite(tx, file);
  const planned = planOf(file, reading);
  if (planned.changes.length > 0 && hash !== null && hash !== planned.hash) throw conflict(REFUSALS.site_changed);
  const view = await planView(tx, planned, file, reading);
  const blockers = view.changes.flatMap((change) => change.blockers);
  if (blockers.length > 0)
    throw new AppError('conflict', REFUSALS.site_blocked(blockers), {
      reasons: view.changes.flatMap(({ section, name, blockers: of }) =>
        of.map((text) => ({ code: 'in_use', section, name, text })),
      ),
    });
  for (const change of planned.changes) await carryOut({ tx, by, reading }, change);
  // A change of a single resource meanwhile is not overwritten: only what the plan named was changed.
  if (planOf(file, await readSite(tx, file)).changes.length > 0) throw conflict(REFUSALS.site_changed);
  return { view, planned, reading };
};

/** The change of a limit is also in the tenant's own audit log. */
const auditLimits = async (ctx: WriteCtx, changes: readonly PlannedChange[], reading: Reading): Promise<void> => {
  for (const change of changes) {
    const of = change.section === 'quotas' ? (change.after ?? change.before) : null;
    if (of === null) continue;
    const { gpu_limit } = change.left ?? of;
    const { organization_id, project_id } = placeOf(change.left === undefined ? reading.places : reading.quotas, of);
    await insertAuditLog(ctx.tx, {
      ...{ organization_id, project_id },
      ...{ actor_kind: 'user', actor_id: principalOf(ctx).id, actor_role: 'platform:superadmin' },
      ...{ source_ip: ctx.source_ip, user_agent: ctx.user_agent, correlation_id: ctx.correlation_id },
      ...{ action: 'quota.update', target_kind: 'quota', target_id: project_id ?? organization_id },
      ...{ result: 'success', error_code: null, policy: 'site.apply', metadata: { gpu_limit } },
    });
  }
};

export const apply = async (ctx: WriteCtx, { body }: Req<'adminSiteApply'>) => {
  const by = { user_id: principalOf(ctx).id, correlation_id: ctx.correlation_id };
  const { view, planned, reading } = await applySite(ctx.tx, body.site, body.hash, by);
  ctx.target('site', 'site');
  ctx.note({
    hash: view.hash,
    changes: view.changes.map(({ action, section, name }) => `${action} ${section} ${name}`),
  });
  await auditLimits(ctx, planned.changes, reading);
  return view;
};
