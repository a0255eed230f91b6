/** Regions, SKUs, VM profiles, prices, pools and images as operators see them. */
import type {
  AdminOsImage,
  AdminRegion,
  AdminSku,
  AdminVmProfile,
  Operations,
  Pool,
  Price,
  Region,
  Sku,
} from '@gpuaas/sdk';
import { id, ids, time } from './fixtures-identity.ts';
import { node } from './fixtures-placement.ts';

const page = <T>(...items: T[]) => ({ items, next_cursor: null });
const retired_at = '2026-11-16T09:00:00.000Z';

const vmProfile: AdminVmProfile = {
  name: 'h200_1g_24c_64g',
  sku_name: 'h200-sxm-slice',
  gpu_count: 1,
  vcpu_count: 24,
  memory_mib: 65_536,
  hugepages: 'auto',
  numa_policy: 'strict',
  is_default: true,
  hosts_checked: 3,
  hosts_too_small: 0,
  too_small: [],
  retired_at: null,
  version: 1,
};
const tooLarge: AdminVmProfile = {
  ...vmProfile,
  name: 'h200_1g_96c_512g',
  vcpu_count: 96,
  memory_mib: 524_288,
  is_default: false,
  hosts_too_small: 1,
  too_small: [
    {
      node_id: id('nod', '1a'),
      node_name: 'j22u05',
      reason: '1 of 2 NUMA nodes with 64 CPUs, 96 needed',
    },
  ],
};

export const price: Price = {
  id: id('prc', '1a'),
  sku_name: 'h200-sxm-slice',
  gpu_hourly_price: { amount_minor: 349, currency: 'USD' },
  valid_from: time,
  valid_until: '2027-01-01T00:00:00.000Z',
  state: 'current',
  created_by: ids.user,
  created_at: time,
  cancelled_at: null,
};
const future: Price = {
  ...price,
  id: id('prc', '2b'),
  gpu_hourly_price: { amount_minor: 329, currency: 'USD' },
  valid_from: '2027-01-01T00:00:00.000Z',
  valid_until: null,
  state: 'future',
};

const shared: Pool = {
  id: id('pol', '1a'),
  name: 'shared',
  purpose: null,
  kind: 'shared',
  organization_id: null,
  organization_name: null,
  node_count: 12,
  retired_at: null,
  version: 1,
  created_at: time,
};
const dedicated: Pool = {
  ...shared,
  id: id('pol', '2b'),
  name: 'research',
  purpose: 'Reserved until March',
  kind: 'dedicated',
  organization_id: ids.enterprise,
  organization_name: 'acme',
  node_count: 2,
};

const noHost =
  'demo-h200-01 in eu-north-1 could not fetch it: http://images.example/ has no image rocky-9. Correct the image source of the host, then: gpuaas admin node image pull NODE rocky-9';

/** An image for a kernel, which one host does not have. */
export const notEverywhere = {
  boot_kind: 'kernel',
  hosts_unable: 1,
  unable: [{ node_id: node.id, node_name: node.name, reason: 'host has no kernel for VMs, which the image needs' }],
} as const satisfies Partial<AdminOsImage>;

export const catalogAnswers = (
  tenantRegion: Region,
  { enabled, disabled_reason, fabric: _, ...sku }: Sku,
  image: AdminOsImage,
) => {
  const adminSku: AdminSku = { ...sku, enabled, disabled_reason, blockers: [], gpu_ids: [], allocation_count: 3 };
  const region: AdminRegion = { ...tenantRegion, allocation_count: 5 };
  const unpriced = { ...adminSku, gpu_hourly_price: null, blockers: ['It has no price yet.'] };
  const closed = { ...region, name: 'eu-west-1', enabled: false, disabled_reason: 'Hosts arrive next month.' };
  return {
    adminRegionList: page(region, closed, { ...region, name: 'us-old-1', display_name: 'Old', retired_at }),
    adminRegionGet: region,
    adminRegionCreate: region,
    adminRegionUpdate: { ...region, enabled: false, disabled_reason: 'Maintenance.' },
    adminRegionRetire: { ...region, retired_at },
    adminSkuList: page(adminSku, { ...unpriced, name: 'b200-sxm-slice', gpu_model: 'B200 SXM' }),
    adminSkuGet: adminSku,
    adminSkuCreate: unpriced,
    adminSkuUpdate: { ...adminSku, display_name: 'H200 VM' },
    adminSkuRetire: { ...adminSku, retired_at },
    adminVmProfileList: page(vmProfile, tooLarge),
    adminVmProfileGet: tooLarge,
    adminVmProfileCreate: tooLarge,
    adminVmProfileUpdate: { ...vmProfile, memory_mib: 131_072, version: 2 },
    adminVmProfileRetire: { ...vmProfile, retired_at },
    adminPriceList: page(future, price),
    adminPriceGet: price,
    adminPriceCreate: price,
    adminPriceCancel: { ...future, state: 'cancelled' as const, cancelled_at: time },
    adminPoolList: page(dedicated, shared),
    adminPoolGet: dedicated,
    adminPoolCreate: dedicated,
    adminPoolUpdate: { ...shared, purpose: 'For everybody' },
    adminPoolRetire: { ...dedicated, node_count: 0, retired_at },
    adminOsImageList: page(
      image,
      { ...image, name: 'debian-12', trust: 'unverified' as const, retired_at, default_regions: [] },
      { ...image, name: 'rocky-9', default_regions: [], default_blockers: [noHost] },
    ),
    adminOsImageGet: { ...image, ...notEverywhere },
    adminOsImageUpdate: {
      ...image,
      channel: 'candidate' as const,
      default_regions: [],
      default_blockers: [
        'Its channel is candidate. To change it: gpuaas admin image update ubuntu-24.04-h200-cuda --channel stable',
      ],
    },
    adminNodeUpdate: { ...node, pool_name: 'research' },
  } satisfies Partial<{ [K in keyof Operations]: Operations[K]['response'] }>;
};
export const futurePrice = future;
