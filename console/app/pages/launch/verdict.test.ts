import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UNAVAILABLE_REASONS } from '@gpuaas/sdk';
import { CATALOG } from './fixture.ts';
import { formOf } from './form.ts';
import {
  alternativeLabel,
  alternativePatch,
  alternativesIn,
  type Estimate,
  expectedIn,
  fitSentence,
  maxDurationPrice,
  quotaSentence,
  reasonsInWords,
} from './verdict.ts';

const USD = (amount_minor: number) => ({ amount_minor, currency: 'USD' });
const estimate = (rest: Partial<Estimate>): Estimate => ({
  expected: null,
  fits_now: true,
  fits_on_nodes: 3,
  largest_set: 8,
  price_per_hour: USD(1800),
  price_per_day: USD(43_200),
  price_per_month: USD(1_314_000),
  quota_gpus_after: null,
  code: null,
  reasons: [],
  alternatives: [],
  storage: [],
  network: [],
  fabric: { available: false, detail: 'Not available: the region does not isolate tenants on its fabric.' },
  ...rest,
});

test('whether the request fits is one sentence with the largest available set', () => {
  assert.equal(fitSentence(estimate({})), 'Available now on 3 nodes; largest free set: 8 GPUs.');
  assert.match(fitSentence(estimate({ fits_on_nodes: 1 })), /on 1 node;/);
  assert.match(fitSentence(estimate({ fits_on_nodes: 100 })), /100 nodes or more/);
  assert.equal(
    fitSentence(estimate({ fits_now: false, largest_set: 1 })),
    'Not available now; largest free set: 1 GPU.',
  );
  assert.equal(fitSentence(estimate({ fits_now: false, largest_set: 0 })), 'Not available now.');
});

const EXPECTED = {
  code: 'expected',
  ...{ gpus: 4, at: '2026-11-15T15:30:00.000Z', kind: 'release' },
  detail: '4 more GPUs are expected by 2026-11-15 15:30 UTC.',
};

test('a refusal shows when more is expected in the words of the server, and nothing where that is not known', () => {
  assert.equal(expectedIn([{ code: 'no_capacity', gpus: 0 }, EXPECTED]), EXPECTED.detail);
  assert.equal(expectedIn([{ code: 'no_capacity', gpus: 0 }]), null);
});

test('a refusal shows the result and the unavailable reasons, without the steps of the search', () => {
  const said = reasonsInWords([
    {
      code: 'no_capacity',
      gpus: 2,
      detail: 'Only 2 GPUs of slice in us-1 are free: 5 GPUs in use, 1 GPU being wiped.',
    },
    { code: 'claimed', gpus: 5, detail: '5 GPUs in use.' },
    { code: 'cleaning', gpus: 1, detail: '1 GPU being wiped before reuse.' },
    { code: 'filters', nodes_total: 3, free_gpus: 2, largest_set: 1 },
    EXPECTED,
  ]);
  assert.deepEqual(
    said.map(({ text }) => text),
    ['Only 2 GPUs available now.', '5 GPUs in use.', '1 GPU being wiped before reuse.'],
  );
  assert.match(said[2]?.hint ?? '', /automatically/);
});

test('every reason that only an operator can resolve has that hint', () => {
  const hints = reasonsInWords(UNAVAILABLE_REASONS.map((code) => ({ code, detail: code })));
  assert.deepEqual(
    hints.filter(({ hint }) => /operator must act/.test(hint ?? '')).map(({ code }) => code),
    ['cleanup_blocked', 'quarantined', 'unapproved', 'hardware_changed', 'unhealthy', 'incomplete', 'not_ready'],
  );
});

test('where nodes cannot start the image, another image is the way out', () => {
  const [said] = reasonsInWords([
    { code: 'boot_kind', gpus: 8, detail: '8 GPUs on nodes that cannot start the image.' },
  ]);
  assert.equal(said?.hint, 'Select another image.');
});

test('fragmentation shows the number of free GPUs and the largest set', () => {
  const detail = '8 GPUs of slice in us-1 are free, but no single node fits 4; the largest set is 3.';
  const [one] = reasonsInWords([{ code: 'one_node', gpus: 8, detail }]);
  assert.equal(one?.text, detail);
  assert.match(one?.hint ?? '', /always on one node/);
});

test('an unknown reason code shows its message, or else its fields and values', () => {
  const texts = reasonsInWords([
    { code: 'topology_unsafe', free: 8, largest_set: 3, nested: { a: 1 } },
    { code: 'moon_phase' },
    { code: 'moon_phase', detail: 'The moon is full.' },
    { code: 'constructor' },
  ]).map(({ text }) => text);
  assert.deepEqual(texts, ['topology_unsafe: free 8, largest set 3', 'moon_phase', 'The moon is full.', 'constructor']);
});

test('the quota after a launch is one sentence, also without a limit and above it', () => {
  assert.equal(quotaSentence('project', { gpu_limit: 16, gpu_used: 4 }, 4), '8 of 16 GPUs used by the project.');
  assert.match(quotaSentence('project', { gpu_limit: 4, gpu_used: 3 }, 4), /^3 GPUs over the project limit of 4/);
  assert.match(
    quotaSentence('organization', { gpu_limit: null, gpu_used: 0 }, 1),
    /1 GPU used by the organization, no limit/,
  );
});

test('the cost of a maximum duration is its seconds times the price', () => {
  assert.deepEqual(maxDurationPrice(USD(1800), 5_400), USD(2700));
  assert.deepEqual(maxDurationPrice(USD(1), 1_800), USD(1));
});

test('applying an alternative changes only the fields it names', () => {
  const form = formOf({ sku: 'slice', gpus: '8', image: 'cuda' }, CATALOG, { suggestedName: 'a', userData: '' });
  const alternative = { capacity_shape: 'baremetal', sku_name: 'metal', region_name: 'us-1', gpu_count: 8 } as const;
  const patch = alternativePatch(alternative, form);
  assert.deepEqual(patch, {
    shape: undefined,
    sku: 'metal',
    region: 'us-1',
    gpus: '8',
    profile: undefined,
    image: undefined,
  });
  const same = alternativePatch({ ...alternative, capacity_shape: 'gpu_slice', sku_name: 'slice', gpu_count: 4 }, form);
  assert.equal('image' in same, false);
  assert.deepEqual(alternativeLabel(alternative, CATALOG.skus), {
    what: 'Bare metal, 8 GPUs',
    where: 'metal in us-1',
    price: '$36.00 per hour',
  });
  assert.equal(alternativeLabel({ ...alternative, sku_name: 'new' }, CATALOG.skus).price, null);
});

test('malformed alternatives in a refusal are ignored', () => {
  const good = { capacity_shape: 'gpu_slice', sku_name: 's', region_name: 'r', gpu_count: 1 };
  assert.deepEqual(alternativesIn([good, {}, { ...good, gpu_count: '1' }, { ...good, capacity_shape: 'x' }]), [good]);
});
