import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { type Caller, startTestApp, type TestApp, type TestResponse } from '../../test/app.ts';
import { Browser } from '../../test/browser.ts';
import { type ConsoleApp, startConsoleApp } from '../../test/console.ts';
import { must } from '../../test/tenants.ts';

const SKU = '/api/v1/admin/skus/h200-sxm-slice';
const TOKENS = '/api/v1/tokens';
const MAX_AGE_S = 900;
const MINUTES = /needs a sign-in of the last 15 minutes/;
const nowS = () => Math.floor(Date.now() / 1000);
const aToken = (scopes: readonly string[]) => ({ name: 'night', scopes, expires_in_s: 3600 });

const stage = () => {
  const closers: (() => Promise<void>)[] = [];
  after(async () => {
    for (const close of closers) await close();
  });
  return { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
};

describe('operations that need a fresh sign-in', () => {
  const t = stage();
  let test: TestApp;
  let fresh: Caller;

  before(async () => {
    test = await startTestApp(t, { roles: ['gpuaas-api'], fresh_sign_in_max_age_s: MAX_AGE_S });
    fresh = await test.admin();
  });

  const skuOf = async () => must(await fresh.get('/api/v1/skus/h200-sxm-slice'), 200).body;
  /** Another name each time. */
  const rename = async (as: Caller, id = randomUUID()) => {
    const { version } = await skuOf();
    const headers = { 'if-match': `"v${version}"`, 'x-correlation-id': id };
    return as.call('PATCH', SKU, { display_name: `H200 ${version + 1}` }, headers);
  };
  const assertRefused = (answer: TestResponse, detail: RegExp) => {
    assert.deepEqual([answer.status, answer.body.code, answer.body.retryable], [401, 'fresh_sign_in_required', false]);
    assert.match(answer.body.detail, detail);
    assert.match(answer.headers['content-type'] ?? '', /^application\/problem\+json/);
    assert.match(
      answer.headers['www-authenticate'] ?? '',
      /^Bearer .*error="insufficient_user_authentication".* max_age="900"$/,
    );
  };
  const auditOf = async (correlationId: string) =>
    must(await fresh.get(`/api/v1/admin/audit-logs?correlation_id=${correlationId}`), 200).body.items;

  it('refuse a sign-in that is too old, before anything changes, and audit it as denied', async () => {
    const before = await skuOf();
    const id = randomUUID();
    assertRefused(await rename(await test.admin({ auth_time: nowS() - MAX_AGE_S - 5 }), id), MINUTES);
    assert.deepEqual(await skuOf(), before);
    const [row, ...more] = await auditOf(id);
    assert.deepEqual(
      [more.length, row.action, row.result, row.error_code, row.target_id],
      [0, 'sku.update', 'denied', 'fresh_sign_in_required', 'h200-sxm-slice'],
    );
    assert.match(row.policy, MINUTES);
    // A malformed body is not even read.
    const stale = await test.admin({ auth_time: 1 });
    assertRefused(await stale.call('PATCH', SKU, '{', { 'content-type': 'application/json' }), MINUTES);
  });

  it('accept one within the maximum age', async () => {
    must(await rename(await test.admin({ auth_time: nowS() - MAX_AGE_S + 60 })), 200);
  });

  it('refuse a refreshed token with the time of its old sign-in', async () => {
    const now = nowS();
    const refreshed = await test.admin({ auth_time: now - 86_400, iat: now, exp: now + 600, nbf: now });
    assertRefused(await rename(refreshed), /Yours is older/);
  });

  it('refuse a token that does not state its sign-in, or states it in no form of a time', async () => {
    for (const auth_time of [undefined, null, String(nowS()), 0, -5, Number.MAX_VALUE])
      assertRefused(await rename(await test.admin({ auth_time } as never)), /did not state when you signed in/);
  });

  it('refuse a sign-in in the future beyond the tolerance of clocks', async () => {
    assertRefused(await rename(await test.admin({ auth_time: nowS() + 120 })), /in the future/);
    must(await rename(await test.admin({ auth_time: nowS() + 3 })), 200);
  });

  it('run after the fresh sign-in with the same key, once', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const stale = await test.admin({ auth_time: nowS() - 86_400 });
    assertRefused(await stale.call('POST', TOKENS, aToken(['read']), headers), MINUTES);
    const made = must(await fresh.call('POST', TOKENS, aToken(['read']), headers), 201);
    const again = must(await fresh.call('POST', TOKENS, aToken(['read']), headers), 201);
    assert.equal(again.headers['idempotency-replayed'], 'true');
    assert.deepEqual(again.body, made.body);
    // The stored response holds a secret: an old sign-in does not get it.
    assertRefused(await stale.call('POST', TOKENS, aToken(['read']), headers), MINUTES);
  });

  it('ask neither tenants nor callers without the permission', async () => {
    const tenant = test.bearer(await test.issuer.sign({ sub: 'tenant-1', auth_time: nowS() - 86_400 }));
    must(await tenant.post(TOKENS, aToken(['read'])), 201);
    const denied = await rename(tenant);
    assert.deepEqual([denied.status, denied.body.code], [403, 'permission_denied']);
    assert.equal((await rename(test.bearer(null))).body.code, 'unauthenticated');
  });

  it('refuse an API token without the scope, and accept one with it, named in the audit row', async () => {
    const plain = test.bearer(must(await fresh.post(TOKENS, aToken(['all'])), 201).body.token);
    must(await plain.get('/api/v1/admin/nodes'), 200);
    assertRefused(await rename(plain), /An API token has no sign-in; it needs the scope fresh_sign_in/);
    assertRefused(await plain.post(TOKENS, aToken(['all'])), /it needs the scope fresh_sign_in/);
    const scoped = must(await fresh.post(TOKENS, aToken(['admin.sku.update', 'fresh_sign_in'])), 201).body;
    assert.deepEqual(scoped.api_token.scopes, ['admin.sku.update', 'fresh_sign_in']);
    const id = randomUUID();
    must(await rename(test.bearer(scoped.token), id), 200);
    const [row] = await auditOf(id);
    assert.equal(row.policy, 'platform:superadmin holds admin.sku.update; the token has the scope fresh_sign_in');
    // The scope adds no permission.
    const denied = await test.bearer(scoped.token).post('/api/v1/admin/trust-keys', {});
    assert.deepEqual([denied.status, denied.body.code], [403, 'permission_denied']);
  });

  it('let only a signed-in operator grant the scope', async () => {
    const scoped = must(await fresh.post(TOKENS, aToken(['all', 'fresh_sign_in'])), 201).body.token;
    const child = await test.bearer(scoped).post(TOKENS, aToken(['all', 'fresh_sign_in']));
    assert.deepEqual([child.status, child.body.code], [403, 'permission_denied']);
    must(await test.bearer(scoped).post(TOKENS, aToken(['read'])), 201);
    const tenant = await test.user('ordinary');
    const refused = await tenant.post(TOKENS, aToken(['all', 'fresh_sign_in']));
    assert.deepEqual([refused.status, refused.body.code], [403, 'permission_denied']);
    const accounts = `/api/v1/projects/${tenant.project_id}/service-accounts`;
    const account = must(await tenant.post(accounts, { name: 'machine' }), 201).body.service_account;
    const machine = await tenant.post(`${accounts}/${account.id}/tokens`, aToken(['all', 'fresh_sign_in']));
    assert.deepEqual([machine.status, machine.body.code], [403, 'permission_denied']);
    assert.match(machine.body.detail, /service account/);
  });
});

