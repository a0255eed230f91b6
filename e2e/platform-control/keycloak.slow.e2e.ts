/**
 * Sign-in with a real Keycloak and the realm of the operators' recipe. Everything shares one start of Keycloak, which takes
 * longer than all of it together; so the parts run in order, and the last one stops it.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { APIRequestContext, Page } from 'playwright-core';
import { contextOptions, launchBrowser } from '../../console/test/browser.ts';
import { startTestApp, testClock } from '../../server/test/app.ts';
import { CACHE_OVER_MS } from '../../server/test/tenants.ts';
import { until } from '../../server/test/until.ts';
import { requires } from '../../tools/test/requires.ts';
import { claimsOf, GROUP, MEMBER, startKeycloak, USER } from './keycloak.ts';
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
  const signInAs = async (at: Page, who: Readonly<{ username: string; password: string }>): Promise<void> => {
    await at.goto(`${origin}/auth/sign-in`);
    await at.locator('#username').fill(who.username);
    await at.locator('#password').fill(who.password);
    await at.locator('#kc-login').click();
    await at.waitForURL(`${origin}/`);
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
    await signInAs(page, USER);
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

  await t.test(
    'a group gives a role at a sign-in, and its end at the issuer ends it: at the next one, and by a sync',
    async () => {
      /** As the operator who signed in above: a change of mappings needs a fresh sign-in. */
      const asOperator = async (path: string, data: object) => {
        const headers = { origin, 'x-gpuaas-console': '1', 'idempotency-key': randomUUID() };
        const answer = await context.request.post(`${origin}/api/v1${path}`, { data, headers });
        assert.ok(answer.ok(), `${path}: ${answer.status()} ${await answer.text()}`);
        return answer.json();
      };
      const { id: organization_id } = await asOperator('/organizations', { name: 'research' });
      await asOperator('/admin/group-mappings', { group: GROUP, organization_id, role: 'member' });

      /** What the person sees after signing in: the role in the organization, or null. */
      const roleOfGrace = async (look: (api: APIRequestContext) => Promise<void> = async () => {}) => {
        const own = await browser.newContext(contextOptions({}));
        const at = await own.newPage();
        at.setDefaultTimeout(60_000);
        await signInAs(at, MEMBER);
        const { organizations } = await (await own.request.get(`${origin}/api/v1/me`)).json();
        const found = organizations.find((one: { id: string }) => one.id === organization_id);
        await look(own.request);
        await own.close();
        return found?.role ?? null;
      };
      assert.equal(await roleOfGrace(), null);
      await keycloak.setMember(true);
      let token = '';
      const mint = async (api: APIRequestContext): Promise<void> => {
        const headers = { origin, 'x-gpuaas-console': '1', 'idempotency-key': randomUUID() };
        const data = { name: 'kept', scopes: ['all'], expires_in_s: 86_400 };
        const answer = await api.post(`${origin}/api/v1/tokens`, { data, headers });
        assert.equal(answer.status(), 201, await answer.text());
        token = (await answer.json()).token;
      };
      assert.equal(await roleOfGrace(mint), 'member');
      const reaches = async (): Promise<number> =>
        (await site.bearer(token).get(`/api/v1/organizations/${organization_id}`)).status;
      assert.equal(await reaches(), 200);

      await keycloak.setMember(false);
      assert.equal(await roleOfGrace(), null, 'the next sign-in has no group');
      clock.advance(CACHE_OVER_MS);
      assert.equal(await reaches(), 404, 'and the API token reaches nothing');

      await keycloak.setMember(true);
      assert.equal(await roleOfGrace(), 'member');
      clock.advance(CACHE_OVER_MS);
      assert.equal(await reaches(), 200);
      await keycloak.setMember(false);
      // Times of tokens are whole seconds: an export in the second of a sign-in would be older than it.
      const sync = async () => {
        const members = JSON.parse(await keycloak.exportMembers());
        const plan = await asOperator('/admin/group-mappings/sync/plan', { members });
        return { members, plan };
      };
      let { members, plan } = await sync();
      if (plan.users_newer > 0) ({ members, plan } = await sync());
      assert.deepEqual(
        plan.changes.map((one: { action: string; email: string }) => [one.action, one.email]),
        [['remove', MEMBER.email]],
      );
      assert.equal(await reaches(), 200, 'until it is applied');
      await asOperator('/admin/group-mappings/sync/apply', { members, hash: plan.hash, accept_warnings: true });
      clock.advance(CACHE_OVER_MS);
      assert.equal(await reaches(), 404, 'without another sign-in');
    },
  );

  /** The page on which a sign-in of Grace ends. */
  const refusalPage = async (): Promise<string> => {
    const own = await browser.newContext(contextOptions({}));
    const at = await own.newPage();
    at.setDefaultTimeout(60_000);
    await at.goto(`${origin}/auth/sign-in`);
    await at.locator('#username').fill(MEMBER.username);
    await at.locator('#password').fill(MEMBER.password);
    await at.locator('#kc-login').click();
    await at.getByRole('heading', { name: 'You are not signed in' }).waitFor();
    const said = await at.locator('main').innerText();
    assert.equal((await own.request.get(`${origin}/api/v1/me`)).status(), 401);
    await own.close();
    return said;
  };

  await t.test('a person whose sign-in has the wrong audience reads that on the page', async () => {
    await keycloak.setAudience('gpuaas-console', false);
    assert.match(await refusalPage(), /The token is for another audience\./);
    await keycloak.setAudience('gpuaas-console', true);
  });

  await t.test('a person who signs in while the clocks differ reads that, and that it is not their fault', async () => {
    clock.advance(3_600_000);
    assert.match(await refusalPage(), /has expired\. The clocks of this site and of the identity provider differ/);
    clock.advance(-2 * 3_600_000);
    assert.match(await refusalPage(), /(?:issued in the future|not valid yet)\. The clocks of this site .* differ/);
    clock.advance(3_600_000);
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
