/**
 * The catalog of a new platform. Running it again changes nothing: prices and switches that an operator has set since
 * then stay. Digests of the demo images are invented: no such file is shipped.
 */
import { createHash } from 'node:crypto';
import { mintId } from '@gpuaas/kit';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { findOsImage, insertOsImageVersion, replaceOsImageSkus, upsertOsImage } from '../db/os-image.ts';
import { findRegion, insertRegion } from '../db/region.ts';
import { type SitePolicySettings, updateSitePolicy } from '../db/site-policy.ts';
import { findSku, insertSku } from '../db/sku.ts';
import { insertPrice } from '../db/sku-price.ts';
import { findVmProfile, insertVmProfile } from '../db/sku-vm-profile.ts';

const FIRST_VERSION = 1;
const SLICE_SKU = 'h200-sxm-slice';
const BAREMETAL_SKU = 'h200-sxm-baremetal-8g';

const REGIONS = [
  { name: 'us-buffalo-1', display_name: 'Buffalo, United States', disabled_reason: null },
  {
    name: 'eu-frankfurt-1',
    display_name: 'Frankfurt, Germany',
    disabled_reason: 'No hosts are installed in this region yet.',
  },
  {
    name: 'ae-abudhabi-1',
    display_name: 'Abu Dhabi, United Arab Emirates',
    disabled_reason: 'Planned; hosts are on order.',
  },
];

const profile = (gpu_count: number, vcpu_count: number, memory_mib: number, is_default: boolean) => ({
  name: `h200_${gpu_count}g_${vcpu_count}c_${memory_mib / 1024}g`,
  gpu_count,
  vcpu_count,
  memory_mib,
  is_default,
});

const SKUS = [
  {
    name: SLICE_SKU,
    display_name: 'NVIDIA H200 GPU VM',
    capacity_shape: 'gpu_slice' as const,
    allowed_gpu_counts: [1, 2, 4, 8],
    profiles: [
      profile(1, 12, 65_536, false),
      profile(1, 24, 65_536, true),
      profile(2, 48, 131_072, true),
      profile(4, 96, 262_144, true),
      profile(8, 192, 524_288, true),
    ],
  },
  {
    name: BAREMETAL_SKU,
    display_name: 'NVIDIA H200 bare-metal node',
    capacity_shape: 'baremetal' as const,
    allowed_gpu_counts: [8],
    profiles: [],
  },
];

const demoDigest = (name: string): string =>
  `sha256:${createHash('sha256').update(`gpuaas demo image ${name}`).digest('hex')}`;

const BASE_CHECKS = ['host_name', 'ssh_host_key', 'cloud_init', 'no_cuda'];
const CUDA_CHECKS = ['host_name', 'ssh_host_key', 'cloud_init', 'cuda_compiler', 'cuda_compile', 'gpu_driver'];

/** The first of them is the default of a launch. */
const IMAGES = [
  {
    name: 'H200-ubuntu-24.04-gpuaas-slice',
    display_name: 'Ubuntu 24.04 for H200 slices',
    driver_strategy: 'cloud_init',
    readiness_checks: BASE_CHECKS,
    size_bytes: 3_758_096_384,
  },
  {
    name: 'ubuntu-24.04-h200-cuda',
    display_name: 'Ubuntu 24.04 with CUDA',
    driver_strategy: 'preinstalled',
    readiness_checks: CUDA_CHECKS,
    size_bytes: 21_474_836_480,
  },
  {
    name: 'ubuntu-24.04-h200-base',
    display_name: 'Ubuntu 24.04',
    driver_strategy: 'cloud_init',
    readiness_checks: BASE_CHECKS,
    size_bytes: 3_758_096_384,
  },
] as const;

/** A resource that was retired since stays retired. */
const seedSku = async (tx: Tx, { profiles, ...sku }: (typeof SKUS)[number]): Promise<void> => {
  if ((await findSku(tx, sku.name)) !== undefined) return;
  await insertSku(tx, {
    ...sku,
    vendor: 'NVIDIA',
    gpu_model: 'H200 SXM',
    gpus_per_node: 8,
    enabled: true,
    disabled_reason: null,
  });
  await insertPrice(tx, {
    id: mintId('prc'),
    sku_name: sku.name,
    currency: 'USD',
    gpu_hourly_price_minor: 450,
    valid_from: null,
    created_by: null,
    correlation_id: 'demo-catalog',
  });
  for (const one of profiles)
    if ((await findVmProfile(tx, one.name)) === undefined) await insertVmProfile(tx, { ...one, sku_name: sku.name });
};
/** People of the demo sign up by themselves. A policy that an operator has set stays. */
const DEMO_POLICY = { sign_up: 'open', mail_domains: [], default_gpu_limit: 64, contact: null } as const;

/** `default_gpu_limit`: null lets tests launch without a limit. */
export const seedSitePolicy = (database: Database, settings: Partial<SitePolicySettings> = {}): Promise<unknown> =>
  database.write(PLATFORM, (tx) => updateSitePolicy(tx, FIRST_VERSION, { ...DEMO_POLICY, ...settings }));

export const seedCatalog = (database: Database): Promise<void> =>
  database.write(PLATFORM, async (tx) => {
    for (const region of REGIONS)
      if ((await findRegion(tx, region.name)) === undefined)
        await insertRegion(tx, {
          ...region,
          enabled: region.disabled_reason === null,
          wipe_minimum: 'clear',
          allows_wipe_override: false,
        });
    for (const sku of SKUS) await seedSku(tx, sku);
    for (const image of IMAGES) {
      if ((await findOsImage(tx, image.name)) !== undefined) continue;
      const version = {
        ...image,
        os_family: 'ubuntu',
        os_version: '24.04',
        digest: demoDigest(image.name),
        format: 'qcow2' as const,
        channel: 'stable' as const,
        trust: 'verified' as const,
        source: 'the demo catalog; there is no such file',
        digest_authority: 'none; the digest is of the name',
        sku_names: [SLICE_SKU, BAREMETAL_SKU],
      };
      await upsertOsImage(tx, version);
      await insertOsImageVersion(tx, version);
      await replaceOsImageSkus(tx, version);
    }
  });
