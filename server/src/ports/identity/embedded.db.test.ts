import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mock, type TestContext, test } from 'node:test';
import { type Clock, createLog, silentLog } from '@gpuaas/kit';
import Fastify from 'fastify';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as client from 'openid-client';
import { Browser, type Page } from '../../../test/browser.ts';
import { type TestDatabase, testDatabase } from '../../../test/database.ts';
import { createDatabase, type Database } from '../../db/client.ts';
import { createSecrets } from '../secrets/secrets.ts';
import { createEmbeddedIssuer, type EmbeddedIssuer, type EmbeddedIssuerOptions } from './embedded.ts';
import { rotateSigningKey } from './keys.ts';
import { createTokenVerifier } from './verifier.ts';

const PASSWORD = 'correct horse battery';
const SCOPE = 'openid profile email offline_access';
const DEV_GRANT = 'urn:gpuaas:grant:dev';
const secrets = createSecrets(randomBytes(32));

type Running = Readonly<{
  origin: string;
  issuer: EmbeddedIssuer;
  database: TestDatabase;
  options: EmbeddedIssuerOptions;
  logged: string[];
  browser: Browser;
  /** An application of ours, as openid-client sees the issuer. */
  relyingParty(clientId: string): Promise<client.Configuration>;
  close(): Promise<void>;
}>;

/** The issuer mounted in Fastify on loopback, the way the server mounts it. */
const start = async (
  t: TestContext,
  given: Readonly<{ database?: TestDatabase; clock?: Clock; through?: (database: Database) => Database }> = {},
): Promise<Running> => {
  const database = given.database ?? (await testDatabase(t));
  const app = Fastify();
  const logged: string[] = [];
  const log = createLog({
    service: 'test',
    host_role: 'platform_control',
    level: 'debug',
    destination: { write: (line) => void logged.push(line) },
  });
  let issuer: EmbeddedIssuer | undefined;
  app.route({
    method: ['GET', 'HEAD', 'POST', 'OPTIONS'],
    url: '/oidc/*',
    onRequest: (request, reply) => {
      reply.hijack();
      issuer?.callback()(request.raw, reply.raw);
    },
    handler: () => undefined,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    app.server.closeAllConnections();
    await app.close();
  };
  t.after(close);
  const address = app.server.address();
  const origin = `http://localhost:${typeof address === 'object' ? address?.port : ''}`;
  const options: EmbeddedIssuerOptions = {
    issuerUrl: `${origin}/oidc`,
    database: given.through?.(database.database) ?? database.database,
    secrets,
    audience: 'gpuaas-api',
    consoleClientId: 'gpuaas-console',
    cliClientId: 'gpuaas-cli',
    consoleRedirectUris: [`${origin}/`, `${origin}/callback`],
    password: PASSWORD,
    log,
    mode: 'development',
    externalIssuer: null,
    ...(given.clock === undefined ? {} : { clock: given.clock }),
  };
  issuer = await createEmbeddedIssuer(options);
  return {
    origin,
    issuer,
    database,
    options,
    logged,
    close,
    browser: new Browser(origin),
    relyingParty: (clientId) =>
      client.discovery(new URL(`${origin}/oidc`), clientId, undefined, client.None(), {
        execute: [client.allowInsecureRequests],
      }),
  };
};

const verify = (running: Running, jwt: string) =>
  createTokenVerifier({ issuer: running.issuer.issuerUrl, audience: 'gpuaas-api', log: silentLog() }).verify(jwt);

type CodeRequest = Readonly<{ config: client.Configuration; verifier: string; url: URL; redirectUri: string }>;

const codeRequest = async (
  running: Running,
  redirectUri: string,
  extra: Record<string, string> = {},
): Promise<CodeRequest> => {
  const config = await running.relyingParty('gpuaas-console');
  const verifier = client.randomPKCECodeVerifier();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: SCOPE,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: 'state-1',
    nonce: 'nonce-1',
    ...extra,
  });
  return { config, verifier, url, redirectUri };
};

const redeem = (request: CodeRequest, leftTo: string | null) =>
  client.authorizationCodeGrant(request.config, new URL(leftTo ?? ''), {
    pkceCodeVerifier: request.verifier,
    expectedState: 'state-1',
    expectedNonce: 'nonce-1',
  });

const signIn = (running: Running, page: Page, username = 'dev-user', password = PASSWORD) =>
  running.browser.submit(page, { username, password });

const signInToConsole = async (running: Running, username = 'dev-user') => {
  const request = await codeRequest(running, `${running.origin}/callback`);
  const page = await running.browser.open(request.url.href);
  const { leftTo } = await signIn(running, page, username);
  return { request, tokens: await redeem(request, leftTo) };
};

