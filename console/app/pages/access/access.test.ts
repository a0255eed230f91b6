import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Me, ROLES } from '@gpuaas/sdk';
import { command } from '../../format/shell.ts';
import { nameFrom, nameProblem, optionalTextProblem, textProblem } from '../../rules/name.ts';
import { auditFlags, auditQuery, fieldFromTime, hasFilters, timeFromField } from './audit-filters.ts';
import { changesOf, numberRefusal, POLICY_NUMBERS } from './policy-settings.ts';
import { grantableRoles, ownerRefusal } from './roles.ts';
import { scopeChoices, scopeRefusal, scopesOf, secondsOf, tokenState } from './token-choices.ts';

test('an invalid name is refused before the request is sent', () => {
  for (const good of ['a', 'research', 'gpu-1', '0']) assert.equal(nameProblem(good), null, good);
  for (const bad of ['', 'Research', '-a', 'a-', 'a b', 'a_b', 'x'.repeat(64)])
    assert.notEqual(nameProblem(bad), null, bad);
  assert.equal(nameFrom('  Größe & Search Group '), 'gro-e-search-group');
  assert.equal(nameFrom('***'), '');
});

test('free text with invisible characters is refused', () => {
  assert.equal(textProblem('Research – Zürich', 'name', 120), null);
  for (const bad of ['', 'a<b', 'a\u200bb', 'a\nb', '\u202eabc', 'x'.repeat(121)])
    assert.notEqual(textProblem(bad, 'name', 120), null, bad);
  assert.equal(optionalTextProblem('', 'name', 120), null);
});

const me = (role: 'owner' | 'admin'): Me => ({
  kind: 'user',
  id: 'usr_1',
  name: 'Ada',
  email: null,
  state: 'active',
  sign_up_request: null,
  platform_role: null,
  organizations: [{ id: 'org_1', name: 'acme', display_name: 'Acme', role }],
  projects: [],
  credential: { kind: 'web_session', scopes: ['all'], expires_at: null },
});

test('only an owner can change owners, and the last owner cannot be removed', () => {
  const owner = { user_id: 'usr_1', role: 'owner' } as const;
  const second = { user_id: 'usr_2', role: 'owner' } as const;
  const member = { user_id: 'usr_3', role: 'member' } as const;
  assert.match(ownerRefusal(me('owner'), 'org_1', owner, [owner, member]) ?? '', /needs an owner/);
  assert.equal(ownerRefusal(me('owner'), 'org_1', owner, [owner, second]), null);
  assert.match(ownerRefusal(me('admin'), 'org_1', owner, [owner, second]) ?? '', /Only an owner/);
  assert.equal(ownerRefusal(me('admin'), 'org_1', member, [owner, member]), null);
  const grantable = (role: 'owner' | 'admin') =>
    grantableRoles(me(role), 'org_1')
      .filter(({ refusal }) => refusal === null)
      .map((one) => one.role);
  assert.deepEqual(grantable('owner'), ['owner', 'admin', 'member', 'viewer']);
  assert.deepEqual(grantable('admin'), ['admin', 'member', 'viewer']);
});

test('scopes are those selected, and an invalid one is named', () => {
  assert.deepEqual(scopesOf('read', ['x']), ['read']);
  assert.deepEqual(scopesOf('some', ['allocation.read']), ['allocation.read']);
  assert.equal(scopeRefusal('all', []), null);
  assert.notEqual(scopeRefusal('some', []), null);
  assert.match(scopeRefusal('some', ['allocation.read', 'No']) ?? '', /“No”/);
  assert.equal(scopeRefusal('some', ['allocation.*']), null);
});

test('the API accepts every scope that the form offers', () => {
  const choices = scopeChoices([...ROLES['project:admin'], ...ROLES.user]);
  assert.ok(choices.includes('allocation.*') && choices.includes('allocation.read'));
  for (const choice of choices) assert.equal(scopeRefusal('some', [choice]), null, choice);
  assert.equal(new Set(choices).size, choices.length);
});

test('the selected lifetime equals the one in the shown command', () => {
  assert.equal(secondsOf('7d'), 604_800);
  assert.equal(secondsOf('what'), 2_592_000);
});

test('an expired token is distinguished from a revoked one', () => {
  const now = Date.parse('2026-11-15T12:00:00Z');
  const ends = '2026-11-16T00:00:00Z';
  assert.equal(tokenState({ expires_at: ends, revoked_at: null }, now), 'active');
  assert.equal(tokenState({ expires_at: '2026-11-15T12:00:00Z', revoked_at: null }, now), 'expired');
  assert.equal(tokenState({ expires_at: ends, revoked_at: '2026-11-15T00:00:00Z' }, now), 'revoked');
});

test('a policy update contains only changed fields, within their bounds', () => {
  const before = {
    session_idle_s: 900,
    session_max_s: 28_800,
    ends_with_sign_in: true,
    records_terminals: false,
    requires_recording: false,
    recording_days: 30,
    allows_service_accounts: false,
  };
  assert.deepEqual(changesOf(before, before), {});
  assert.deepEqual(changesOf(before, { ...before, records_terminals: true, recording_days: 7 }), {
    records_terminals: true,
    recording_days: 7,
  });
  for (const one of POLICY_NUMBERS) {
    assert.equal(numberRefusal(one, one.min), null);
    assert.equal(numberRefusal(one, one.max), null);
    for (const bad of [one.min - 1, one.max + 1, Number.NaN]) assert.notEqual(numberRefusal(one, bad), null);
  }
});

test('the filters in the URL are those of the request and of the shown command', () => {
  const search = { action: 'project.create', actor: 'usr_1', result: 'denied', since: '2026-11-15T00:00:00Z' };
  assert.deepEqual(auditQuery(search), {
    action: 'project.create',
    actor_id: 'usr_1',
    result: 'denied',
    since: '2026-11-15T00:00:00Z',
  });
  assert.equal(
    command(['audit', 'export'], auditFlags(search)),
    'gpuaas audit export --action project.create --actor usr_1 --result denied --since 2026-11-15T00:00:00Z',
  );
  assert.equal(hasFilters({}), false);
  assert.equal(hasFilters(search), true);
});

test('filter times are UTC, and an invalid time is ignored', () => {
  assert.equal(timeFromField('2026-11-15T12:30'), '2026-11-15T12:30:00Z');
  assert.equal(fieldFromTime('2026-11-15T12:30:00Z'), '2026-11-15T12:30');
  assert.equal(timeFromField(''), undefined);
  assert.equal(fieldFromTime('yesterday'), '');
});
