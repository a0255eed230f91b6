/** The site as one file: the server's own plan, carried out by the handlers of the single resources. */
import { type CatalogUse, inUseSentence } from '../../../server/src/domain/catalog.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import {
  canonicalSite,
  fileOf,
  type PlannedChange,
  type Site,
  type SiteRow,
  type SiteSection,
  type WholeSite,
} from '../../../server/src/domain/site.ts';
import { changeView, movesPool } from '../../../server/src/domain/site-change.ts';
import { planSite } from '../../../server/src/domain/site-plan.ts';
import { imagesAfter, usesInFile } from '../../../server/src/domain/site-uses.ts';
import { type MockCtx, must, type Req } from '../core/context.ts';
import { conflict, Refusal } from '../core/errors.ts';
import { digestOf } from '../core/random.ts';
import type { World } from '../core/world.ts';
import { defaultImages, priceView } from '../views/catalog.ts';
import { admin } from './admin.ts';
import { adminCatalog, allocationsIn, changeVmProfile, current, nodesIn, retireVmProfile } from './admin-catalog.ts';
import { changeImage, imageNamed, registerImage, retireImage } from './admin-image.ts';
import { adminPool } from './admin-pool.ts';
import { site as siteHandlers } from './site.ts';

const REASON = { reason: 'The site file no longer lists it' };
const isLive = (row: Readonly<{ retired_at: string | null }>): boolean => row.retired_at === null;
const without = <Row extends { retired_at: string | null; version: number }>({
  retired_at: _,
  version: __,
  ...spec
}: Row) => spec;

/** The others follow from the sign-up policy. */
const isSet = ({ version }: Readonly<{ version: number }>): boolean => version > 1;

const placeNames = (world: World, organizationId: string, projectId: string | null) => ({
  organization: world.organizations.get(organizationId)?.name ?? '',
  project: projectId === null ? null : (world.projects.get(projectId)?.name ?? ''),
});

const readSite = (world: World): WholeSite => {
  const { sign_up, mail_domains, default_gpu_limit, contact } = world.sitePolicy;
  const live = new Set(world.skus.filter(isLive).map(({ name }) => name));
  const prices = world.prices
    .map((one) => priceView(world, one))
    .filter((one) => live.has(one.sku_name) && (one.state === 'current' || one.state === 'future'));
  return canonicalSite(
    {
      version: 1,
      regions: world.regions.filter(isLive).map(without),
      skus: world.skus.filter(isLive).map(without),
      vm_profiles: world.vmProfiles.filter(isLive).map(without),
      prices: prices.map(({ sku_name, gpu_hourly_price: price, valid_from, state }) => ({
        ...{ sku_name, gpu_hourly_price_minor: price.amount_minor, currency: price.currency },
        ...(state === 'current' ? {} : { valid_from }),
      })),
      images: world.images
        .filter((image) => isLive(image) && image.enabled)
        .map(({ enabled: _, versions: __, retired_at: ___, version: ____, ...image }) => ({
          ...image,
          sku_names: image.sku_names.filter((name) => live.has(name)),
        })),
      pools: world.pools.filter(isLive).map(({ name, purpose, organization_id }) => ({
        ...{ name, purpose },
        organization: world.organizations.get(organization_id ?? '')?.name ?? null,
      })),
      policy: { sign_up, mail_domains, default_gpu_limit, contact },
      quotas: [...world.quotas.values()].filter(isSet).map((row) => ({
        ...placeNames(world, row.organization_id, row.project_id),
        gpu_limit: row.limit,
      })),
      group_mappings: world.groupMappings.map(({ group, role, organization_id, project_id }) => ({
        ...{ group, role },
        ...placeNames(world, organization_id, project_id),
      })),
    },
    world.now(),
  );
};

const planOf = (world: World, file: Site) => {
  const organizations = [...world.organizations.values()];
  const plan = planSite(file, readSite(world), {
    now_ms: world.now(),
    organizations: new Set(organizations.map(({ name }) => name)),
    projects: new Set(
      [...world.projects.values()].map(
        ({ name, organization_id }) => `${world.organizations.get(organization_id)?.name}/${name}`,
      ),
    ),
    digest: digestOf,
    image_versions: world.images.flatMap(({ name, versions }) =>
      versions.map(({ digest, retired_at }) => ({ image_name: name, digest, is_retired: retired_at !== null })),
    ),
  });
  if (!('changes' in plan))
    throw new Refusal('invalid_request', REFUSALS.site_file_problems(plan.problems.length), {
      errors: plan.problems.map((one) => ({ ...one, pointer: `/body/site${one.pointer}` })),
    });
  return plan;
};