const devLogin = async (running: Running, username: string, password: string) =>
  client.genericGrantRequest(await running.relyingParty('gpuaas-cli'), DEV_GRANT, { username, password });

const oauthError = (code: string, sentence?: RegExp) => (err: unknown) => {
  assert.ok(err instanceof client.ResponseBodyError, String(err));
  assert.equal(err.error, code);
  if (sentence !== undefined) assert.match(err.error_description ?? '', sentence);
  return true;
};

test('signing in by code with PKCE gives an access token for the API, an id token and a refresh token', async (t) => {
  const running = await start(t);
  const request = await codeRequest(running, `${running.origin}/callback`);
  const page = await running.browser.open(request.url.href);
  assert.equal(page.status, 200);
  assert.match(page.text, /<label for="username">/);
  assert.match(page.text, /GPUaaS console/);
  const { leftTo } = await signIn(running, page, 'dev-admin');
  const tokens = await redeem(request, leftTo);
  assert.equal(tokens.expires_in, 600);
  assert.equal(decodeProtectedHeader(tokens.access_token).alg, 'RS256');
  const token = await verify(running, tokens.access_token);
  assert.equal(token.issuer, running.issuer.issuerUrl);
  assert.equal(token.subject, 'dev-admin');
  assert.equal(token.email, 'dev-admin@gpuaas.local');
  assert.equal(token.email_verified, true);
  assert.equal(tokens.claims()?.['email'], 'dev-admin@gpuaas.local');
  assert.ok(tokens.refresh_token);
  await assert.rejects(verify(running, tokens.id_token ?? ''), /another audience/);

  const again = await codeRequest(running, `${running.origin}/`);
  const silent = await running.browser.open(again.url.href);
  assert.ok(silent.leftTo?.startsWith(`${running.origin}/?code=`), 'a signed-in browser is not asked again');
});

test('a code works once and only with its verifier', async (t) => {
  const running = await start(t);
  const request = await codeRequest(running, `${running.origin}/callback`);
  const { leftTo } = await signIn(running, await running.browser.open(request.url.href));
  await assert.rejects(
    redeem({ ...request, verifier: client.randomPKCECodeVerifier() }, leftTo),
    oauthError('invalid_grant'),
  );
  const fresh = await codeRequest(running, `${running.origin}/callback`);
  const back = await running.browser.open(fresh.url.href);
  const tokens = await redeem(fresh, back.leftTo);
  await assert.rejects(redeem(fresh, back.leftTo), oauthError('invalid_grant'));
  await assert.rejects(
    client.refreshTokenGrant(fresh.config, tokens.refresh_token ?? ''),
    oauthError('invalid_grant'),
    'tokens of a code that was used twice end',
  );
});

test('a request without PKCE, with plain PKCE or to an unknown address gets no code', async (t) => {
  const running = await start(t);
  const { url } = await codeRequest(running, `${running.origin}/callback`);
  const without = new URL(url);
  without.searchParams.delete('code_challenge');
  without.searchParams.delete('code_challenge_method');
  assert.match((await running.browser.open(without.href)).leftTo ?? '', /error=invalid_request.*PKCE/);
  const plain = new URL(url);
  plain.searchParams.set('code_challenge_method', 'plain');
  assert.match((await running.browser.open(plain.href)).leftTo ?? '', /error=invalid_request/);
  for (const elsewhere of [
    'https://evil.example/callback',
    `${running.origin}/other`,
    'http://127.0.0.1.evil.example/callback',
    'http://127.0.0.1:5000/other',
    'http://user@127.0.0.1:5000/callback',
    'http://127.0.0.1:5000/callback?x=1',
  ]) {
    const stray = new URL(url);
    stray.searchParams.set('redirect_uri', elsewhere);
    const page = await running.browser.open(stray.href);
    assert.deepEqual([page.status, page.leftTo], [400, null], elsewhere);
    assert.match(page.text, /invalid_redirect_uri/);
  }
});

test('a program on this machine may receive the code on any loopback port', async (t) => {
  const running = await start(t);
  const request = await codeRequest(running, 'http://127.0.0.1:49152/callback');
  const page = await running.browser.open(request.url.href);
  assert.match(page.headers.get('content-security-policy') ?? '', /form-action 'self' http:\/\/127\.0\.0\.1:49152;/);
  const { leftTo } = await signIn(running, page);
  assert.ok(leftTo?.startsWith('http://127.0.0.1:49152/callback?code='));
  assert.equal((await verify(running, (await redeem(request, leftTo)).access_token)).subject, 'dev-user');
});

