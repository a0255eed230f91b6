import assert from 'node:assert/strict';
import { test } from 'node:test';
import { command } from '../format/shell.ts';
import { reasonLines } from '../rules/reasons.ts';
import { bodyOf, commandFlags, type Form, fieldsOf, initialValues, missingOf, sends } from './form.ts';
import { type Input, problemOf, sentOf, shownOf } from './input.ts';
import * as inputs from './inputs.gen.ts';

const {
  adminOrganizationCreate,
  adminPoolCreate,
  adminPriceCreate,
  adminQuotaPut,
  adminRegionCreate,
  adminRegionUpdate,
  adminSkuCreate,
} = inputs;

test('a required field of any operation refuses to stay empty', () => {
  const all = Object.values(inputs as Readonly<Record<string, Readonly<Record<string, Input>>>>).flatMap(Object.values);
  const required = (all as Input[]).filter(
    ({ kind, isRequired, isNullable }) => isRequired && !isNullable && kind !== 'boolean' && kind !== 'list',
  );
  assert.ok(required.length > 20);
  for (const input of required) assert.match(problemOf(input, 'Value', ' ') ?? '', /^(Enter|Select) the value\.$/);
});

test('a value that the contract refuses is named before it is sent', () => {
  const { name, display_name, wipe_minimum } = adminRegionCreate;
  assert.equal(problemOf(name, 'Name', ''), 'Enter the name.');
  assert.equal(problemOf(name, 'Name', 'Eu-north'), 'Use lower-case letters only.');
  assert.equal(problemOf(name, 'Name', 'eu-north-1'), null);
  assert.equal(
    problemOf(display_name, 'Display name', 'a<b'),
    'Remove <, > and invisible characters from the display name.',
  );
  assert.equal(
    problemOf(display_name, 'Display name', 'x'.repeat(121)),
    'Use at most 120 characters for the display name.',
  );
  assert.equal(problemOf(wipe_minimum, 'Wipe level', ''), null);
  const { gpus_per_node, allowed_gpu_counts } = adminSkuCreate;
  for (const bad of ['0', '65', '1.5', 'eight'])
    assert.equal(problemOf(gpus_per_node, 'GPUs per node', bad), 'GPUs per node: enter a whole number, 1 to 64.', bad);
  assert.equal(problemOf(allowed_gpu_counts, 'GPU counts', ' '), 'Enter the GPU counts.');
  assert.equal(problemOf(allowed_gpu_counts, 'GPU counts', '1, 2, 2'), 'The GPU counts name a value twice.');
  assert.equal(problemOf(allowed_gpu_counts, 'GPU counts', '1, 99'), 'GPU counts: enter a whole number, 1 to 64.');
  assert.equal(problemOf(allowed_gpu_counts, 'GPU counts', '1, 2 4,8'), null);
  const { currency, valid_from } = adminPriceCreate;
  assert.equal(problemOf(currency, 'Currency', 'usd', 'Use capital letters.'), 'Use capital letters.');
  assert.equal(problemOf(valid_from, 'Takes effect', '2026-13-01T00:00'), 'Takes effect: enter a date and a time.');
});

test('an empty field leaves the choice to the server, and a number may be unlimited', () => {
  assert.equal(sentOf(adminOrganizationCreate.gpu_limit, ''), undefined);
  assert.equal(sentOf(adminOrganizationCreate.gpu_limit, 'none'), null);
  assert.equal(sentOf(adminOrganizationCreate.gpu_limit, '0'), 0);
  assert.equal(problemOf(adminQuotaPut.gpu_limit, 'GPU limit', 'none'), null);
  assert.equal(problemOf(adminQuotaPut.gpu_limit, 'GPU limit', ''), 'Enter the GPU limit.');
  assert.equal(sentOf(adminPriceCreate.valid_from, '2027-01-01T00:00'), '2027-01-01T00:00:00.000Z');
  assert.deepEqual(sentOf(adminSkuCreate.allowed_gpu_counts, '1, 2 8'), [1, 2, 8]);
  assert.deepEqual(
    [
      shownOf(adminQuotaPut.gpu_limit, null),
      shownOf(adminQuotaPut.gpu_limit, 8),
      shownOf(adminPoolCreate.purpose, null),
    ],
    ['none', '8', ''],
  );
});

const REGION = {
  name: 'eu-1',
  display_name: 'Europe',
  enabled: true,
  disabled_reason: null,
  wipe_minimum: 'purge',
  allows_wipe_override: false,
  version: 3,
};
const EDIT: Form<typeof REGION> = {
  label: 'Edit',
  title: 'Edit',
  permission: 'admin.region.update',
  isEdit: true,
  fields: fieldsOf(adminRegionUpdate, {
    enabled: { label: 'Enabled', flag: (sent: boolean) => [[sent ? 'enable' : 'disable', true]] },
    disabled_reason: {
      label: 'Reason',
      isShown: ({ enabled }) => enabled === false,
      isNeeded: true,
      flag: (sent: string) => [
        ['disable', true],
        ['reason', sent],
      ],
    },
  }),
  send: sends('adminRegionUpdate', (body) => ({ params: { region_name: 'eu-1' }, body })),
  words: () => ['admin', 'region', 'update', 'eu-1'],
};

test('an edit sends what differs, and nothing that is not shown', () => {
  const before = initialValues(EDIT.fields, REGION);
  assert.deepEqual(bodyOf(EDIT.fields, before, before), {});
  assert.equal(missingOf(EDIT, REGION, before, {}), 'No changes to save.');
  const off = { ...before, enabled: false };
  assert.equal(missingOf(EDIT, REGION, off, bodyOf(EDIT.fields, off, before)), 'Enter the reason.');
  const told = { ...off, disabled_reason: ' Power work ' };
  const body = bodyOf(EDIT.fields, told, before);
  assert.deepEqual(body, { enabled: false, disabled_reason: 'Power work' });
  assert.equal(missingOf(EDIT, REGION, told, body), null);
  assert.equal(
    command(EDIT.words(REGION, body), commandFlags(EDIT.fields, body)),
    "gpuaas admin region update eu-1 --disable --reason 'Power work'",
  );
  const renamed = { ...before, display_name: 'Sweden', disabled_reason: 'not shown' };
  assert.deepEqual(bodyOf(EDIT.fields, renamed, before), { display_name: 'Sweden' });
});

test('a field that the contract gains appears without code of its own, and null leaves one out', () => {
  const fields = fieldsOf(adminPoolCreate, { purpose: { label: 'Purpose' }, organization_id: null });
  assert.deepEqual(
    fields.map(({ name, label }) => [name, label]),
    [
      ['purpose', 'Purpose'],
      ['name', 'Name'],
    ],
  );
});

test('the reasons of a refusal are shown whole, and what its sentence says is not repeated', () => {
  const use = { code: 'in_use', kind: 'node', count: 2, names: ['j1', 'j2'] };
  assert.deepEqual(reasonLines({ detail: 'Region eu-1 is in use: 2 nodes (j1, j2).', reasons: [use] }), []);
  assert.deepEqual(reasonLines({ detail: 'In use.', reasons: [use, { code: 'fabric', detail: 'No fabric.' }] }), [
    'in use: kind node, count 2, names j1, j2',
    'No fabric.',
  ]);
});
