import assert from 'node:assert/strict';
import { test } from 'node:test';
import { durationFlag } from '../../format/time.ts';
import { nameProblem } from '../../rules/name.ts';
import { cliCommand, curlCommand } from './equivalents.ts';
import { CATALOG, region, sku } from './fixture.ts';
import {
  bodyOf,
  choiceProblem,
  chosenOf,
  formOf,
  type LaunchSearch,
  launchSearch,
  maxDurationOf,
  problemsOf,
} from './form.ts';
import { durationProblem, suggestName, userDataProblem } from './rules.ts';
import { parseTags, tagsText } from './tags.ts';
import type { Allocation } from './types.ts';

const form = (search: LaunchSearch = {}, userData = '', catalog = CATALOG) =>
  formOf(search, catalog, { suggestedName: 'calm-otter-42', userData });

test('an empty URL gives a valid form with defaults from the catalog', () => {
  const made = form();
  assert.deepEqual(problemsOf(made), {});
  assert.deepEqual(bodyOf(made), {
    name: 'calm-otter-42',
    sku_name: 'slice',
    region_name: 'us-1',
    gpu_count: 1,
    image_name: 'base',
    vm_profile: 'p_1g_24c',
    ssh_key_ids: ['ssh_a', 'ssh_b'],
  });
});

test('every choice in the URL is sent with the request', () => {
  const search = {
    sku: 'slice',
    region: 'us-1',
    gpus: '4',
    image: 'cuda',
    profile: 'p_4g_96c',
    keys: 'ssh_b',
    hours: '72',
    name: 'train',
    tags: 'team=vision, run=42',
    protected: '1',
    storage: 'formatted',
    network: 'private_nat',
  };
  assert.deepEqual(bodyOf(form(search, '#cloud-config\n')), {
    name: 'train',
    sku_name: 'slice',
    region_name: 'us-1',
    gpu_count: 4,
    image_name: 'cuda',
    vm_profile: 'p_4g_96c',
    ssh_key_ids: ['ssh_b'],
    tags: { team: 'vision', run: '42' },
    is_protected: true,
    max_duration_s: 259_200,
    storage: 'formatted',
    network: 'private_nat',
    user_data: '#cloud-config\n',
  });
});

test('values that the catalog does not have or allow fall back to the default', () => {
  const made = form({
    sku: 'gone',
    region: 'mars',
    gpus: '3',
    image: 'gone',
    profile: 'p_4g_96c',
    keys: 'ssh_of_another',
    storage: 'floppy',
    network: 'token_ring',
  });
  assert.deepEqual(bodyOf(made), bodyOf(form()));
});

test('bare metal has its own count and no profile, image or user data', () => {
  const made = form({ shape: 'baremetal', gpus: '2', image: 'cuda' }, '#cloud-config\n');
  assert.deepEqual(problemsOf(made), {});
  assert.deepEqual(bodyOf(made), {
    name: 'calm-otter-42',
    sku_name: 'metal',
    region_name: 'us-1',
    gpu_count: 8,
    ssh_key_ids: ['ssh_a', 'ssh_b'],
  });
});

test('launching without an SSH key is possible', () => {
  assert.equal(bodyOf(form({ keys: 'none' }))?.ssh_key_ids, undefined);
});

test('a disabled SKU, region or image stays selected with its reason shown', () => {
  const problems = problemsOf(form({ sku: 'old-slice', region: 'eu-1', image: 'retired' }));
  assert.match(problems.sku ?? '', /No longer available/);
  assert.match(problems.region ?? '', /No hosts yet/);
  assert.match(problems.image ?? '', /is retired/);
});

test('an empty catalog shows a message in the form', () => {
  const empty = formOf({}, { skus: [], regions: [], images: [], keys: [] }, { suggestedName: 'a', userData: '' });
  assert.deepEqual(Object.keys(problemsOf(empty)), ['sku', 'region']);
  assert.equal(bodyOf(empty), null);
  assert.equal(cliCommand(empty, 'prj_1'), '');
  const onlyClosed = { ...CATALOG, skus: [sku('x', { enabled: false })], regions: [region('eu-1', 'No.')] };
  assert.equal(form({}, '', onlyClosed).sku?.name, 'x');
  assert.equal(form({}, '', onlyClosed).region?.name, 'eu-1');
});