test('a wrong password or name is refused on the page with the reason, and can be corrected', async (t) => {
  const running = await start(t);
  const request = await codeRequest(running, `${running.origin}/callback`);
  let page = await running.browser.open(request.url.href);
  for (const [username, password] of [
    ['dev-user', 'wrong'],
    ['nobody"><script>', PASSWORD],
    ['dev-user', ''],
  ] as const) {
    page = await signIn(running, page, username, password);
    assert.equal(page.status, 400);
    assert.match(page.text, /role="alert">The username or password is wrong\./);
    assert.doesNotMatch(page.text, /<script/);
  }
  const { leftTo } = await signIn(running, page);
  assert.match(leftTo ?? '', /code=/);
  assert.doesNotMatch(running.logged.join(), new RegExp(PASSWORD));
});

test('guessing is slowed down, on the page and for the development grant alike', async (t) => {
  let at = Date.now();
  const running = await start(t, { clock: { now: () => new Date(at) } });
  const request = await codeRequest(running, `${running.origin}/callback`);
  let page = await running.browser.open(request.url.href);
  for (let i = 0; i < 5; i++) page = await signIn(running, page, 'dev-user', `guess ${i}`);
  page = await signIn(running, page);
  assert.equal(page.status, 429);
  assert.equal(page.headers.get('retry-after'), '1');
  assert.match(page.text, /Too many wrong passwords/);
  await assert.rejects(devLogin(running, 'dev-user', PASSWORD), oauthError('slow_down', /Wait 1 s/));
  at += 1_000;
  assert.match((await signIn(running, page)).leftTo ?? '', /code=/);
});

test('a sign-in form that did not come from its page is refused', async (t) => {
  const running = await start(t);
  const request = await codeRequest(running, `${running.origin}/callback`);
  const page = await running.browser.open(request.url.href);
  const form = (csrf: string) => new URLSearchParams({ csrf, username: 'dev-user', password: PASSWORD });
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
  assert.equal((await running.browser.open(page.url, { form: form('') })).status, 400);
  assert.equal((await running.browser.open(page.url, { form: form('A'.repeat(43)) })).status, 400);
  const headers = { origin: 'https://evil.example' };
  assert.equal((await running.browser.open(page.url, { form: form(csrf), headers })).status, 400);
  const stranger = new Browser(running.origin);
  const refused = await stranger.open(page.url, { form: form(csrf) });
  assert.match(refused.text, /Sign-in expired/);
  assert.match((await running.browser.open(page.url, { form: form(csrf) })).leftTo ?? '', /code=/);
});

test('cancelling the sign-in returns to the application with access_denied', async (t) => {
  const running = await start(t);
  const request = await codeRequest(running, `${running.origin}/callback`);
  const page = await running.browser.open(request.url.href);
  const { leftTo } = await running.browser.submit(page, {}, 'cancel');
  assert.match(leftTo ?? '', /error=access_denied/);
});

test('an application that asks for consent gets it without a screen', async (t) => {
  const running = await start(t);
  const request = await codeRequest(running, `${running.origin}/callback`, { prompt: 'consent' });
  const { leftTo } = await signIn(running, await running.browser.open(request.url.href));
  assert.ok((await redeem(request, leftTo)).refresh_token);
});

test('the device flow signs a terminal in after the person compared and allowed the code', async (t) => {
  const running = await start(t);
  const config = await running.relyingParty('gpuaas-cli');
  const device = await client.initiateDeviceAuthorization(config, { scope: SCOPE });
  assert.equal(device.verification_uri, `${running.origin}/oidc/device`);
  const poll = () =>
    client.genericGrantRequest(config, 'urn:ietf:params:oauth:grant-type:device_code', {
      device_code: device.device_code,
    });
  await assert.rejects(poll(), oauthError('authorization_pending'));

  const enter = await running.browser.open(device.verification_uri);
  const wrong = await running.browser.submit(enter, { user_code: 'AAAA-BBBB' });
  assert.match(wrong.text, /There is no such code/);
  const confirm = await running.browser.submit(wrong, { user_code: device.user_code.toLowerCase() });
  assert.match(confirm.text, new RegExp(`<code class="user-code">${device.user_code}</code>`));
  assert.match(confirm.text, /GPUaaS command line/);
  await assert.rejects(poll(), oauthError('authorization_pending'));
  const done = await signIn(running, await running.browser.submit(confirm));
  assert.match(done.text, /You are signed in/);

  const tokens = await client.pollDeviceAuthorizationGrant(config, { ...device, interval: 0 });
  assert.equal((await verify(running, tokens.access_token)).subject, 'dev-user');
  assert.ok(tokens.refresh_token);
  const reused = await running.browser.submit(await running.browser.open(device.verification_uri), {
    user_code: device.user_code,
  });
  assert.match(reused.text, /used already/);
  await assert.rejects(poll(), oauthError('invalid_grant'));
});

