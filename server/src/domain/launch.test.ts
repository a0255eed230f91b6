import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_POLICY, type PlacementRequest, place, SNAPSHOT_VERSION } from '@gpuaas/scheduler';
import {
  checkLaunch,
  type LaunchAsk,
  type LaunchFound,
  type LaunchRegion,
  type LaunchSku,
  placementRefusal,
} from './launch.ts';

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
  return placementRefusal(decision, launch);
};

test('a refusal ends with what the operator wrote about what is disabled, and only then', () => {
  const region = refuse({ region: false, sku: true });
  assert.equal(region.code, 'region_disabled');
  assert.match(region.message, /No power\.$/);
  const disabled = refuse({ region: true, sku: false });
  assert.equal(disabled.code, 'sku_disabled');
  assert.match(disabled.message, /Sold out until spring\.$/);
  const full = refuse({ region: true, sku: true });
  assert.equal(full.code, 'insufficient_capacity');
  assert.doesNotMatch(full.message, /power|Sold/);
  assert.equal(full.reasons.at(-1)?.code, 'filters');
});

const ASK: LaunchAsk = { gpu_count: 2, image_name: null, vm_profile: null, organization_id: 'org_a' };
const FOUND: LaunchFound<LaunchSku, LaunchRegion> = {
  sku: launch.sku,
  region: launch.region,
  image: null,
  profile: { name: 'slice_2' },
  quota_gpus_remaining: 3,
};

const wrong = (ask: Partial<LaunchAsk>, found: Partial<typeof FOUND>): string => {
  const checked = checkLaunch({ ...ASK, ...ask }, { ...FOUND, ...found });
  if (!('kind' in checked)) return 'nothing';
  return checked.kind === 'field' ? checked.name : checked.kind === 'missing' ? checked.noun : checked.kind;
};

test('a launch that can never work is refused by the field that is wrong', () => {
  assert.equal(wrong({}, {}), 'nothing');
  assert.equal(wrong({}, { sku: null }), 'SKU');
  assert.equal(wrong({}, { region: null }), 'region');
  assert.equal(wrong({ image_name: 'none' }, {}), 'image_name');
  assert.equal(wrong({ gpu_count: 3 }, {}), 'gpu_count');
  assert.equal(wrong({ vm_profile: 'none' }, { profile: null }), 'vm_profile');
});

test('a slice SKU without a profile for a count it offers is a fault of the catalog, not of the tenant', () => {
  assert.equal(wrong({}, { profile: null }), 'catalog');
  assert.equal(wrong({}, { profile: null, sku: { ...launch.sku, capacity_shape: 'baremetal' } }), 'nothing');
});

test('the scheduler is asked for what the catalog offers, within what quota leaves', () => {
  const checked = checkLaunch(ASK, FOUND);
  assert.ok(!('kind' in checked));
  assert.deepEqual(checked.request, { ...request, quota_gpus_remaining: 3 });
});
