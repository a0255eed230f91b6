/** Scenarios of the catalog's resources. Each makes what it changes, so that they run in any order. */
import { randomUUID } from 'node:crypto';
import type { Scenarios } from './scenario.ts';
import { must, type Tenants } from './tenants.ts';

const REASON = { reason: 'For a test' };
const unique = (word: string): string => `${word}-${randomUUID().slice(0, 8)}`;

export const newRegion = (name = unique('region')) => ({ name, display_name: 'A region of a test' });
export const newSku = (name = unique('sku')) => ({
  name,
  display_name: 'A SKU of a test',
  vendor: 'NVIDIA',
  gpu_model: 'TEST GPU',
  capacity_shape: 'gpu_slice' as const,
  gpus_per_node: 8,
  allowed_gpu_counts: [1, 2],
});
export const newPool = (name = unique('pool')) => ({ name, purpose: 'For a test' });
const newProfile = (sku_name: string, is_default = true) => ({
  name: unique('profile').replace('-', '_'),
  sku_name,
  gpu_count: 1,
  vcpu_count: 8,
  memory_mib: 16_384,
  is_default,
});
const IN_AN_HOUR = () => new Date(Date.now() + 3_600_000).toISOString();

const make = async ({ superadmin }: Tenants, path: string, body: object) =>
  must(await superadmin.post(`/api/v1/admin/${path}`, body), 201).body;
const region = (tenants: Tenants) => make(tenants, 'regions', newRegion());
const sku = (tenants: Tenants) => make(tenants, 'skus', newSku());
export const newPrice = async (tenants: Tenants) => {
  const body = { gpu_hourly_price_minor: 475, currency: 'USD', valid_from: IN_AN_HOUR() };
  return make(tenants, 'prices', { ...body, sku_name: (await sku(tenants)).name });
};
const profile = async (tenants: Tenants) => make(tenants, 'vm-profiles', newProfile((await sku(tenants)).name));
const pool = (tenants: Tenants) => make(tenants, 'pools', newPool());
const as = ({ superadmin }: Tenants) => ({ as: superadmin });

type CatalogOperation =
  | `admin${'Region' | 'Sku' | 'VmProfile' | 'Pool'}${'List' | 'Get' | 'Create' | 'Retire'}`
  | `admin${'Sku' | 'VmProfile' | 'Pool'}Update`
  | `adminPrice${'List' | 'Get' | 'Create' | 'Cancel'}`;

export const catalogScenarios: Pick<Scenarios, CatalogOperation> = {
  adminRegionList: async (tenants) => as(tenants),
  adminRegionGet: async (tenants) => ({ ...as(tenants), params: { region_name: (await region(tenants)).name } }),
  adminRegionCreate: async (tenants) => ({ ...as(tenants), body: newRegion() }),
  adminRegionRetire: async (tenants) => ({
    ...as(tenants),
    params: { region_name: (await region(tenants)).name },
    body: REASON,
  }),

  adminSkuList: async (tenants) => as(tenants),
  adminSkuGet: async (tenants) => ({ ...as(tenants), params: { sku_name: (await sku(tenants)).name } }),
  adminSkuCreate: async (tenants) => ({ ...as(tenants), body: newSku() }),
  adminSkuUpdate: async (tenants) => ({
    ...as(tenants),
    params: { sku_name: (await sku(tenants)).name },
    body: { display_name: 'Another name' },
    if_match: 1,
  }),
  adminSkuRetire: async (tenants) => ({
    ...as(tenants),
    params: { sku_name: (await sku(tenants)).name },
    body: REASON,
  }),

  adminVmProfileList: async (tenants) => as(tenants),
  adminVmProfileGet: async (tenants) => ({
    ...as(tenants),
    params: { vm_profile_name: (await profile(tenants)).name },
  }),
  adminVmProfileCreate: async (tenants) => ({ ...as(tenants), body: newProfile((await sku(tenants)).name) }),
  adminVmProfileUpdate: async (tenants) => ({
    ...as(tenants),
    params: { vm_profile_name: (await profile(tenants)).name },
    body: { memory_mib: 32_768 },
    if_match: 1,
  }),
  adminVmProfileRetire: async (tenants) => ({
    ...as(tenants),
    // The only default of a SKU in use stays.
    params: {
      vm_profile_name: (await make(tenants, 'vm-profiles', newProfile((await sku(tenants)).name, false))).name,
    },
    body: REASON,
  }),

  adminPriceList: async (tenants) => as(tenants),
  adminPriceGet: async (tenants) => ({ ...as(tenants), params: { price_id: (await newPrice(tenants)).id } }),
  adminPriceCreate: async (tenants) => ({
    ...as(tenants),
    body: { sku_name: (await sku(tenants)).name, gpu_hourly_price_minor: 475, currency: 'USD' },
  }),
  adminPriceCancel: async (tenants) => {
    return { ...as(tenants), params: { price_id: (await newPrice(tenants)).id }, body: REASON };
  },

  adminPoolList: async (tenants) => as(tenants),
  adminPoolGet: async (tenants) => ({ ...as(tenants), params: { pool_name: (await pool(tenants)).name } }),
  adminPoolCreate: async (tenants) => ({ ...as(tenants), body: newPool() }),
  adminPoolUpdate: async (tenants) => ({
    ...as(tenants),
    params: { pool_name: (await pool(tenants)).name },
    body: { organization_id: tenants.acme.organization_id },
    if_match: 1,
  }),
  adminPoolRetire: async (tenants) => ({
    ...as(tenants),
    params: { pool_name: (await pool(tenants)).name },
    body: REASON,
  }),
};
