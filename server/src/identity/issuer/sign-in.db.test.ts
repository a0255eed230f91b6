import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeProtectedHeader } from 'jose';
import * as client from 'openid-client';
import { Browser } from '../../../test/browser.ts';
import {
  codeRequest,
  devLogin,
  oauthError,
  PASSWORD,
  redeem,
  signIn,
  signInToConsole,
  startIssuer,
  verify,
} from '../../../test/embedded-issuer.ts';

test('signing in by code with PKCE gives an access token for the API, an id token and a refresh token', async (t) => {
  const running = await startIssuer(t);
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
  const running = await startIssuer(t);
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
  const running = await startIssuer(t);
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

test('a local program may receive the code on any loopback port', async (t) => {
  const running = await startIssuer(t);
  const request = await codeRequest(running, 'http://127.0.0.1:49152/callback');
  const page = await running.browser.open(request.url.href);
  assert.match(page.headers.get('content-security-policy') ?? '', /form-action 'self' http:\/\/127\.0\.0\.1:49152;/);
  const { leftTo } = await signIn(running, page);
  assert.ok(leftTo?.startsWith('http://127.0.0.1:49152/callback?code='));
  assert.equal((await verify(running, (await redeem(request, leftTo)).access_token)).subject, 'dev-user');
});

test('a wrong password or name is refused on the page with the reason, and can be corrected', async (t) => {
  const running = await startIssuer(t);
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

test('guessing is slowed down, on the page and for the development grant', async (t) => {
  let at = Date.now();
  const running = await startIssuer(t, { clock: { now: () => new Date(at) } });
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
  const running = await startIssuer(t);
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
  const running = await startIssuer(t);
  const request = await codeRequest(running, `${running.origin}/callback`);
  const page = await running.browser.open(request.url.href);
  const { leftTo } = await running.browser.submit(page, {}, 'cancel');
  assert.match(leftTo ?? '', /error=access_denied/);
});

test('another user may sign in over the first, after one visible step', async (t) => {
  const running = await startIssuer(t);
  await signInToConsole(running, 'dev-user');
  const request = await codeRequest(running, 'http://127.0.0.1:49152/callback', { prompt: 'login' });
  const step = await signIn(running, await running.browser.open(request.url.href), 'dev-admin');
  assert.match(step.text, /One more step/);
  assert.match(step.headers.get('content-security-policy') ?? '', /form-action 'self' http:\/\/127\.0\.0\.1:49152;/);
  const { leftTo } = await running.browser.submit(step);
  assert.equal((await verify(running, (await redeem(request, leftTo)).access_token)).subject, 'dev-admin');
});

test('an application that asks for consent gets it without a screen', async (t) => {
  const running = await startIssuer(t);
  const request = await codeRequest(running, `${running.origin}/callback`, { prompt: 'consent' });
  const { leftTo } = await signIn(running, await running.browser.open(request.url.href));
  assert.ok((await redeem(request, leftTo)).refresh_token);
});

test('a session is enough within max_age, not for an older one or prompt=login, and the tokens state the sign-in', async (t) => {
  const running = await startIssuer(t);
  const { tokens } = await signInToConsole(running);
  assert.ok(Math.abs(Date.now() / 1000 - Number(tokens.claims()?.['auth_time'])) < 600);
  const reuse = await codeRequest(running, `${running.origin}/callback`, { max_age: '900' });
  const { leftTo } = await running.browser.open(reuse.url.href);
  assert.equal((await redeem(reuse, leftTo)).claims()?.['auth_time'], tokens.claims()?.['auth_time']);
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 3_600_000 });
  for (const extra of [{ max_age: '900' }, { max_age: '0' }, { prompt: 'login' }]) {
    const request = await codeRequest(running, `${running.origin}/callback`, extra);
    const page = await running.browser.open(request.url.href);
    assert.match(page.text, /name="password"/);
    const again = await redeem(request, (await signIn(running, page)).leftTo);
    const claims = again.claims();
    assert.ok(Number(claims?.['auth_time']) >= Number(tokens.claims()?.['auth_time']) + 3_600);
    const verified = await verify(running, again.access_token);
    assert.equal(verified.auth_time, new Date(Number(claims?.['auth_time']) * 1000).toISOString());
  }
});
