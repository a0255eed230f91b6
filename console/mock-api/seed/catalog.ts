/** Regions, SKUs, images and keys of a new platform. */
import { digestOf } from '../core/random.ts';
import type { OsImage, PlatformKey, Sku, TrustKey } from '../core/rows.ts';
import type { World } from '../core/world.ts';

export const REGION = 'us-buffalo-1';
export const SLICE_SKU = 'h200-sxm-slice';
export const BAREMETAL_SKU = 'h200-sxm-baremetal-8g';
export const GPU_MODEL = 'H200 SXM';
const DAY_MS = 86_400_000;

const profile = (gpu_count: number, vcpu_count: number, memory_mib: number, is_default = true) => ({
  name: `h200_${gpu_count}g_${vcpu_count}c_${memory_mib / 1024}g`,
  gpu_count,
  vcpu_count,
  memory_mib,
  hugepages: 'auto' as const,
  numa_policy: 'strict' as const,
  is_default,
  sku_name: SLICE_SKU,
  retired_at: null,
  version: 1,
});

const sku = (name: string, display_name: string, rest: Pick<Sku, 'capacity_shape' | 'allowed_gpu_counts'>): Sku => ({
  name,
  display_name,
  vendor: 'NVIDIA',
  gpu_model: GPU_MODEL,
  gpu_ids: [],
  gpus_per_node: 8,
  enabled: true,
  disabled_reason: null,
  retired_at: null,
  version: 1,
  ...rest,
});

type ImageWords = Readonly<{
  name: string;
  display_name: string;
  driver_strategy: OsImage['driver_strategy'];
  readiness_checks: string[];
  size_bytes: number;
}>;

const imageOf = (world: World, words: ImageWords): OsImage => {
  const version = (number: number, days: number) => ({
    digest: `sha256:${digestOf(`demo image ${words.name} ${number}`)}`,
    format: 'qcow2' as const,
    size_bytes: words.size_bytes,
    boot_kind: 'uefi' as const,
    driver_strategy: words.driver_strategy,
    readiness_checks: words.readiness_checks,
    source: 'simulated; there is no file',
    digest_authority: 'none; the digest is invented',
    registered_at: world.ago(days * DAY_MS),
    retired_at: null,
    retired_reason: null,
  });
  const versions = [version(2, 12), version(1, 60)];
  const { registered_at: _at, retired_at: _no, retired_reason: _why, ...newest } = version(2, 12);
  return {
    name: words.name,
    display_name: words.display_name,
    os_family: 'ubuntu',
    os_version: '24.04',
    ...newest,
    sku_names: [SLICE_SKU],
    channel: 'stable',
    trust: 'verified',
    enabled: true,
    versions,
    retired_at: null,
    version: 1,
  };
};

const IMAGES: readonly ImageWords[] = [
  {
    name: 'H200-ubuntu-24.04-gpuaas-slice',
    display_name: 'Ubuntu 24.04 for H200 slices (simulated)',
    driver_strategy: 'none',
    readiness_checks: ['host_name', 'ssh_host_key', 'cloud_init', 'no_cuda'],
    size_bytes: 3_758_096_384,
  },
  {
    name: 'ubuntu-24.04-h200-cuda',
    display_name: 'Ubuntu 24.04 with CUDA (simulated)',
    driver_strategy: 'preinstalled',
    readiness_checks: ['host_name', 'ssh_host_key', 'cloud_init', 'cuda_compiler', 'cuda_compile', 'gpu_driver'],
    size_bytes: 21_474_836_480,
  },
  {
    name: 'ubuntu-24.04-h200-base',
    display_name: 'Ubuntu 24.04 (simulated)',
    driver_strategy: 'none',
    readiness_checks: ['host_name', 'ssh_host_key', 'cloud_init', 'no_cuda'],
    size_bytes: 3_758_096_384,
  },
];

const region = (name: string, display_name: string, disabled_reason: string | null) => ({
  name,
  display_name,
  enabled: disabled_reason === null,
  disabled_reason,
  wipe_minimum: 'purge' as const,
  allows_wipe_override: false,
  fabric_isolation: 'none' as const,
  retired_at: null,
  version: 1,
});

const trustKey = (world: World, purpose: TrustKey['purpose'], state: TrustKey['state'], days: number): TrustKey => ({
  id: world.mint('trust_key', world.now() - days * DAY_MS),
  purpose,
  state,
  state_since: world.ago(days * DAY_MS),
  fingerprint_sha256: digestOf(`${purpose} ${state}`),
  retires_at: state === 'grace' ? world.ago(-2 * DAY_MS) : null,
  version: 1,
  created_at: world.ago(days * DAY_MS),
});

const platformKey = (
  world: World,
  kind: PlatformKey['kind'],
  version: number,
  state: PlatformKey['state'],
): PlatformKey => ({
  ...{ kind, version, state },
  state_since: world.ago(90 * DAY_MS),
  sealed_values: state === 'active' ? 42 : 0,
  process_count: kind === 'platform' ? 5 : 1,
  processes_without_key: 0,
  created_at: world.ago(90 * DAY_MS),
});

export const seedCatalog = (world: World): void => {
  world.regions.push(
    region(REGION, 'Buffalo, United States', null),
    region('eu-frankfurt-1', 'Frankfurt, Germany', 'No hosts are installed in this region yet.'),
    region('ae-abudhabi-1', 'Abu Dhabi, United Arab Emirates', 'Planned; hosts are on order.'),
  );
  world.skus.push(
    sku(SLICE_SKU, 'NVIDIA H200 GPU VM', {
      capacity_shape: 'gpu_slice',
      allowed_gpu_counts: [1, 2, 4, 8],
    }),
    sku(BAREMETAL_SKU, 'NVIDIA H200 bare-metal node', {
      capacity_shape: 'baremetal',
      allowed_gpu_counts: [8],
    }),
  );
  world.vmProfiles.push(
    profile(1, 12, 65_536, false),
    profile(1, 24, 65_536),
    profile(2, 48, 131_072),
    profile(4, 96, 262_144),
    profile(8, 192, 524_288),
  );
  for (const { name } of world.skus)
    world.prices.push({
      id: world.mint('price', world.now() - 60 * DAY_MS),
      sku_name: name,
      gpu_hourly_price: { amount_minor: 450, currency: 'USD' },
      valid_from: world.ago(60 * DAY_MS),
      created_by: null,
      created_at: world.ago(60 * DAY_MS),
      cancelled_at: null,
      ended_at: null,
    });
  world.pools.push({
    id: world.mint('pool', world.now() - 90 * DAY_MS),
    name: 'shared',
    purpose: null,
    organization_id: null,
    retired_at: null,
    version: 1,
    created_at: world.ago(90 * DAY_MS),
  });
  world.images.push(...IMAGES.map((words) => imageOf(world, words)));
  world.trustKeys.push(
    trustKey(world, 'node_ca', 'grace', 90),
    trustKey(world, 'task_signer', 'active', 90),
    trustKey(world, 'certificate_signer', 'active', 90),
    trustKey(world, 'node_ca', 'active', 5),
  );
  world.backups.push({
    id: world.mint('backup'),
    taken_at: world.ago(7 * 3_600_000),
    location: 's3://backups.example.com/gpuaas',
    size_bytes: 4_812_000_000,
    recorded_at: world.ago(7 * 3_600_000 - 240_000),
    recorded_by: world.mint('user'),
  });
  world.platformKeys.push(
    platformKey(world, 'platform', 1, 'active'),
    platformKey(world, 'platform', 2, 'available'),
    platformKey(world, 'trust', 1, 'active'),
  );
};