test('a link with the code leads straight to the question, and no ends it', async (t) => {
  const running = await start(t);
  const config = await running.relyingParty('gpuaas-cli');
  const device = await client.initiateDeviceAuthorization(config, { scope: SCOPE });
  const confirm = await running.browser.open(device.verification_uri_complete ?? '');
  assert.match(confirm.text, /Allow this device\?/);
  assert.match(confirm.text, new RegExp(device.user_code));
  const denied = await running.browser.submit(confirm, {}, 'abort');
  assert.match(denied.text, /was not allowed/);
  await assert.rejects(
    client.pollDeviceAuthorizationGrant(config, { ...device, interval: 0 }),
    oauthError('access_denied'),
  );
  const stale = await running.browser.open(device.verification_uri_complete ?? '');
  assert.match(stale.text, /role="alert"/);
});

test('a refresh token is replaced at each use, and using an old one ends them all', async (t) => {
  const running = await start(t);
  const config = await running.relyingParty('gpuaas-cli');
  const first = await devLogin(running, 'dev-user', PASSWORD);
  const other = await devLogin(running, 'dev-user', PASSWORD);
  const second = await client.refreshTokenGrant(config, first.refresh_token ?? '');
  assert.notEqual(second.refresh_token, first.refresh_token);
  assert.equal((await verify(running, second.access_token)).email, 'dev-user@gpuaas.local');
  const third = await client.refreshTokenGrant(config, second.refresh_token ?? '');
  await assert.rejects(client.refreshTokenGrant(config, first.refresh_token ?? ''), oauthError('invalid_grant'));
  await assert.rejects(client.refreshTokenGrant(config, third.refresh_token ?? ''), oauthError('invalid_grant'));
  await client.refreshTokenGrant(config, other.refresh_token ?? '');
});

test('of two requests that use one refresh token at the same time, one wins', async (t) => {
  const running = await start(t);
  const config = await running.relyingParty('gpuaas-cli');
  const { refresh_token: refreshToken = '' } = await devLogin(running, 'dev-user', PASSWORD);
  const results = await Promise.allSettled(
    Array.from({ length: 6 }, () => client.refreshTokenGrant(config, refreshToken)),
  );
  assert.ok(results.filter((result) => result.status === 'fulfilled').length <= 1);
});

test('a revoked refresh token is worth nothing', async (t) => {
  const running = await start(t);
  const config = await running.relyingParty('gpuaas-cli');
  const { refresh_token: refreshToken = '' } = await devLogin(running, 'dev-user', PASSWORD);
  await client.tokenRevocation(config, refreshToken, { token_type_hint: 'refresh_token' });
  await assert.rejects(client.refreshTokenGrant(config, refreshToken), oauthError('invalid_grant'));
});

test('name and password give tokens to the command line only', async (t) => {
  const running = await start(t);
  const tokens = await devLogin(running, 'dev-admin', PASSWORD);
  const token = await verify(running, tokens.access_token);
  assert.deepEqual([token.subject, token.email, token.email_verified], ['dev-admin', 'dev-admin@gpuaas.local', true]);
  assert.equal(tokens.expires_in, 600);
  assert.ok(tokens.refresh_token);
  await assert.rejects(devLogin(running, 'dev-admin', 'wrong'), oauthError('invalid_grant', /username or password/));
  await assert.rejects(devLogin(running, 'nobody\u0000', PASSWORD), oauthError('invalid_grant'));
  const web = await running.relyingParty('gpuaas-console');
  await assert.rejects(
    client.genericGrantRequest(web, DEV_GRANT, { username: 'dev-admin', password: PASSWORD }),
    oauthError('invalid_request', /not allowed for this client/),
  );
});