const useOf = (world: World, change: PlannedChange, inFile: (change: PlannedChange) => CatalogUse[]): string | null => {
  const { section, name, after } = change;
  if (movesPool(change)) {
    const count = nodesIn(world, 'pool_name', name)[0]?.count ?? 0;
    return count === 0 ? null : REFUSALS.pool_has_nodes(name, count);
  }
  if (section === 'images') return inUseSentence('image', name, inFile(change));
  if (after !== null) return null;
  if (section === 'vm_profiles') return inUseSentence('VM profile', name, inFile(change));
  if (section === 'regions')
    return inUseSentence('region', name, [
      ...nodesIn(world, 'region_name', name),
      ...allocationsIn(world, 'region_name', name),
    ]);
  if (section === 'skus') return inUseSentence('SKU', name, allocationsIn(world, 'sku_name', name));
  return section === 'pools' ? inUseSentence('pool', name, nodesIn(world, 'pool_name', name)) : null;
};

const viewOf = (world: World, file: Site, plan: Readonly<{ hash: string; changes: readonly PlannedChange[] }>) => {
  const actual = readSite(world);
  const now = defaultImages(world);
  const images = { now, after: imagesAfter(now, plan.changes) };
  const inFile = (change: PlannedChange) => usesInFile(change, file, actual, images);
  return {
    hash: plan.hash,
    changes: plan.changes.map((change) => changeView(change, [useOf(world, change, inFile) ?? []].flat())),
  };
};

const placeIds = (world: World, of: Readonly<{ organization: string; project: string | null }>) => {
  const organization_id = [...world.organizations.values()].find(({ name }) => name === of.organization)?.id ?? '';
  const isProject = (one: { organization_id: string; name: string }) =>
    one.organization_id === organization_id && one.name === of.project;
  return { organization_id, project_id: [...world.projects.values()].find(isProject)?.id };
};

const query = {};
const params = {};
const request = { query, params, body: {}, if_match: undefined, last_event_id: undefined };
const versionIn = (rows: readonly Readonly<{ name: string; version: number }>[], name: string): number =>
  rows.find((one) => one.name === name)?.version ?? 0;

const endPrice = async (ctx: MockCtx, { sku_name, valid_from }: SiteRow<'prices'>): Promise<void> => {
  const isIt = (one: { sku_name: string; valid_from: string; cancelled_at: string | null }) =>
    one.sku_name === sku_name && one.cancelled_at === null && Date.parse(one.valid_from) === Date.parse(valid_from);
  const price_id = ctx.world.prices.find(isIt)?.id ?? '';
  await adminCatalog.adminPriceCancel(ctx, { ...request, params: { price_id }, body: REASON });
};
const endMapping = async (ctx: MockCtx, row: SiteRow<'group_mappings'>): Promise<void> => {
  const { organization_id, project_id = null } = placeIds(ctx.world, row);
  const isIt = (one: { group: string; organization_id: string; project_id: string | null }) =>
    one.group === row.group && one.organization_id === organization_id && one.project_id === project_id;
  const group_mapping_id = ctx.world.groupMappings.find(isIt)?.id ?? '';
  await siteHandlers.adminGroupMappingDelete(ctx, { ...request, params: { group_mapping_id } } as never);
};

