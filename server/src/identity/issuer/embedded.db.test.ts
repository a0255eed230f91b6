import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { silentLog } from '@gpuaas/kit';
import { decodeProtectedHeader } from 'jose';
import * as client from 'openid-client';
import { testDatabase } from '../../../test/database.ts';
import {
  codeRequest,
  DEV_GRANT,
  devLogin,
  oauthError,
  PASSWORD,
  signInToConsole,
  startIssuer,
  verify,
} from '../../../test/embedded-issuer.ts';
import { createDatabase, type Database } from '../../db/client.ts';
import { createTokenVerifier } from '../../ports/identity/verifier.ts';
import { createEmbeddedIssuer, type EmbeddedIssuer } from './embedded.ts';

test('restarts and replicas share keys and sessions, and a rotated key still verifies what it signed', async (t) => {
  const database = await testDatabase(t);
  const first = await startIssuer(t, { database });
  const { tokens } = await signInToConsole(first);
  const kid = decodeProtectedHeader(tokens.access_token).kid;

  const again = await createEmbeddedIssuer(first.options);
  const offline = (issuer: EmbeddedIssuer) =>
    createTokenVerifier({
      issuer: issuer.issuerUrl,
      audience: 'gpuaas-api',
      clients: ['gpuaas-console', 'gpuaas-cli'],
      log: silentLog(),
      fetch: issuer.fetch,
    });
  assert.equal((await offline(again).verify(tokens.access_token)).subject, 'dev-user');

  await database.database.write({ tenant_id: '*', principal_id: '' }, (tx) =>
    tx.query('update oidc_signing_keys set retired_at = now()'),
  );
  const second = await startIssuer(t, { database });
  const fresh = await devLogin(second, 'dev-user', PASSWORD);
  assert.notEqual(decodeProtectedHeader(fresh.access_token).kid, kid);
  await verify(second, fresh.access_token);
  const rotated = await createEmbeddedIssuer(first.options);
  assert.equal((await offline(rotated).verify(tokens.access_token)).subject, 'dev-user');
});

test('replicas that start at once agree on one key', async (t) => {
  const { database } = await testDatabase(t);
  const options = (await startIssuer(t)).options;
  const issuers = await Promise.all(Array.from({ length: 4 }, () => createEmbeddedIssuer({ ...options, database })));
  const sets = await Promise.all(
    issuers.map(async (issuer) => (await issuer.fetch(`${issuer.issuerUrl}/jwks`)).text()),
  );
  assert.equal(new Set(sets).size, 1);
  assert.equal(JSON.parse(sets[0] ?? '').keys.length, 1);
  assert.doesNotMatch(sets[0] ?? '', /"(d|p|q|dp|dq|qi)":/);
});

test('the database holds no usable token, code or private key', async (t) => {
  const running = await startIssuer(t);
  const tokens = await devLogin(running, 'dev-user', PASSWORD);
  const { browser } = running;
  await signInToConsole(running);
  const rows = await running.database.database.read({ tenant_id: '*', principal_id: '' }, (reader) =>
    reader.query<{ all: string }>(
      `select coalesce(string_agg(r::text, ''), '') || (select string_agg(k::text, '') from oidc_signing_keys k) as all
       from oidc_records r`,
    ),
  );
  const text = rows.rows[0]?.all ?? '';
  assert.ok(text.length > 1000);
  const bytes = Buffer.from(text.replace(/[^0-9a-f]/g, ''), 'hex').toString('latin1');
  for (const secret of [tokens.refresh_token ?? '', ...[...browser.cookies.values()].map(({ value }) => value)]) {
    assert.ok(!text.includes(secret));
    assert.ok(!bytes.includes(secret));
  }
  assert.doesNotMatch(bytes + text, /dev-user|"kty"/);
  const outside = await running.database.database.read({ tenant_id: 'org_x', principal_id: 'usr_x' }, (reader) =>
    reader.query<{ n: number }>(
      'select (select count(*) from oidc_records) + (select count(*) from oidc_signing_keys) as n',
    ),
  );
  assert.equal(outside.rows[0]?.n, 0, 'no tenant sees them');
});

test('every page is served with a strict policy, without script, and cookies suitable for plain http', async (t) => {
  const running = await startIssuer(t);
  const { browser, origin } = running;
  const signInForm = await browser.open((await codeRequest(running, `${origin}/callback`)).url.href);
  const cookies = [...browser.cookies.values()];
  assert.ok(cookies.length >= 2);
  for (const { attributes } of cookies) {
    assert.match(attributes, /httponly/i);
    assert.match(attributes, /samesite=lax/i);
    assert.doesNotMatch(attributes, /secure/i);
  }
  const pages = [
    signInForm,
    await browser.open('/oidc/device'),
    await browser.open('/oidc/session/end'),
    await browser.open('/oidc/auth?client_id=nobody'),
    await browser.open('/oidc/interaction/unknown'),
    await browser.open('/oidc/nothing-here'),
  ];
  for (const page of pages) {
    const policy = page.headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'/, page.url);
    assert.match(policy, /frame-ancestors 'none'; base-uri 'none'$/);
    assert.doesNotMatch(page.text, /<script|onfocus|https?:\/\/(?!localhost)/i, page.url);
    assert.equal(page.headers.get('cache-control'), 'no-store');
    assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
  }
  assert.deepEqual(
    pages.map((page) => page.status),
    [200, 200, 200, 400, 400, 404],
  );
});