test('names, maximum durations, user data and tags are validated by the rules of the contract', () => {
  for (const good of ['a', 'train-1', 'a'.repeat(63)]) assert.equal(nameProblem(good), null, good);
  for (const bad of ['', 'Train', '-a', 'a-', 'a_b', 'a'.repeat(64), 'é']) assert.notEqual(nameProblem(bad), null, bad);
  for (const good of ['', '1', '0.5', '8760']) assert.equal(durationProblem(good, maxDurationOf(good)), null, good);
  for (const bad of ['0', '-1', '8761', 'soon']) assert.notEqual(durationProblem(bad, maxDurationOf(bad)), null, bad);
  for (const good of ['', '#cloud-config\n', '#!/bin/sh\n']) assert.equal(userDataProblem(good), null, good);
  for (const bad of ['packages: []', '#cloud-config\n\0', `#!${'é'.repeat(40_000)}`])
    assert.notEqual(userDataProblem(bad), null);
  for (const bad of ['team', 'Team=x', 'a=1, a=2', 'a=<b>', `a=${'x'.repeat(121)}`])
    assert.notEqual(parseTags(bad).problem, null, bad);
  const many = Array.from({ length: 33 }, (_, index) => `t${index}=1`).join(',');
  assert.notEqual(parseTags(many).problem, null);
  assert.deepEqual(parseTags(' , team=vision ,empty=, '), { tags: { team: 'vision', empty: '' }, problem: null });
  assert.deepEqual(parseTags(tagsText({ a: 'b c', d: '' })).tags, { a: 'b c', d: '' });
});

test('a suggested name is always valid', () => {
  for (const at of [0, 0.5, 0.999_999]) assert.equal(nameProblem(suggestName(() => at)), null);
});

test('launching again fills the form from the allocation, with its name if that is free', () => {
  const allocation = {
    name: 'train',
    state: 'active',
    sku_name: 'slice',
    region_name: 'us-1',
    gpu_count: 1,
    image_name: 'cuda',
    placement: { vm_profile: 'p_1g_12c' },
    ssh_key_ids: ['ssh_b'],
    max_duration_s: 5_400,
    tags: { team: 'vision' },
    is_protected: true,
    storage: 'formatted',
    network: 'private_nat',
  } as unknown as Allocation;
  assert.deepEqual(bodyOf(form(launchSearch(allocation))), {
    name: 'calm-otter-42',
    sku_name: 'slice',
    region_name: 'us-1',
    gpu_count: 1,
    image_name: 'cuda',
    vm_profile: 'p_1g_12c',
    ssh_key_ids: ['ssh_b'],
    tags: { team: 'vision' },
    is_protected: true,
    max_duration_s: 5_400,
    storage: 'formatted',
    network: 'private_nat',
  });
  const bare = { ...allocation, ssh_key_ids: [], max_duration_s: null, tags: {}, is_protected: false } as Allocation;
  assert.equal(bodyOf(form(launchSearch(bare)))?.ssh_key_ids, undefined);
  for (const state of ['failed', 'released'] as const)
    assert.equal(bodyOf(form(launchSearch({ ...allocation, state })))?.name, 'train');
});

const choice = <Name extends string>(name: Name, reason: string | null = null) => ({
  name,
  label: name.toUpperCase(),
  description: '',
  available: reason === null,
  reason,
});
const OFFERED = {
  storage: [choice('raw' as const), choice('formatted' as const, 'Only one disk.')],
  network: [choice('private_nat' as const, 'Bare metal.')],
};

test('the first available choice is the default, and none is chosen where none is available', () => {
  assert.equal(chosenOf(OFFERED.storage, null), 'raw');
  assert.equal(chosenOf(OFFERED.storage, 'formatted'), 'formatted');
  assert.equal(chosenOf(OFFERED.network, null), null);
});

test('a choice that is not available blocks the launch with the reason of the server, and a default never does', () => {
  assert.equal(choiceProblem(form({ storage: 'formatted' }), OFFERED), 'FORMATTED: Only one disk.');
  assert.equal(choiceProblem(form({ network: 'private_nat' }), OFFERED), 'PRIVATE_NAT: Bare metal.');
  assert.equal(choiceProblem(form({ storage: 'raw' }), OFFERED), null);
  assert.equal(choiceProblem(form(), OFFERED), null);
});

test('the equivalent command and request match the form', () => {
  const made = form(
    { gpus: '4', hours: '36', tags: 'note=a b', protected: '1', name: 'train', storage: 'formatted' },
    `#!/bin/sh\necho 'x'\n`,
  );
  assert.equal(
    cliCommand(made, 'prj_1'),
    "gpuaas allocation create train --project prj_1 --sku slice --region us-1 --gpus 4 --image base --vm-profile p_4g_96c --ssh-key laptop --ssh-key desk --tag 'note=a b' --protect --max-duration 36h --storage formatted --user-data user-data.txt",
  );
  const curl = curlCommand(made, 'prj_1', 'https://gpu.example');
  assert.match(curl, /POST https:\/\/gpu\.example\/api\/v1\/projects\/prj_1\/allocations/);
  const [, quoted = ''] = /--data-binary '(.*)'$/s.exec(curl) ?? [];
  assert.deepEqual(JSON.parse(quoted.replaceAll(`'\\''`, "'")), bodyOf(made));
  assert.deepEqual([86_400, 129_600, 5_400, 301].map(durationFlag), ['1d', '36h', '90m', '301s']);
});
