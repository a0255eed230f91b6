import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SETUP_STEPS, type SetupStepKey } from '@gpuaas/contract';
import { type SetupFacts, setupSteps } from './setup.ts';

const EMPTY: SetupFacts = {
  issuer: { url: 'https://login.example.com', is_embedded: false },
  superadmin_emails: 0,
  users: 0,
  superadmins: 0,
  trust_purposes: [],
  newest_backup_at: null,
  regions: 0,
  skus: 0,
  priced_skus: 0,
  sku_without_profile: null,
  sku_without_image: null,
  sku_without_default_image: null,
  region_name: null,
  sku_name: null,
  sign_up: null,
  nodes: 0,
  newest_node: null,
  enrolled_nodes: 0,
  discovered_nodes: 0,
  approved_nodes: 0,
  has_launched: false,
};

/** What each step adds to a site, in the order of the steps. */
const PROGRESS: readonly (readonly [SetupStepKey, Partial<SetupFacts>])[] = [
  ['sign_in', { users: 1 }],
  ['superadmin', { superadmins: 1, superadmin_emails: 1 }],
  ['trust_keys', { trust_purposes: ['certificate_signer', 'node_ca', 'task_signer'] }],
  ['catalog', { regions: 1, skus: 1, priced_skus: 1, region_name: 'us-buffalo-1', sku_name: 'h200' }],
  ['node_created', { nodes: 1, newest_node: 'j22u15' }],
  ['node_enrolled', { enrolled_nodes: 1 }],
  ['node_discovered', { discovered_nodes: 1 }],
  ['node_approved', { approved_nodes: 1 }],
  ['first_launch', { has_launched: true }],
];

const stateOf = (facts: SetupFacts, key: SetupStepKey) => setupSteps(facts).find((step) => step.key === key)?.state;
const stepOf = (facts: SetupFacts, key: SetupStepKey) => {
  const step = setupSteps(facts).find((one) => one.key === key);
  assert.ok(step, key);
  return step;
};

test('each step of an empty site is next once the earlier ones are done, and is not repeated', () => {
  let facts = EMPTY;
  for (const [key, change] of PROGRESS) {
    const steps = setupSteps(facts);
    assert.deepEqual(
      steps.map((step) => step.key),
      [...SETUP_STEPS],
    );
    assert.deepEqual(
      steps.filter(({ state }) => state === 'next').map((step) => step.key),
      [key],
    );
    const at = steps.findIndex((step) => step.key === key);
    for (const [index, step] of steps.entries()) {
      if (step.state !== 'optional') assert.equal(step.state, index < at ? 'done' : index > at ? 'blocked' : 'next');
      assert.equal(step.command === null, step.state === 'done', step.key);
      assert.match(step.detail, /^[A-Z].*[.a-zA-Z0-9]$/, step.key);
    }
    facts = { ...facts, ...change };
    assert.equal(stateOf(facts, key), 'done', key);
  }
  assert.equal(
    setupSteps(facts).some(({ state }) => state === 'next'),
    false,
  );
});

test('backups and the sign-up policy may be decided at any time and hold up nothing', () => {
  assert.equal(stateOf(EMPTY, 'backups'), 'optional');
  assert.equal(stateOf({ ...EMPTY, newest_backup_at: '2026-11-18T00:00:00.000Z' }, 'backups'), 'done');
  assert.match(stepOf(EMPTY, 'sign_up').detail, /Everyone who can sign in/);
  const open = { ...EMPTY, sign_up: { policy: 'invited', is_decided: false } };
  assert.equal(stateOf(open, 'sign_up'), 'optional');
  assert.match(stepOf(open, 'sign_up').detail, /Sign-up is invited, the default/);
  const decided = { ...EMPTY, sign_up: { policy: 'closed', is_decided: true } };
  assert.deepEqual([stateOf(decided, 'sign_up'), stepOf(decided, 'sign_up').detail], ['done', 'Sign-up is closed.']);
});

test('a step that is open says what is missing', () => {
  assert.match(stepOf(EMPTY, 'superadmin').detail, /names no address/);
  assert.match(stepOf({ ...EMPTY, superadmin_emails: 1 }, 'superadmin').detail, /has signed in/);
  assert.match(stepOf({ ...EMPTY, trust_purposes: ['node_ca'] }, 'trust_keys').detail, /^Missing: task_signer, cert/);
  assert.match(stepOf(EMPTY, 'catalog').detail, /^Missing: an enabled region, an enabled SKU\.$/);
  const skus = { ...EMPTY, regions: 1, skus: 1 };
  assert.match(stepOf(skus, 'catalog').detail, /^Missing: a price\.$/);
  const bare = { ...skus, priced_skus: 1, sku_without_profile: 'h200', sku_without_image: 'h200' };
  assert.equal(
    stepOf(bare, 'catalog').detail,
    'Missing: a default VM profile for each GPU count of h200, a stable and verified image for h200.',
  );
  assert.match(
    stepOf({ ...EMPTY, sku_without_default_image: 'h200' }, 'first_launch').detail,
    /^No host has fetched an image for h200 yet\..*gpuaas admin image list$/,
  );
});

test('commands name what is there, and placeholders what is not', () => {
  assert.match(stepOf(EMPTY, 'node_created').command ?? '', /--region REGION /);
  assert.match(stepOf({ ...EMPTY, region_name: 'eu-1' }, 'node_created').command ?? '', /--region eu-1 /);
  assert.match(stepOf(EMPTY, 'node_enrolled').command ?? '', /enroll NODE /);
  assert.match(stepOf({ ...EMPTY, newest_node: 'j1' }, 'node_approved').command ?? '', /approve j1 --all/);
  assert.match(stepOf(EMPTY, 'first_launch').command ?? '', /--sku SKU --region REGION/);
  const named = { ...EMPTY, sku_name: 'h200', region_name: 'eu-1' };
  assert.match(stepOf(named, 'first_launch').command ?? '', /--sku h200 --region eu-1/);
});

test('what is done says how much of it there is', () => {
  const done = { ...EMPTY, users: 2, superadmins: 2, nodes: 2, newest_node: 'j2' };
  assert.match(stepOf(done, 'superadmin').detail, /several/);
  assert.match(stepOf(done, 'node_created').detail, /Several nodes exist, the newest is j2/);
  assert.match(stepOf({ ...done, nodes: 1 }, 'node_created').detail, /^Node j2 exists/);
  assert.match(stepOf({ ...done, superadmins: 1 }, 'superadmin').detail, /one superadmin/);
  assert.match(stepOf({ ...done, issuer: { url: 'x', is_embedded: true } }, 'sign_in').detail, /embedded/);
});