describe('a web session', () => {
  const t = stage();
  let at: ConsoleApp;
  before(async () => {
    at = await startConsoleApp(t, { roles: ['gpuaas-api'], fresh_sign_in_max_age_s: MAX_AGE_S });
  });

  it('counts from the sign-in at the issuer, and a fresh sign-in replaces it in the same browser', async () => {
    const { browser, call, token } = await at.signed('dev-admin');
    const create = (send: typeof call, key = randomUUID()) =>
      send('POST', TOKENS, aToken(['read']), { 'idempotency-key': key });
    assert.equal((await create(call)).status, 201, 'a new sign-in is fresh');
    const { rows } = await at.sql.query('select id, auth_time from web_sessions');
    assert.ok(Date.now() - Date.parse(rows[0].auth_time) < MAX_AGE_S * 1000);

    const aged = randomUUID();
    await at.sql.query("update web_sessions set auth_time = auth_time - interval '1 hour'");
    at.clock.advance(6_000);
    const stale = await create(call, aged);
    assert.deepEqual([stale.status, stale.body.code], [401, 'fresh_sign_in_required']);
    await at.sql.query('update web_sessions set auth_time = null');
    at.clock.advance(6_000);
    assert.match((await create(call)).body.detail, /did not state when you signed in/);

    const asked = await new Browser(at.origin, /^$/).open('/auth/sign-in?fresh=1&return_to=/nodes');
    assert.equal(new URL(asked.leftTo ?? '').searchParams.get('max_age'), String(MAX_AGE_S));
    const back = await browser.open('/auth/sign-in?fresh=1&return_to=/nodes');
    assert.equal(back.leftTo, `${at.origin}/nodes`);
    const renewed = browser.cookies.get('gpuaas_session /')?.value ?? '';
    assert.notEqual(renewed, token);
    assert.equal((await create(at.holder(renewed), aged)).status, 201, 'the same key runs after the sign-in');
  });
});
