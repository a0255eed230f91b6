import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_POLICY, type PlacementRequest, place, SNAPSHOT_VERSION } from '@gpuaas/scheduler';
import { refusalOf } from './refusal.ts';

const request: PlacementRequest = {
  shape: 'gpu_slice',
  sku: 'slice',
  region: 'here',
  gpu_count: 2,
  allowed_gpu_counts: [1, 2],
  gpus_per_node: 8,
  tenant_id: 'org_a',
  image: null,
  quota_gpus_remaining: null,
};
const sku = {
  name: 'slice',
  capacity_shape: 'gpu_slice',
  gpu_model: 'H200 SXM',
  gpus_per_node: 8,
  allowed_gpu_counts: [1, 2],
  gpu_hourly_price_minor: 450,
  currency: 'USD',
  enabled: true,
  disabled_reason: 'Sold out until spring.',
} as const;
const launch = {
  sku: { ...sku, allowed_gpu_counts: [1, 2] },
  region: { name: 'here', enabled: true, disabled_reason: 'No power.' },
  request,
};

const refuse = (open: Readonly<{ region: boolean; sku: boolean }>) => {
  const decision = place(
    request,
    {
      snapshot_version: SNAPSHOT_VERSION,
      nodes: [],
      regions: [{ name: 'here', enabled: open.region }],
      skus: [{ name: 'slice', shape: 'gpu_slice', enabled: open.sku, allowed_gpu_counts: [1, 2], gpus_per_node: 8 }],
    },
    DEFAULT_POLICY,
  );
  assert.ok(decision.kind === 'unplaceable');
  return refusalOf(decision, launch);
};

test('a refusal ends with what the operator wrote about what is disabled, and only then', () => {
  const region = refuse({ region: false, sku: true });
  assert.equal(region.code, 'region_disabled');
  assert.match(region.message, /No power\.$/);
  const closed = refuse({ region: true, sku: false });
  assert.equal(closed.code, 'sku_disabled');
  assert.match(closed.message, /Sold out until spring\.$/);
  const full = refuse({ region: true, sku: true });
  assert.equal(full.code, 'insufficient_capacity');
  assert.doesNotMatch(full.message, /power|Sold/);
  assert.ok((full.details.reasons?.length ?? 0) > 0);
});
