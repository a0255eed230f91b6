import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  gpuCountsProblem,
  gpuCountUses,
  imageSkuProblem,
  inUseSentence,
  priceAt,
  profileUses,
  SWITCHED_ON,
  skuAvailability,
  skuBlockers,
  switchAfter,
  vmProfileProblem,
} from './catalog.ts';
import { hostSize } from './host-size.ts';

const OFF = { enabled: false, disabled_reason: 'Sold out.' };

test('disabled needs a reason, kept until it is enabled, which has none', () => {
  assert.deepEqual(switchAfter(SWITCHED_ON, {}), SWITCHED_ON);
  assert.equal(switchAfter(SWITCHED_ON, { enabled: false }), null);
  assert.deepEqual(switchAfter(SWITCHED_ON, OFF), OFF);
  assert.deepEqual(switchAfter(OFF, {}), OFF);
  assert.deepEqual(switchAfter(OFF, { disabled_reason: 'Moved.' }), { ...OFF, disabled_reason: 'Moved.' });
  assert.deepEqual(switchAfter(OFF, { enabled: true, disabled_reason: 'Ignored.' }), SWITCHED_ON);
});

test('an image is for slices that exist', () => {
  const skus = [
    { name: 'slice', capacity_shape: 'gpu_slice' },
    { name: 'metal', capacity_shape: 'baremetal' },
  ] as const;
  assert.equal(imageSkuProblem('slice', skus), null);
  assert.equal(imageSkuProblem('none', skus)?.code, 'unknown');
  assert.equal(imageSkuProblem('metal', skus)?.code, 'slices_only');
});

const COMPLETE = {
  ...SWITCHED_ON,
  gpu_hourly_price_minor: 0,
  has_vm_profile: true,
  has_image: true,
  has_default_image: true,
};

test('a SKU is available when operators enabled it and it has a price, a VM profile and an image', () => {
  assert.deepEqual([skuAvailability(COMPLETE), skuBlockers(COMPLETE)], [SWITCHED_ON, []]);
  const unpriced = { ...COMPLETE, gpu_hourly_price_minor: null };
  assert.deepEqual(skuAvailability(unpriced), { enabled: false, disabled_reason: 'It has no price yet.' });
  assert.deepEqual(skuAvailability({ ...unpriced, ...OFF }), OFF);
  const bare = { ...COMPLETE, has_image: false, has_default_image: false };
  assert.deepEqual(skuAvailability(bare), { enabled: false, disabled_reason: 'It has no image yet.' });
  assert.deepEqual(skuBlockers(bare), ['It has no image yet.']);
  const sizeless = { ...COMPLETE, has_vm_profile: false };
  assert.deepEqual(skuAvailability(sizeless), { enabled: false, disabled_reason: 'It has no VM profile yet.' });
  assert.deepEqual(skuBlockers(sizeless), ['It has no VM profile yet.']);
});

test('a SKU without a default image can be launched by naming one, and operators read so', () => {
  const unnamed = { ...COMPLETE, has_default_image: false };
  assert.deepEqual(skuAvailability(unnamed), SWITCHED_ON);
  assert.match(skuBlockers(unnamed).join(), /None of its images can be the default, so a launch must name one/);
});

test('GPU counts fit the node: bare metal is all of it, slices are at most that', () => {
  const counts = (capacity_shape: 'baremetal' | 'gpu_slice', allowed_gpu_counts: number[]) =>
    gpuCountsProblem({ capacity_shape, gpus_per_node: 8, allowed_gpu_counts });
  assert.equal(counts('baremetal', [8]), null);
  for (const wrong of [[4], [4, 8]])
    assert.equal(counts('baremetal', wrong), 'must be 8: bare metal is the whole node');
  assert.equal(counts('gpu_slice', [1, 8]), null);
  assert.equal(counts('gpu_slice', [1, 9]), 'must be at most 8, the GPUs of a node');
});

test('a VM profile is for a slice and for a GPU count that the SKU allows', () => {
  const sku = { name: 's', capacity_shape: 'gpu_slice' as const, allowed_gpu_counts: [1, 2] };
  assert.equal(vmProfileProblem(sku, 2), null);
  assert.deepEqual(vmProfileProblem(sku, 4), { field: 'gpu_count', problem: 'must be one of 1, 2 for s' });
  assert.equal(vmProfileProblem({ ...sku, capacity_shape: 'baremetal' }, 2)?.field, 'sku_name');
});

