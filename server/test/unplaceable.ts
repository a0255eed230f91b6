/** A launch that cannot be placed: nothing is free, or region or SKU is disabled. */
import assert from 'node:assert/strict';
import { DEFAULT_POLICY, type PlacementRequest, place, SNAPSHOT_VERSION } from '@gpuaas/scheduler';

const request: PlacementRequest = {
  shape: 'gpu_slice',
  sku: 'slice',
  region: 'here',
  gpu_count: 2,
  allowed_gpu_counts: [1, 2],
  gpus_per_node: 8,
  tenant_id: 'org_a',
  quota_gpus_remaining: null,
};

export const launch = {
  sku: {
    name: 'slice',
    capacity_shape: 'gpu_slice' as const,
    gpu_model: 'H200 SXM',
    gpus_per_node: 8,
    allowed_gpu_counts: [1, 2],
    gpu_hourly_price_minor: 450,
    currency: 'USD',
    enabled: true,
    disabled_reason: 'Sold out until spring.',
  },
  region: {
    name: 'here',
    enabled: true,
    has_host: true,
    disabled_reason: 'No power.',
    fabric_isolation: 'none' as const,
  },
  request,
};

export const unplaceable = (enabled: Readonly<{ region: boolean; sku: boolean }>) => {
  const decision = place(
    request,
    {
      snapshot_version: SNAPSHOT_VERSION,
      nodes: [],
      regions: [{ name: 'here', enabled: enabled.region }],
      skus: [{ name: 'slice', shape: 'gpu_slice', enabled: enabled.sku, allowed_gpu_counts: [1, 2], gpus_per_node: 8 }],
    },
    DEFAULT_POLICY,
  );
  assert.ok(decision.kind === 'unplaceable');
  return decision;
};