test('signing out ends the session and the console tokens, and a terminal stays signed in', async (t) => {
  const running = await start(t);
  const { request, tokens } = await signInToConsole(running);
  const cli = await running.relyingParty('gpuaas-cli');
  const device = await client.initiateDeviceAuthorization(cli, { scope: SCOPE });
  const allowed = await running.browser.submit(await running.browser.open(device.verification_uri_complete ?? ''));
  assert.match(allowed.text, /You are signed in/);
  const terminal = await client.pollDeviceAuthorizationGrant(cli, { ...device, interval: 0 });

  const end = client.buildEndSessionUrl(request.config, {
    post_logout_redirect_uri: `${running.origin}/`,
    id_token_hint: tokens.id_token ?? '',
  });
  const question = await running.browser.open(end.href);
  assert.match(question.text, /Sign out\?/);
  const out = await running.browser.submit(question, {}, 'logout');
  assert.equal(out.leftTo, `${running.origin}/`);
  await assert.rejects(
    client.refreshTokenGrant(request.config, tokens.refresh_token ?? ''),
    oauthError('invalid_grant'),
  );
  await client.refreshTokenGrant(cli, terminal.refresh_token ?? '');
  const again = await running.browser.open((await codeRequest(running, `${running.origin}/`)).url.href);
  assert.match(again.text, /<label for="password">/);

  const twice = await running.browser.open(end.href);
  assert.match(twice.text, /One more step/);
  assert.equal((await running.browser.submit(twice)).leftTo, `${running.origin}/`);
});

test('restarts and replicas share keys and sessions, and a rotated key still verifies what it signed', async (t) => {
  const database = await testDatabase(t);
  const first = await start(t, { database });
  const { tokens } = await signInToConsole(first);
  const kid = decodeProtectedHeader(tokens.access_token).kid;

  const again = await createEmbeddedIssuer(first.options);
  const offline = (issuer: EmbeddedIssuer) =>
    createTokenVerifier({ issuer: issuer.issuerUrl, audience: 'gpuaas-api', log: silentLog(), fetch: issuer.fetch });
  assert.equal((await offline(again).verify(tokens.access_token)).subject, 'dev-user');

  await rotateSigningKey(database.database, secrets);
  const second = await start(t, { database });
  const fresh = await devLogin(second, 'dev-user', PASSWORD);
  assert.notEqual(decodeProtectedHeader(fresh.access_token).kid, kid);
  await verify(second, fresh.access_token);
  const rotated = await createEmbeddedIssuer(first.options);
  assert.equal((await offline(rotated).verify(tokens.access_token)).subject, 'dev-user');
});

test('replicas that start at once agree on one key', async (t) => {
  const { database } = await testDatabase(t);
  const options = (await start(t)).options;
  const issuers = await Promise.all(Array.from({ length: 4 }, () => createEmbeddedIssuer({ ...options, database })));
  const sets = await Promise.all(
    issuers.map(async (issuer) => (await issuer.fetch(`${issuer.issuerUrl}/jwks`)).text()),
  );
  assert.equal(new Set(sets).size, 1);
  assert.equal(JSON.parse(sets[0] ?? '').keys.length, 1);
  assert.doesNotMatch(sets[0] ?? '', /"(d|p|q|dp|dq|qi)":/);
});

test('the database holds no token, code or private key that could be used', async (t) => {
  const running = await start(t);
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

test('every page is served with a strict policy, without script, and cookies that fit plain http', async (t) => {
  const running = await start(t);
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

test('addresses come from the issuer URL whatever host a request names', async (t) => {
  const running = await start(t);
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
  const running = await start(t);
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

test('the issuer prints nothing; what it has to say goes to the log', async (t) => {
  const methods = (['log', 'info', 'warn', 'error'] as const).map((name) =>
    mock.method(console, name, () => undefined),
  );
  t.after(() => mock.restoreAll());
  const running = await start(t);
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

test('a database that is away makes the issuer unavailable, not broken', async (t) => {
  const away = createDatabase({ url: 'postgres://nobody@127.0.0.1:9/none', log: silentLog() });
  t.after(() => away.end());
  let current: Database | undefined;
  const running = await start(t, {
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
  const { options } = await start(t);
  await assert.rejects(createEmbeddedIssuer({ ...options, mode: 'production' }), /does not run in production/);
  await assert.rejects(
    createEmbeddedIssuer({ ...options, externalIssuer: 'https://sso.example' }),
    /does not run beside https:\/\/sso\.example/,
  );
});

test('garbage in tokens, codes and forms is refused, never an internal error', async (t) => {
  const running = await start(t);
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

test('a token says when it ends and for which application it was made', async (t) => {
  const running = await start(t);
  const claims = decodeJwt((await devLogin(running, 'dev-user', PASSWORD)).access_token);
  assert.equal((claims.exp ?? 0) - (claims.iat ?? 0), 600);
  assert.deepEqual([claims.aud, claims['client_id']], ['gpuaas-api', 'gpuaas-cli']);
});