test('a refusal to retire names what uses the resource, the first of many, and what to do', () => {
  assert.equal(inUseSentence('region', 'r', []), null);
  assert.equal(
    inUseSentence('region', 'r', [
      { kind: 'node', count: 12, names: ['a', 'b'] },
      { kind: 'allocation', count: 1, names: ['alc_1'] },
    ]),
    'Region r is in use: 12 nodes (a, b and 10 more), 1 allocation (alc_1). Release the allocations and delete the nodes first.',
  );
  const [node] = [{ kind: 'node' as const, count: 1, names: ['a'] }];
  assert.match(inUseSentence('pool', 'p', [node]) ?? '', /^Pool p is in use: 1 node \(a\)\. Move its nodes/);
  assert.match(inUseSentence('SKU', 's', [node]) ?? '', /^SKU s is in use: .* or disable the SKU\.$/);
});

test('the price at a time is the newest that has begun, was not cancelled, and did not end with the SKU', () => {
  const price = (id: string, valid_from: string, cancelled_at: string | null = null) => ({
    ...{ id, valid_from, cancelled_at },
    ended_at: id === 'ended' ? '2026-02-15T00:00:00Z' : null,
  });
  const prices = [
    price('b', '2026-02-01T00:00:00Z'),
    price('a', '2026-01-01T00:00:00Z'),
    price('ended', '2026-02-10T00:00:00Z'),
    price('c', '2026-03-01T00:00:00Z', '2026-01-15T00:00:00Z'),
  ];
  const on = (day: string) => priceAt(prices, Date.parse(day))?.id;
  assert.deepEqual(['2025-12-31', '2026-01-01', '2026-02-12', '2026-04-01'].map(on), [undefined, 'a', 'b', 'b']);
});

test('the size of a host counts the CPUs of its NUMA nodes and the largest pages that all of them have', () => {
  const numa = [
    { node: 0, cpus: '0-3,8', memory_mib: 1000 },
    { node: 1, cpus: '4-7', memory_mib: 2000 },
  ];
  const pages = (node: number, size_kib: number, total: number) => ({ node, size_kib, total, free: 0 });
  const gib = 1024 * 1024;
  assert.deepEqual(hostSize({ numa, hugepages: [pages(0, gib, 2), pages(1, gib, 3), pages(0, 2048, 9)] }), {
    vcpu_count: 9,
    memory_mib: 3000,
    hugepages_mib: 5120,
    numa_nodes: 2,
    pages_mib: { '2M': 0, '1G': 5120, reserved: 5138 },
  });
  assert.equal(hostSize({ numa, hugepages: [pages(0, gib, 2), pages(1, gib, 0)] }).hugepages_mib, 0);
  assert.equal(hostSize({ numa: [], hugepages: [] }).numa_nodes, 1);
});

test('a VM profile is needed as the only default of a GPU count that an enabled SKU allows', () => {
  const sku = { name: 's', enabled: true, allowed_gpu_counts: [1, 2] };
  const profile = { name: 'p', sku_name: 's', gpu_count: 1, is_default: true };
  const use = [{ kind: 'SKU' as const, count: 1, names: ['s'] }];
  const other = { ...profile, name: 'q' };
  assert.deepEqual(profileUses(profile, sku, []), use);
  assert.deepEqual(profileUses(profile, sku, [profile]), use);
  assert.deepEqual(profileUses(profile, sku, [other]), []);
  for (const different of [{ sku_name: 't' }, { gpu_count: 2 }, { is_default: false }])
    assert.deepEqual(profileUses(profile, sku, [{ ...other, ...different }]), use, JSON.stringify(different));
  assert.deepEqual(profileUses({ ...profile, is_default: false }, sku, []), []);
  assert.deepEqual(profileUses(profile, { ...sku, enabled: false }, []), []);
  assert.deepEqual(profileUses(profile, { ...sku, allowed_gpu_counts: [2] }, []), []);
  assert.deepEqual(profileUses(profile, undefined, []), []);
});

test('a GPU count that a SKU drops is used by the VM profiles that have it', () => {
  const profiles = [
    { name: 'b', gpu_count: 2 },
    { name: 'a', gpu_count: 2 },
    { name: 'c', gpu_count: 1 },
  ];
  assert.deepEqual(gpuCountUses([1], profiles), [{ kind: 'VM profile', count: 2, names: ['a', 'b'] }]);
  assert.deepEqual(gpuCountUses([1, 2], profiles), []);
});
