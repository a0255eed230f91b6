/** A small catalog for the tests of the form. */
import type { Catalog } from './form.ts';
import type { OsImage, Region, Sku, SshKey } from './types.ts';

const profile = (gpu_count: number, vcpu_count: number, is_default: boolean) => ({
  name: `p_${gpu_count}g_${vcpu_count}c`,
  gpu_count,
  vcpu_count,
  memory_mib: 65_536 * gpu_count,
  is_default,
});

export const sku = (name: string, rest: Partial<Sku> = {}): Sku => ({
  name,
  display_name: name.toUpperCase(),
  vendor: 'NVIDIA',
  gpu_model: 'H200 SXM',
  capacity_shape: 'gpu_slice',
  gpus_per_node: 8,
  allowed_gpu_counts: [1, 2, 4, 8],
  required_parts: [],
  gpu_hourly_price: { amount_minor: 450, currency: 'USD' },
  vm_profiles: [profile(1, 12, false), profile(1, 24, true), profile(2, 48, true), profile(4, 96, true)],
  enabled: true,
  disabled_reason: null,
  fabric: [],
  retired_at: null,
  version: 1,
  ...rest,
});

export const region = (name: string, disabled_reason: string | null = null): Region => ({
  name,
  display_name: name.toUpperCase(),
  enabled: disabled_reason === null,
  disabled_reason,
  wipe_minimum: 'purge',
  allows_wipe_override: false,
  fabric_isolation: 'none',
  retired_at: null,
  version: 1,
});

export const image = (name: string, rest: Partial<OsImage> = {}): OsImage => ({
  name,
  display_name: name.toUpperCase(),
  os_family: 'ubuntu',
  os_version: '24.04',
  digest: 'sha256:0',
  format: 'qcow2',
  size_bytes: 1,
  boot_kind: 'uefi',
  driver_strategy: 'preinstalled',
  readiness_checks: [],
  source: 'a test',
  digest_authority: 'a test',
  sku_names: ['slice'],
  channel: 'stable',
  trust: 'verified',
  enabled: true,
  default_regions: ['us-1', 'eu-1'],
  versions: [],
  retired_at: null,
  version: 1,
  ...rest,
});

export const key = (id: string, name: string): SshKey => ({
  id,
  name,
  algorithm: 'ssh-ed25519',
  public_key: 'ssh-ed25519 AAAA',
  fingerprint: 'SHA256:x',
  last_used_at: null,
  created_at: '2026-11-01T00:00:00Z',
});

export const CATALOG: Catalog = {
  skus: [
    sku('metal', { capacity_shape: 'baremetal', allowed_gpu_counts: [8], vm_profiles: [] }),
    sku('slice'),
    sku('old-slice', { enabled: false, disabled_reason: 'No longer available.' }),
  ],
  regions: [region('eu-1', 'No hosts yet.'), region('us-1')],
  images: [image('retired', { enabled: false, default_regions: [] }), image('base'), image('cuda')],
  keys: [key('ssh_a', 'laptop'), key('ssh_b', 'desk')],
};
