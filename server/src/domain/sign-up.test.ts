import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decideSignUp as decide,
  type Newcomer,
  organizationRefusal,
  ownGpuLimit,
  type SignUpPolicy,
} from './sign-up.ts';

const policy = (over: Partial<SignUpPolicy> = {}): SignUpPolicy => ({
  sign_up: 'open',
  mail_domains: [],
  contact: null,
  ...over,
});
const person = (over: Partial<Newcomer> = {}): Newcomer => ({
  email: 'ada@example.com',
  email_verified: true,
  is_superadmin: false,
  is_invited: false,
  ...over,
});
const decideSignUp = (of: SignUpPolicy, who: Newcomer) => decide(of, who, true);
const POLICIES = ['closed', 'invited', 'approved', 'open'] as const;
const WITH = { kind: 'admit', has_organization: true };
const WITHOUT = { kind: 'admit', has_organization: false };

test('a configured superadmin gets in under every policy', () => {
  for (const sign_up of POLICIES)
    assert.deepEqual(
      decideSignUp(policy({ sign_up, mail_domains: ['x.example'] }), person({ is_superadmin: true })),
      WITH,
    );
});

test('closed admits no one else, not even an invited person, and names whom to ask', () => {
  for (const is_invited of [false, true]) {
    const decision = decideSignUp(policy({ sign_up: 'closed', contact: 'ops@example.com' }), person({ is_invited }));
    assert.ok(decision.kind === 'refuse');
    assert.match(decision.sentence, /closed.*Ask ops@example\.com\.$/);
  }
});

test('an invited person joins without a personal organization', () => {
  for (const sign_up of ['invited', 'approved'] as const)
    assert.deepEqual(decideSignUp(policy({ sign_up }), person({ is_invited: true })), WITHOUT);
});

test('without an invitation, `invited` refuses and `approved` lets the person wait', () => {
  const refused = decideSignUp(policy({ sign_up: 'invited' }), person());
  assert.ok(refused.kind === 'refuse');
  assert.match(
    refused.sentence,
    /no pending invitation for ada@example\.com.*Otherwise ask the operators of this site\.$/,
  );
  const unverified = decideSignUp(policy({ sign_up: 'invited' }), person({ email_verified: false }));
  assert.ok(unverified.kind === 'refuse');
  assert.match(unverified.sentence, /not verified an email address/);
  assert.doesNotMatch(unverified.sentence, /ada@/);
  assert.deepEqual(decideSignUp(policy({ sign_up: 'approved' }), person()), { kind: 'wait' });
});

test('open admits any address, or with a list only verified ones of its domains', () => {
  const listed = policy({ mail_domains: ['example.com'] });
  assert.deepEqual(decideSignUp(policy(), person({ email: null, email_verified: false })), WITH);
  assert.deepEqual(decideSignUp(listed, person({ email: 'Ada@EXAMPLE.com' })), WITH);
  assert.deepEqual(decideSignUp(listed, person({ email: 'ada@other.example', is_invited: true })), WITHOUT);
  const others = [
    { email: 'ada@example.com.evil.example' },
    { email: 'ada@sub.example.com' },
    { email: 'example.com@evil.example' },
    { email_verified: false },
    { email: null },
  ];
  for (const other of others) {
    const decision = decideSignUp(listed, person(other));
    assert.ok(decision.kind === 'refuse', JSON.stringify(other));
    assert.match(decision.sentence, /email/);
  }
});

test('before the first superadmin a refusal names the way to become one, and afterwards none does', () => {
  for (const sign_up of ['closed', 'invited', 'approved'] as const)
    for (const email_verified of [false, true]) {
      const [of, who] = [policy({ sign_up }), person({ email_verified })];
      const decision = decide(of, who, false);
      assert.ok(decision.kind === 'refuse', sign_up);
      assert.match(decision.sentence, /GPUAAS_SUPERADMIN_EMAILS.*doc\/operations\/setup\.md\.$/);
      assert.equal(decision.sentence.includes('ada@example.com'), email_verified);
      assert.doesNotMatch(JSON.stringify(decide(of, who, true)), /superadmin|GPUAAS_/i);
    }
});

test('a person whom the policy admits needs no superadmin', () => {
  assert.deepEqual(decide(policy(), person(), false), WITH);
  assert.deepEqual(decide(policy({ sign_up: 'invited' }), person({ is_invited: true }), false), WITHOUT);
  for (const sign_up of POLICIES)
    assert.deepEqual(decide(policy({ sign_up }), person({ is_superadmin: true }), false), WITH);
});

test('only under `open` do users create further organizations', () => {
  for (const sign_up of POLICIES)
    assert.equal(organizationRefusal(policy({ sign_up }), person()) === null, sign_up === 'open', sign_up);
  const listed = policy({ mail_domains: ['example.com'] });
  assert.equal(organizationRefusal(listed, { email: 'a@example.com', email_verified: true }), null);
  for (const other of [
    { email: 'a@other.example', email_verified: true },
    { email: 'a@example.com', email_verified: false },
  ])
    assert.notEqual(organizationRefusal(listed, other), null, 'who came by an invitation joins others only');
});

test('the first organization of a user has the default limit, every other one 0 GPUs, and no limit stays none', () => {
  assert.equal(ownGpuLimit({ default_gpu_limit: 8 }, false), 8);
  assert.equal(ownGpuLimit({ default_gpu_limit: 8 }, true), 0);
  for (const hasCreated of [false, true]) assert.equal(ownGpuLimit({ default_gpu_limit: null }, hasCreated), null);
});