/** The handlers check nothing that the plan has not checked. */
const CARRY_OUT: {
  readonly [S in SiteSection]: (
    ctx: MockCtx,
    before: SiteRow<S> | null,
    after: SiteRow<S> | null,
    left: PlannedChange['left'],
  ) => Promise<unknown>;
} = {
  regions: async (ctx, before, after) => {
    const at = { region_name: (after ?? before)?.name ?? '' };
    if (after === null) return adminCatalog.adminRegionRetire(ctx, { ...request, params: at, body: REASON });
    if (before === null) return adminCatalog.adminRegionCreate(ctx, { ...request, body: after } as never);
    const { name, ...body } = after;
    return adminCatalog.adminRegionUpdate(ctx, {
      ...{ ...request, params: at, body },
      if_match: versionIn(ctx.world.regions, name),
    });
  },
  skus: async (ctx, before, after) => {
    const at = { sku_name: (after ?? before)?.name ?? '' };
    if (after === null) return adminCatalog.adminSkuRetire(ctx, { ...request, params: at, body: REASON });
    if (before === null) return adminCatalog.adminSkuCreate(ctx, { ...request, body: after } as never);
    const { display_name, gpu_ids, allowed_gpu_counts, enabled, disabled_reason } = after;
    return adminCatalog.adminSkuUpdate(ctx, {
      ...{ ...request, params: at, body: { display_name, gpu_ids, allowed_gpu_counts, enabled, disabled_reason } },
      if_match: versionIn(ctx.world.skus, after.name),
    });
  },
  vm_profiles: async (ctx, before, after) => {
    const at = { vm_profile_name: (after ?? before)?.name ?? '' };
    if (after === null) return retireVmProfile(ctx, at.vm_profile_name);
    if (before === null) return adminCatalog.adminVmProfileCreate(ctx, { ...request, body: after } as never);
    return changeVmProfile(ctx.world, current(ctx.world.vmProfiles, after.name, 'VM profile'), after);
  },
  prices: async (ctx, before, after) => {
    if (before !== null && before.valid_from !== '') await endPrice(ctx, before);
    if (after === null) return;
    const { valid_from, ...body } = after;
    await adminCatalog.adminPriceCreate(ctx, {
      ...request,
      body: valid_from === '' ? body : { ...body, valid_from },
    } as never);
  },
  images: async (ctx, before, after) => {
    const at = { image_name: (after ?? before)?.name ?? '' };
    if (after === null) return retireImage(ctx, at.image_name);
    if (before?.digest !== after.digest) return registerImage(ctx.world, after);
    const { display_name, channel, trust, sku_names } = after;
    const image = must(imageNamed(ctx.world, after.name), 'image');
    return changeImage(ctx.world, image, { display_name, channel, trust, sku_names });
  },
  pools: async (ctx, before, after) => {
    const at = { pool_name: (after ?? before)?.name ?? '' };
    if (after === null) return adminPool.adminPoolRetire(ctx, { ...request, params: at, body: REASON });
    const organization_id =
      after.organization === null
        ? null
        : placeIds(ctx.world, { organization: after.organization, project: null }).organization_id;
    const body = { purpose: after.purpose, organization_id };
    if (before === null)
      return adminPool.adminPoolCreate(ctx, { ...request, body: { ...body, name: after.name } } as never);
    return adminPool.adminPoolUpdate(ctx, {
      ...{ ...request, params: at, body },
      if_match: versionIn(ctx.world.pools, after.name),
    });
  },
  policy: async (ctx, _, after) => {
    if (after !== null)
      await siteHandlers.adminSitePolicyUpdate(ctx, {
        ...{ ...request, params: {}, body: after },
        if_match: ctx.world.sitePolicy.version,
      } as never);
  },
  quotas: async (ctx, before, after, left) => {
    const of = after ?? before;
    if (of === null) return;
    const ids = placeIds(ctx.world, of);
    const key = ids.project_id ?? ids.organization_id;
    if (after === null) {
      const place = { organization_id: ids.organization_id, project_id: ids.project_id ?? null };
      ctx.world.quotas.set(key, { ...place, limit: left?.gpu_limit ?? null, version: 1 });
      return;
    }
    const version = ctx.world.quotas.get(key)?.version ?? 1;
    const body = { ...ids, gpu_limit: after.gpu_limit };
    await admin.adminQuotaPut(ctx, { ...request, body, if_match: version } as never);
  },
  group_mappings: async (ctx, before, after) => {
    if (before !== null) await endMapping(ctx, before);
    if (after === null) return;
    const body = { group: after.group, role: after.role, ...placeIds(ctx.world, after) };
    await siteHandlers.adminGroupMappingCreate(ctx, { ...request, body } as never);
  },
};

const carryOut = async <S extends SiteSection>(ctx: MockCtx, change: PlannedChange<S>): Promise<void> => {
  const { section, before, after, left } = change as Readonly<{
    section: S;
    before: SiteRow<S> | null;
    after: SiteRow<S> | null;
    left?: PlannedChange['left'];
  }>;
  await CARRY_OUT[section](ctx, before, after, left);
};

export const siteFile = {
  adminSiteExport: async ({ world }: MockCtx) => fileOf(readSite(world)),
  adminSitePlan: async ({ world }: MockCtx, { body }: Req<'adminSitePlan'>) =>
    viewOf(world, body.site, planOf(world, body.site)),
  adminSiteApply: async (ctx: MockCtx, { body }: Req<'adminSiteApply'>) => {
    const plan = planOf(ctx.world, body.site);
    if (plan.changes.length > 0 && plan.hash !== body.hash) throw conflict(REFUSALS.site_changed);
    const view = viewOf(ctx.world, body.site, plan);
    const blockers = view.changes.flatMap((change) => change.blockers);
    if (blockers.length > 0) throw conflict(REFUSALS.site_blocked(blockers));
    for (const change of plan.changes) await carryOut(ctx, change);
    ctx.target('site', 'site');
    return view;
  },
};
