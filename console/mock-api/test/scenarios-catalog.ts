/** One successful request for each operation on regions, SKUs, VM profiles, prices and pools. */
import { must, type Scenarios, type TestApi } from './request.ts';

const REASON = { reason: 'For a test' };
const SKU = { sku_name: 'h200-sxm-slice' };
const NEW_SKU = {
  name: 'b200-slice',
  display_name: 'B200 slice',
  vendor: 'NVIDIA',
  gpu_model: 'B200 SXM',
  capacity_shape: 'gpu_slice' as const,
  gpus_per_node: 8,
  allowed_gpu_counts: [1, 2],
};
const PROFILE = { name: 'h200_1g_8c_32g', ...SKU, gpu_count: 1, vcpu_count: 8, memory_mib: 32_768 };
const PRICE = { ...SKU, gpu_hourly_price_minor: 475, currency: 'USD' };
const made = (api: TestApi, operation: 'adminSkuCreate' | 'adminPoolCreate', body: object) =>
  must(api, operation, { body });

export const catalogScenarios = {
  adminRegionList: () => ({}),
  adminRegionGet: () => ({ params: { region_name: 'us-buffalo-1' } }),
  adminRegionCreate: () => ({ body: { name: 'jp-tokyo-1', display_name: 'Tokyo, Japan' } }),
  adminRegionRetire: () => ({ params: { region_name: 'ae-abudhabi-1' }, body: REASON }),
  adminSkuList: () => ({}),
  adminSkuGet: () => ({ params: SKU }),
  adminSkuCreate: () => ({ body: NEW_SKU }),
  adminSkuRetire: async (api) => {
    await made(api, 'adminSkuCreate', NEW_SKU);
    return { params: { sku_name: NEW_SKU.name }, body: REASON };
  },
  adminVmProfileList: () => ({ query: SKU }),
  adminVmProfileGet: () => ({ params: { vm_profile_name: 'h200_1g_24c_64g' } }),
  adminVmProfileCreate: () => ({ body: PROFILE }),
  adminVmProfileUpdate: () => ({
    params: { vm_profile_name: 'h200_1g_12c_64g' },
    body: { is_default: true },
    if_match: 1,
  }),
  adminVmProfileRetire: () => ({ params: { vm_profile_name: 'h200_1g_12c_64g' }, body: REASON }),
  adminPriceList: () => ({ query: SKU }),
  adminPriceGet: ({ world }) => ({ params: { price_id: world.prices[0]?.id ?? '' } }),
  adminPriceCreate: () => ({ body: PRICE }),
  adminPriceCancel: async (api) => {
    const valid_from = new Date(api.world.now() + 3_600_000).toISOString();
    const price = await must<{ id: string }>(api, 'adminPriceCreate', { body: { ...PRICE, valid_from } });
    return { params: { price_id: price.id }, body: REASON };
  },
  adminPoolList: () => ({}),
  adminPoolGet: () => ({ params: { pool_name: 'shared' } }),
  adminPoolCreate: () => ({ body: { name: 'research', purpose: 'For the research group' } }),
  adminPoolUpdate: ({ seedIds }) => ({
    params: { pool_name: 'shared' },
    body: { purpose: `Not for ${seedIds.organization_id}` },
    if_match: 1,
  }),
  adminPoolRetire: async (api) => {
    await made(api, 'adminPoolCreate', { name: 'research' });
    return { params: { pool_name: 'research' }, body: REASON };
  },
} satisfies Partial<Scenarios>;
