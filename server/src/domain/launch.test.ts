import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { UNAVAILABLE_REASONS } from '@gpuaas/contract';
import { NONE_UNAVAILABLE } from '@gpuaas/scheduler';
import { launch, unplaceable } from '../../test/unplaceable.ts';
import {
  checkLaunch,
  type LaunchAsk,
  type LaunchFound,
  type LaunchRegion,
  type LaunchSku,
  placementRefusal,
} from './launch.ts';

const { request } = launch;
const refuse = (enabled: Parameters<typeof unplaceable>[0]) => placementRefusal(unplaceable(enabled), launch);

test('a refusal ends with the operator’s note about the disabled region or SKU, and only then', () => {
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

test('a refusal for lack of capacity states when more is expected, no other refusal does', () => {
  const expected = { gpus: 4, at: '2026-11-15T10:45:00.000Z', kind: 'release' } as const;
  const full = placementRefusal(unplaceable({ region: true, sku: true }), launch, expected);
  assert.deepEqual([full.expected, full.reasons.at(-1)?.code], [expected, 'expected']);
  assert.match(JSON.stringify(full.reasons.at(-1)), /4 more GPUs are expected/);
  const disabled = placementRefusal(unplaceable({ region: true, sku: false }), launch, expected);
  assert.deepEqual([disabled.expected, disabled.reasons.at(-1)?.code], [null, 'filters']);
});

const ASK: LaunchAsk = {
  sku_name: 'h100',
  region_name: 'mars-1',
  gpu_count: 2,
  image_name: null,
  vm_profile: null,
  storage: null,
  network: null,
  organization_id: 'org_a',
};
const FOUND: LaunchFound<LaunchSku, LaunchRegion> = {
  sku: launch.sku,
  region: launch.region,
  image: { boot_kind: 'uefi' },
  profile: { vcpu_count: 24, memory_mib: 1024 },
  quota_gpus_remaining: 3,
};

const wrong = (ask: Partial<LaunchAsk>, found: Partial<typeof FOUND>): string => {
  const checked = checkLaunch({ ...ASK, ...ask }, { ...FOUND, ...found });
  if (!('kind' in checked)) return 'nothing';
  return checked.kind === 'field'
    ? checked.name
    : checked.kind === 'missing'
      ? `${checked.noun} ${checked.name}`
      : checked.kind;
};

test('a launch that can never work is refused with the invalid field', () => {
  assert.equal(wrong({}, {}), 'nothing');
  assert.equal(wrong({}, { sku: null }), 'SKU h100');
  assert.equal(wrong({}, { region: null }), 'region mars-1');
  assert.equal(wrong({ image_name: 'none' }, { image: null }), 'image_name');
  assert.equal(wrong({ gpu_count: 3 }, {}), 'gpu_count');
  assert.equal(wrong({ vm_profile: 'none' }, { profile: null }), 'vm_profile');
  assert.equal(wrong({ storage: 'formatted' }, {}), 'nothing');
  assert.equal(wrong({ storage: 'formatted', gpu_count: 1 }, {}), 'storage');
  const bareMetal = { sku: { ...launch.sku, capacity_shape: 'baremetal' as const } };
  assert.equal(wrong({ network: 'private_nat' }, bareMetal), 'network');
  assert.equal(wrong({ image_name: 'ubuntu' }, bareMetal), 'image_name');
  assert.equal(wrong({ network: 'fabric' }, {}), 'network');
});

test('the unavailable reasons of the contract are the scheduler’s', () => {
  assert.deepEqual([...UNAVAILABLE_REASONS].sort(), Object.keys(NONE_UNAVAILABLE).sort());
});

test('the runbook of refused launches has a row for every unavailable reason', () => {
  const runbook = new URL('../../../doc/operations/runbooks/capacity-refused.md', import.meta.url);
  const cells = [...readFileSync(runbook, 'utf8').matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell = '']) => cell);
  const named = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, reason = '']) => reason));
  assert.deepEqual(named.sort(), [...UNAVAILABLE_REASONS].sort());
});

test('a refused GPU count names the counts that the SKU allows', () => {
  const told = (allowed_gpu_counts: readonly number[]) => {
    const checked = checkLaunch({ ...ASK, gpu_count: 3 }, { ...FOUND, sku: { ...launch.sku, allowed_gpu_counts } });
    return 'kind' in checked && checked.kind === 'field' ? checked.message : null;
  };
  assert.equal(told([1, 2, 4, 8]), `must be one of 1, 2, 4, 8 for ${launch.sku.name}`);
  assert.equal(told([8]), `must be 8 for ${launch.sku.name}`);
});

test('a slice without an image is refused with the field to fill, and bare metal needs none', () => {
  const sku = { ...launch.sku, disabled_reason: null };
  const found = { sku, region: { ...launch.region, disabled_reason: null }, image: null };
  const checked = checkLaunch(ASK, { ...FOUND, ...found });
  assert.ok('kind' in checked && checked.kind === 'field');
  assert.deepEqual([checked.name, checked.code], ['image_name', 'required']);
  assert.equal(
    checked.message,
    `is required: ${sku.name} has no default image in ${launch.region.name}. Choose one: gpuaas image list --sku ${sku.name}`,
  );
  const hostless = checkLaunch(ASK, { ...FOUND, ...found, region: { ...found.region, has_host: false } });
  assert.ok('kind' in hostless && hostless.kind === 'field');
  assert.deepEqual([hostless.name, hostless.code], ['region_name', 'no_host']);
  assert.match(hostless.message, /^names a region without an active host: /);
  assert.equal(wrong({}, { ...found, sku: { ...sku, capacity_shape: 'baremetal' } }), 'nothing');
  // The scheduler refuses these with the reason of the operators, and with alternatives.
  assert.equal(wrong({}, { ...found, sku: { ...sku, enabled: false } }), 'nothing');
  assert.equal(wrong({}, { ...found, region: { ...launch.region, disabled_reason: 'No power.' } }), 'nothing');
});

test('a SKU without a price or a VM profile is refused with what it lacks, or with the reason of operators', () => {
  const told = (found: Partial<typeof FOUND>) => {
    const checked = checkLaunch(ASK, { ...FOUND, ...found });
    return 'kind' in checked && checked.kind === 'not_offered' ? checked.message : null;
  };
  const { name } = launch.sku;
  const unpriced = { ...launch.sku, disabled_reason: null, gpu_hourly_price_minor: null, currency: null };
  assert.equal(told({ sku: unpriced }), `SKU ${name} cannot be launched now. It has no price yet.`);
  assert.equal(
    told({ sku: { ...unpriced, disabled_reason: 'Sold out.' } }),
    `SKU ${name} cannot be launched now. Sold out.`,
  );
  const sku = { ...launch.sku, disabled_reason: null };
  assert.equal(told({ sku, profile: null }), `SKU ${name} cannot be launched now. It has no VM profile for 2 GPUs.`);
  assert.equal(wrong({}, { profile: null, sku: { ...launch.sku, capacity_shape: 'baremetal' } }), 'nothing');
});

test('the scheduler receives what the catalog offers, within the remaining quota', () => {
  const checked = checkLaunch(ASK, FOUND);
  assert.ok(!('kind' in checked));
  assert.deepEqual(checked.request, {
    ...request,
    vm: FOUND.profile,
    boot_kind: 'uefi',
    quota_gpus_remaining: 3,
  });
});
