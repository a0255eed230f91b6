import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FUTURE_TOLERANCE_S, freshSignInPolicy, freshSignInRefusal, freshSignInScopeRefusal } from './fresh-sign-in.ts';

const NOW = Date.parse('2026-11-18T02:00:00.000Z');
const FRESH = { freshSignIn: true } as const;

type Given = Parameters<typeof freshSignInRefusal>[1];
const operator = (credential: Partial<Given['credential']>): Given => ({
  platform_role: 'ops',
  credential: { kind: 'oidc', scopes: ['all'], auth_time: null, ...credential },
});

const person = fc.constantFrom('oidc', 'web_session');

test('a sign-in is fresh exactly up to its maximum age, and from the tolerance of clocks in the future on', () => {
  fc.assert(
    fc.property(
      person,
      fc.integer({ min: 60, max: 86_400 }),
      fc.oneof(fc.integer({ min: -30, max: 90_000 }), fc.constantFrom(-6, -5, 0, 60, 61, 900, 901)),
      (kind, max_age_s, age_s) => {
        const auth_time = new Date(NOW - age_s * 1000).toISOString();
        const refusal = freshSignInRefusal(FRESH, operator({ kind, auth_time }), { now_ms: NOW, max_age_s });
        assert.equal(refusal === null, age_s >= -FUTURE_TOLERANCE_S && age_s <= max_age_s);
      },
    ),
  );
});

test('a longer maximum age never refuses what a shorter one accepts', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 90_000 }),
      fc.integer({ min: 60, max: 86_400 }),
      fc.nat(86_400),
      (age_s, a, more) => {
        const caller = operator({ auth_time: new Date(NOW - age_s * 1000).toISOString() });
        const at = (max_age_s: number) => freshSignInRefusal(FRESH, caller, { now_ms: NOW, max_age_s });
        if (at(a) === null) assert.equal(at(a + more), null);
      },
    ),
  );
});

test('each refusal states the needed age and its cause', () => {
  const why = (caller: Given, max_age_s = 900) => freshSignInRefusal(FRESH, caller, { now_ms: NOW, max_age_s }) ?? '';
  const needed = 'This change needs a sign-in of the last 15 minutes.';
  const at = (age_s: number) => new Date(NOW - age_s * 1000).toISOString();
  assert.match(why(operator({})), new RegExp(`^${needed} The identity provider did not state`));
  assert.equal(why(operator({ auth_time: at(901) })), `${needed} Yours is older.`);
  assert.match(why(operator({ auth_time: at(-60) })), /in the future/);
  assert.match(
    why(operator({ kind: 'api_token' })),
    /An API token has no sign-in; it needs the scope fresh_sign_in\.$/,
  );
  assert.match(why(operator({ kind: 'service_account_token' })), /An API token has no sign-in/);
  assert.match(why(operator({}), 90), /of the last 90 seconds\./);
});

test('other operations, and callers without a platform role, need no fresh sign-in', () => {
  const at = { now_ms: NOW, max_age_s: 900 };
  assert.equal(freshSignInRefusal({}, operator({}), at), null);
  assert.equal(freshSignInRefusal(FRESH, { ...operator({}), platform_role: null }, at), null);
});

test('only a token with the scope stands for a sign-in, and the audit policy names it', () => {
  const at = { now_ms: NOW, max_age_s: 900 };
  const scopes = ['all', 'fresh_sign_in'];
  const token = operator({ kind: 'api_token', scopes });
  assert.equal(freshSignInRefusal(FRESH, token, at), null);
  assert.equal(freshSignInPolicy(FRESH, token), '; the token has the scope fresh_sign_in');
  assert.equal(freshSignInPolicy({}, token), '');
  assert.equal(freshSignInPolicy(FRESH, operator({ kind: 'api_token' })), '');
  // The issuer's words are not ours: the scope in a token of the issuer is no sign-in.
  const claimed = operator({ scopes });
  assert.notEqual(freshSignInRefusal(FRESH, claimed, at), null);
  assert.equal(freshSignInPolicy(FRESH, claimed), '');
});

const WEEK_S = 7 * 86_400;

test('the scope is granted only by a signed-in operator, for a week at most, and never to a service account', () => {
  const scopes = ['read', 'fresh_sign_in'];
  assert.equal(freshSignInScopeRefusal(['all'], operator({ kind: 'api_token' }), 'service_account', WEEK_S), null);
  assert.equal(freshSignInScopeRefusal(scopes, operator({}), 'user', WEEK_S), null);
  assert.equal(freshSignInScopeRefusal(scopes, operator({ kind: 'web_session' }), 'user', WEEK_S), null);
  assert.match(freshSignInScopeRefusal(scopes, operator({}), 'service_account', WEEK_S) ?? '', /service account/);
  assert.match(
    freshSignInScopeRefusal(scopes, operator({ kind: 'api_token', scopes }), 'user', WEEK_S) ?? '',
    /signed in/,
  );
  assert.match(
    freshSignInScopeRefusal(scopes, { ...operator({}), platform_role: null }, 'user', WEEK_S) ?? '',
    /Only an operator/,
  );
  assert.match(freshSignInScopeRefusal(scopes, operator({}), 'user', WEEK_S + 1) ?? '', /at most 7 days/);
  assert.equal(freshSignInScopeRefusal(['all'], operator({}), 'user', WEEK_S + 1), null);
});
