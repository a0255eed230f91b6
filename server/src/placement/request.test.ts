import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LaunchFacts } from '../db/statements/launch.ts';
import { AppError } from '../errors.ts';
import { checkLaunch, keyColumnOf, type Launch } from './request.ts';

const LAUNCH: Launch = {
  sku_name: 'slice',
  region_name: 'north',
  gpu_count: 2,
  image_name: null,
  vm_profile: null,
  storage: null,
  network: null,
  organization_id: 'org_a',
  project_id: 'prj_a',
};

const FACTS: LaunchFacts = {
  sku: {
    name: 'slice',
    capacity_shape: 'gpu_slice',
    gpu_model: 'H200',
    gpus_per_node: 8,
    allowed_gpu_counts: [1, 2, 4, 8],
    gpu_hourly_price_minor: 450,
    currency: 'USD',
    enabled: true,
    disabled_reason: null,
  },
  region: { name: 'north', enabled: true, has_host: true, disabled_reason: null, fabric_isolation: 'none' },
  image: { name: 'ubuntu', digest: 'sha256:0', boot_kind: 'kernel' },
  profile: { name: 'slice_2', vcpu_count: 24, memory_mib: 1024, hugepages: '1G', numa_policy: 'preferred' },
  ssh_keys_found: 0,
  quota_gpus_remaining: 3,
  now: '2026-01-01T00:00:00Z',
};

const codeOf = (launch: Partial<Launch>, facts: Partial<LaunchFacts>): string => {
  try {
    checkLaunch({ ...LAUNCH, ...launch }, { ...FACTS, ...facts });
    return 'fine';
  } catch (err) {
    assert.ok(err instanceof AppError);
    return `${err.code} ${err.details.errors?.[0]?.pointer ?? ''}`.trim();
  }
};

test('a launch that can never work is refused with the invalid field', () => {
  assert.equal(codeOf({}, {}), 'fine');
  assert.equal(codeOf({}, { sku: null }), 'not_found');
  assert.equal(codeOf({}, { region: null }), 'not_found');
  assert.equal(codeOf({}, { image: null }), 'invalid_request /body/image_name');
  assert.equal(codeOf({ image_name: 'none' }, { image: null }), 'invalid_request /body/image_name');
  assert.equal(codeOf({ gpu_count: 3 }, {}), 'invalid_request /body/gpu_count');
  assert.equal(codeOf({ vm_profile: 'none' }, { profile: null }), 'invalid_request /body/vm_profile');
});

test('a slice SKU without a profile or a price cannot be launched, whatever the tenant asks for', () => {
  assert.equal(codeOf({}, { profile: null }), 'sku_disabled');
  const unpriced = { ...FACTS.sku, gpu_hourly_price_minor: null, currency: null } as LaunchFacts['sku'];
  assert.equal(codeOf({}, { sku: unpriced }), 'sku_disabled');
  const metal = { ...FACTS.sku, capacity_shape: 'baremetal' } as LaunchFacts['sku'];
  assert.equal(codeOf({}, { image: null, profile: null, sku: metal }), 'fine');
});

test('the scheduler receives what the catalog offers, within the remaining quota', () => {
  assert.deepEqual(checkLaunch(LAUNCH, FACTS).request, {
    shape: 'gpu_slice',
    sku: 'slice',
    region: 'north',
    gpu_count: 2,
    allowed_gpu_counts: [1, 2, 4, 8],
    gpus_per_node: 8,
    tenant_id: 'org_a',
    vm: FACTS.profile,
    boot_kind: 'kernel',
    quota_gpus_remaining: 3,
  });
});

test('a launch is ranked by the smallest indexed count that holds it', () => {
  const columns = [1, 2, 3, 4, 7, 8, 16].map((count) => keyColumnOf(count, false));
  assert.deepEqual(columns, ['key_1', 'key_2', 'key_2', 'key_4', 'key_4', 'key_8', 'key_8']);
  assert.equal(keyColumnOf(8, true), 'key_node');
});
