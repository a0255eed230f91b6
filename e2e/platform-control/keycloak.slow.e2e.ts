/**
 * Sign-in with a real Keycloak and the realm of the operators' recipe. Everything shares one start of Keycloak, which takes
 * longer than all of it together; so the parts run in order, and the last one stops it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextOptions, launchBrowser } from '../../console/test/browser.ts';
import { startTestApp, testClock } from '../../server/test/app.ts';
import { until } from '../../server/test/until.ts';
import { requires } from '../../tools/test/requires.ts';
import { claimsOf, startKeycloak, USER } from './keycloak.ts';
import { freePorts } from './lab.ts';

const skip = requires('keycloak', 'chromium');

/** An unknown key is looked for at most every 30 seconds. */
const KEYS_COOLDOWN_MS = 90_000;

test('users sign in with a real Keycloak', { skip }, async (t) => {
  const [port = 0, issuerPort = 0] = await freePorts(2);
  const origin = `http://localhost:${port}`;
  const keycloak = await startKeycloak(t, { port: issuerPort, publicUrl: origin });
  const clock = testClock();
  const site = await startTestApp(
    t,
    { port, public_url: origin },
    {
      clock,
      env: {
        GPUAAS_OIDC_ISSUER: keycloak.issuer,
        GPUAAS_OIDC_OTHER_CLIENTS: 'test-direct,test-no-audience',
        GPUAAS_SUPERADMIN_EMAILS: USER.email,
      },
    },
  );
  const me = (token: string) => site.bearer(token).get('/api/v1/me');
  const browser = await launchBrowser();
  t.after(() => browser.close());
  const context = await browser.newContext(contextOptions({}));
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const signIn = async (): Promise<void> => {
    await page.goto(`${origin}/auth/sign-in`);
    await page.locator('#username').fill(USER.username);
    await page.locator('#password').fill(USER.password);
    await page.locator('#kc-login').click();
    await page.waitForURL(`${origin}/`);
  };

  await t.test('discovery names the issuer, and the site check measures it', async () => {
    const known = await (await fetch(`${origin}/.well-known/gpuaas`)).json();
    assert.equal((known as { issuer: string }).issuer, keycloak.issuer);
    const token = await keycloak.token('test-direct');
    const site_check = (await site.bearer(token).get('/api/v1/admin/doctor')).body.checks;
    const issuer = site_check.find((check: { key: string }) => check.key === 'issuer');
    assert.deepEqual([issuer.state, /answered in \d+ ms with [1-9]/.test(issuer.detail)], ['ok', true], issuer.detail);
  });

  await t.test('a browser signs in by code and PKCE, and gets a session but no token', async () => {
    const asked = page.waitForRequest((request) => request.url().startsWith(`${keycloak.issuer}/protocol`));
    await signIn();
    const wish = new URL((await asked).url()).searchParams;
    assert.deepEqual(
      [wish.get('response_type'), wish.get('code_challenge_method'), (wish.get('code_challenge') ?? '').length],
      ['code', 'S256', 43],
    );
    const answer = await context.request.get(`${origin}/api/v1/me`);
    const body = await answer.json();
    assert.deepEqual([answer.status(), body.email, body.credential.kind], [200, USER.email, 'web_session']);
    assert.equal(body.platform_role, 'superadmin', 'the address is verified by the issuer');
  });

  await t.test('a token carries the groups of the user and the audience', async () => {
    const token = await keycloak.token('test-direct');
    const claims = claimsOf(token);
    assert.deepEqual(claims['groups'], ['gpu-users']);
    assert.ok([claims['aud']].flat().includes('gpuaas-api'));
    assert.equal((await me(token)).status, 200);
  });

  await t.test('a token for another audience is refused with that reason', async () => {
    const { status, body } = await me(await keycloak.token('test-no-audience'));
    assert.equal(status, 401);
    assert.match(body.detail, /another audience/);
  });

  await t.test('a clock that is wrong is named: tokens are expired, or from the future', async () => {
    const ahead = await keycloak.token('test-direct');
    clock.advance(3_600_000);
    assert.match((await me(ahead)).body.detail, /has expired/);
    clock.advance(-2 * 3_600_000);
    assert.match((await me(await keycloak.token('test-direct'))).body.detail, /issued in the future|not valid yet/);
    clock.advance(3_600_000);
    assert.equal((await me(await keycloak.token('test-direct'))).status, 200);
  });

  // Before the keys change: Keycloak takes no hint that a removed key signed.
  await t.test('signing out ends the session here and at the issuer', async () => {
    const out = await context.request.post(`${origin}/auth/sign-out`, {
      headers: { origin, 'x-gpuaas-console': '1' },
    });
    const { redirect_to } = await out.json();
    assert.ok(String(redirect_to).startsWith(`${keycloak.issuer}/protocol/openid-connect/logout`), redirect_to);
    await page.goto(redirect_to);
    await page.waitForURL(`${origin}/`);
    assert.equal((await context.request.get(`${origin}/api/v1/me`)).status(), 401);
    await page.goto(`${origin}/auth/sign-in`);
    await page.locator('#password').waitFor();
  });

  await t.test(
    'after a key rotation both keys count while both are published, and a removed one does not',
    async () => {
      const accepted = async (token: string) => (await me(token)).status === 200;
      const [first, unseen] = [await keycloak.token('test-direct'), await keycloak.token('test-direct')];
      await keycloak.rotate('earlier');
      const second = await keycloak.token('test-direct');
      await until('a token of the new key is accepted', () => accepted(second), KEYS_COOLDOWN_MS);
      assert.ok(await accepted(first), 'the earlier key is still published');
      await keycloak.rotate('none');
      const third = await keycloak.token('test-direct');
      await until('a token of the newest key is accepted', () => accepted(third), KEYS_COOLDOWN_MS);
      const { status, body } = await me(unseen);
      assert.deepEqual([status, /unknown key/.test(body.detail)], [401, true], body.detail);
    },
  );

  await t.test('an issuer that is down is named to people and operators, and existing tokens continue', async () => {
    const token = await keycloak.token('test-direct');
    assert.equal((await me(token)).status, 200);
    await keycloak.stop();
    assert.equal((await me(token)).status, 200, 'a token that was checked before');
    const checks = (await site.bearer(token).get('/api/v1/admin/doctor')).body.checks;
    assert.equal(checks.find((check: { key: string }) => check.key === 'issuer').state, 'failed');
    // The browser returns with a code that cannot be redeemed now.
    const begun = await context.request.get(`${origin}/auth/sign-in`, { maxRedirects: 0 });
    const state = new URL(begun.headers()['location'] ?? '').searchParams.get('state') ?? '';
    const back = new URLSearchParams({ code: 'c-1', state, iss: keycloak.issuer });
    const answer = await page.goto(`${origin}/auth/callback?${back}`);
    assert.equal(answer?.status(), 503);
    await page.getByText('The identity provider cannot be reached right now').waitFor();
  });
});