test('addresses come from the issuer URL for any Host header', async (t) => {
  const running = await startIssuer(t);
  const port = new URL(running.origin).port;
  const byNumber = `http://127.0.0.1:${port}/oidc`;
  const document = (await (await fetch(`${byNumber}/.well-known/openid-configuration`)).json()) as Record<
    string,
    string
  >;
  assert.equal(document['issuer'], `${running.origin}/oidc`);
  assert.equal(document['token_endpoint'], `${running.origin}/oidc/token`);
  assert.equal(document['userinfo_endpoint'], undefined);
  const moved = await fetch(`${byNumber}/device?user_code=ABCD-EFGH`, { redirect: 'manual' });
  assert.equal(moved.headers.get('location'), `${running.origin}/oidc/device?user_code=ABCD-EFGH`);
});

test('browsers may redeem codes from the console and from loopback, not from other sites', async (t) => {
  const running = await startIssuer(t);
  const send = (origin: string) =>
    fetch(`${running.origin}/oidc/token`, {
      method: 'POST',
      headers: { origin },
      body: new URLSearchParams({ grant_type: 'refresh_token', client_id: 'gpuaas-console', refresh_token: 'x' }),
    });
  assert.equal((await send(running.origin)).headers.get('access-control-allow-origin'), running.origin);
  assert.equal(
    (await send('http://127.0.0.1:5173')).headers.get('access-control-allow-origin'),
    'http://127.0.0.1:5173',
  );
  const evil = await send('https://evil.example');
  assert.equal(evil.headers.get('access-control-allow-origin'), null);
  assert.match(await evil.text(), /not allowed/);
});

test('the issuer writes only to the log, not to the console', async (t) => {
  const methods = (['log', 'info', 'warn', 'error'] as const).map((name) =>
    mock.method(console, name, () => undefined),
  );
  t.after(() => mock.restoreAll());
  const running = await startIssuer(t);
  const { tokens, request } = await signInToConsole(running);
  await assert.rejects(client.refreshTokenGrant(request.config, 'made up'), oauthError('invalid_grant'));
  await running.browser.open('/oidc/device?user_code=AAAA-AAAA');
  await running.browser.open('/oidc/auth');
  await running.browser.open(client.buildEndSessionUrl(request.config, { id_token_hint: tokens.id_token ?? '' }).href);
  for (const method of methods)
    assert.deepEqual(
      method.mock.calls.map((call) => call.arguments),
      [],
    );
  assert.match(running.logged.join(''), /refresh token not found/);
  assert.doesNotMatch(running.logged.join(''), /made up/);
});

test('an unavailable database makes the issuer unavailable and causes no internal error', async (t) => {
  const away = createDatabase({ url: 'postgres://nobody@127.0.0.1:9/none', log: silentLog() });
  t.after(() => away.end());
  let current: Database | undefined;
  const running = await startIssuer(t, {
    through: (database) => ({
      ...database,
      read: (scope, fn) => (current ?? database).read(scope, fn),
      write: (scope, fn) => (current ?? database).write(scope, fn),
    }),
  });
  const { refresh_token: refreshToken = '' } = await devLogin(running, 'dev-user', PASSWORD);
  const refresh = () =>
    fetch(`${running.origin}/oidc/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'refresh_token', client_id: 'gpuaas-cli', refresh_token: refreshToken }),
    });
  current = away;
  const refused = await refresh();
  assert.equal(refused.status, 503);
  assert.equal(((await refused.json()) as { error: string }).error, 'temporarily_unavailable');
  current = undefined;
  assert.equal((await refresh()).status, 200, 'the refresh token was not lost');
});

test('it refuses to start in production and beside an external issuer', async (t) => {
  const { options } = await startIssuer(t);
  await assert.rejects(createEmbeddedIssuer({ ...options, mode: 'production' }), /does not run in production/);
  await assert.rejects(
    createEmbeddedIssuer({ ...options, externalIssuer: 'https://sso.example' }),
    /does not run beside https:\/\/sso\.example/,
  );
});

test('invalid tokens, codes and forms are refused, never an internal error', async (t) => {
  const running = await startIssuer(t);
  const post = (path: string, body: Record<string, string>) =>
    fetch(`${running.origin}/oidc${path}`, { method: 'POST', body: new URLSearchParams(body) });
  const odd = ['\u0000', "'; drop table users; --", '💥', 'x'.repeat(10_000), '__proto__'];
  for (const value of odd) {
    const answers = await Promise.all([
      post('/token', { grant_type: 'refresh_token', client_id: 'gpuaas-cli', refresh_token: value }),
      post('/token', { grant_type: 'refresh_token', client_id: value, refresh_token: 'x' }),
      post('/token', { grant_type: value, client_id: 'gpuaas-cli' }),
      post('/token', { grant_type: DEV_GRANT, client_id: 'gpuaas-cli', username: value, password: value }),
      post('/device', { user_code: value, xsrf: value }),
      post('/device/auth', { client_id: 'gpuaas-cli', scope: value }),
      post('/token/revocation', { client_id: 'gpuaas-cli', token: value }),
      fetch(`${running.origin}/oidc/auth?client_id=${encodeURIComponent(value)}`),
      fetch(`${running.origin}/oidc/device?user_code=${encodeURIComponent(value)}`),
      fetch(`${running.origin}/oidc/interaction/${encodeURIComponent(value)}`),
      fetch(`${running.origin}/oidc/device/${encodeURIComponent(value)}`),
      fetch(`${running.origin}/oidc/auth`, {
        headers: { cookie: `gpuaas_oidc=${encodeURIComponent(value.slice(0, 500))}` },
      }),
    ]);
    for (const answer of answers)
      assert.ok(answer.status < 500, `${answer.url} ${answer.status} ${value.slice(0, 20)}`);
  }
});
