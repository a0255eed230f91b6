/** SKUs with their current price and VM profiles, as tenants and operators see them. */
import { ENDED_ALLOCATION_STATES, SLOT_PARTS } from '@gpuaas/contract';
import { priceAt, skuAvailability, skuBlockers } from '../../../server/src/domain/catalog.ts';
import { fabricOf } from '../../../server/src/domain/fabric.ts';
import { type DefaultImage, imageDefault } from '../../../server/src/domain/image-default.ts';
import type { OsImage, Price, Region, Sku, VmProfile } from '../core/rows.ts';
import type { World } from '../core/world.ts';

const ENDED: readonly string[] = ENDED_ALLOCATION_STATES;
/** They keep it from being retired. */
export const unreleased = (world: World, key: 'region_name' | 'sku_name', name: string): string[] =>
  [...world.allocations.values()].filter((one) => one[key] === name && !ENDED.includes(one.state)).map((one) => one.id);

const pricesOf = (world: World, skuName: string): Price[] => world.prices.filter((one) => one.sku_name === skuName);

export const skuPriceAt = (world: World, skuName: string): Price['gpu_hourly_price'] | null =>
  priceAt(pricesOf(world, skuName), world.now())?.gpu_hourly_price ?? null;

const view = (world: World, sku: Sku) => {
  const gpu_hourly_price = skuPriceAt(world, sku.name);
  return {
    ...sku,
    required_parts: sku.capacity_shape === 'gpu_slice' ? [...SLOT_PARTS] : [],
    gpu_hourly_price: gpu_hourly_price === null ? null : { ...gpu_hourly_price },
    vm_profiles: world.vmProfiles
      .filter((one) => one.sku_name === sku.name && one.retired_at === null)
      .map(({ name, gpu_count, vcpu_count, memory_mib, is_default }) => ({
        name,
        gpu_count,
        vcpu_count,
        memory_mib,
        is_default,
      }))
      .toSorted((a, b) => a.gpu_count - b.gpu_count || (a.name < b.name ? -1 : 1)),
  };
};

export const hasHost = (world: World, region: string): boolean =>
  [...world.nodes.values()].some((node) => node.region_name === region && node.state === 'active');

/** A host of the region has a version of it that is not retired; in the mock every download succeeds. */
const hasImage = (world: World, image: OsImage, region: string): boolean =>
  [...world.nodes.values()].some(
    (node) =>
      node.region_name === region &&
      node.images.some(({ digest }) =>
        image.versions.some((version) => version.digest === digest && version.retired_at === null),
      ),
  );

const imageViews = (world: World, image: OsImage) => {
  const regions = world.regions
    .filter(({ enabled, retired_at }) => enabled && retired_at === null)
    .map(({ name }) => ({
      region_name: name,
      has_host: hasHost(world, name),
      is_available: hasImage(world, image, name),
      failure: null,
      node_name: null,
    }));
  const { default_regions, default_blockers } = imageDefault({ ...image, regions });
  const available_regions = regions.flatMap((one) => (one.is_available ? one.region_name : []));
  // Usable versions first.
  const isRetired = ({ retired_at }: OsImage['versions'][number]) => Number(retired_at !== null);
  const versions = image.versions.toSorted((a, b) => isRetired(a) - isRetired(b));
  return { view: { ...image, versions, default_regions }, default_blockers, available_regions };
};

/** As far as launches that name no image are concerned. */
export const defaultImage = (world: World, image: OsImage): DefaultImage => {
  const { view, available_regions } = imageViews(world, image);
  const { name, sku_names, default_regions } = view;
  return { name, sku_names, default_regions, available_regions };
};
export const tenantImage = (world: World, image: OsImage) => imageViews(world, image).view;
export const operatorImage = (world: World, image: OsImage) => {
  const { view, default_blockers } = imageViews(world, image);
  // Every host of the mock starts both boot kinds.
  const models = world.skus.filter((sku) => sku.capacity_shape === 'gpu_slice' && image.sku_names.includes(sku.name));
  const hosts = [...world.nodes.values()].filter(
    (node) => node.discovered_at !== null && models.some(({ gpu_model }) => gpu_model === node.gpu_model),
  );
  return { ...view, default_blockers, hosts_checked: hosts.length, hosts_unable: 0, unable: [] };
};

export const defaultImages = (world: World): DefaultImage[] =>
  world.images.filter(({ retired_at }) => retired_at === null).map((one) => defaultImage(world, one));

/** What a launch in the region gets that names no image. */
export const isDefaultImage = (world: World, image: OsImage, region: string): boolean =>
  tenantImage(world, image).default_regions.includes(region);

const needsOf = (world: World, sku: Sku) => {
  const images = world.images.filter((one) => one.enabled && one.sku_names.includes(sku.name));
  const isBare = sku.capacity_shape === 'baremetal';
  return {
    ...sku,
    gpu_hourly_price_minor: skuPriceAt(world, sku.name)?.amount_minor ?? null,
    has_vm_profile: isBare || view(world, sku).vm_profiles.length > 0,
    has_image: isBare || images.length > 0,
    has_default_image: isBare || images.some((one) => tenantImage(world, one).default_regions.length > 0),
  };
};

/** Whether tenants can launch it. */
export const isOpen = (world: World, sku: Sku): boolean =>
  sku.retired_at === null && skuAvailability(needsOf(world, sku)).enabled;

export const tenantSku = (world: World, sku: Sku) => {
  const { gpu_ids: _, ...shown } = view(world, sku);
  const fabric = world.regions
    .filter(({ retired_at }) => retired_at === null)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name: region_name, fabric_isolation }) => ({
      region_name,
      ...fabricOf({ capacity_shape: sku.capacity_shape, fabric_isolation }),
    }));
  return { ...shown, ...skuAvailability(needsOf(world, sku)), fabric };
};
export const operatorSku = (world: World, sku: Sku) => ({
  ...view(world, sku),
  blockers: skuBlockers(needsOf(world, sku)),
  allocation_count: unreleased(world, 'sku_name', sku.name).length,
});
export const operatorRegion = (world: World, region: Region) => ({
  ...region,
  allocation_count: unreleased(world, 'region_name', region.name).length,
});

/** No discovery of the mock measures hosts, so none is too small. */
export const vmProfileView = (row: VmProfile) => ({ ...row, hosts_checked: 0, hosts_too_small: 0, too_small: [] });

export const priceView = (world: World, row: Price) => {
  const { ended_at, ...rest } = row;
  const all = pricesOf(world, row.sku_name);
  const later = all
    .filter((one) => one.cancelled_at === null && Date.parse(one.valid_from) > Date.parse(row.valid_from))
    .map((one) => one.valid_from)
    .toSorted();
  const state =
    row.cancelled_at !== null
      ? ('cancelled' as const)
      : Date.parse(row.valid_from) > world.now()
        ? ('future' as const)
        : priceAt(all, world.now()) === row
          ? ('current' as const)
          : ('past' as const);
  const ends = [ended_at, later[0]].filter((one) => one !== null && one !== undefined).toSorted();
  return { ...rest, valid_until: row.cancelled_at === null ? (ends[0] ?? null) : null, state };
};
