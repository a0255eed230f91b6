import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import {
  codeRequest,
  DEV_GRANT,
  devLogin,
  oauthError,
  PASSWORD,
  SCOPE,
  signIn,
  signInToConsole,
  startIssuer,
  verify,
} from '../../../test/embedded-issuer.ts';

test('the device flow signs a terminal in after the user compared and allowed the code', async (t) => {
  const running = await startIssuer(t);
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

test('a link with the code leads directly to the confirmation, and a denial ends the flow', async (t) => {
  const running = await startIssuer(t);
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

test('a refresh token is replaced at each use, and reuse of an old one ends them all', async (t) => {
  const running = await startIssuer(t);
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

test('a revoked refresh token is invalid', async (t) => {
  const running = await startIssuer(t);
  const config = await running.relyingParty('gpuaas-cli');
  const { refresh_token: refreshToken = '' } = await devLogin(running, 'dev-user', PASSWORD);
  await client.tokenRevocation(config, refreshToken, { token_type_hint: 'refresh_token' });
  await assert.rejects(client.refreshTokenGrant(config, refreshToken), oauthError('invalid_grant'));
});

test('user name and password give tokens to the CLI only', async (t) => {
  const running = await startIssuer(t);
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

test('signing out ends the session and the console tokens, and the CLI stays signed in', async (t) => {
  const running = await startIssuer(t);
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

test('a token states its expiry and its application', async (t) => {
  const running = await startIssuer(t);
  const claims = decodeJwt((await devLogin(running, 'dev-user', PASSWORD)).access_token);
  assert.equal((claims.exp ?? 0) - (claims.iat ?? 0), 600);
  assert.deepEqual([claims.aud, claims['client_id']], ['gpuaas-api', 'gpuaas-cli']);
});

test('a token states when its user signed in, and a refreshed one keeps that time', async (t) => {
  const signedInMs = Math.floor(Date.now() / 1000) * 1000 - 3_600_000;
  const running = await startIssuer(t, { clock: { now: () => new Date(signedInMs) } });
  const auth_time = new Date(signedInMs).toISOString();
  const tokens = await devLogin(running, 'dev-admin', PASSWORD);
  assert.equal((await verify(running, tokens.access_token)).auth_time, auth_time);
  const config = await running.relyingParty('gpuaas-cli');
  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '');
  assert.notEqual(refreshed.access_token, tokens.access_token);
  assert.equal((await verify(running, refreshed.access_token)).auth_time, auth_time);
});

test('a device that asks for a fresh sign-in is not approved by an earlier one', async (t) => {
  const running = await startIssuer(t);
  await signInToConsole(running, 'dev-admin');
  const config = await running.relyingParty('gpuaas-cli');
  const approve = async (parameters: Record<string, string>) => {
    const device = await client.initiateDeviceAuthorization(config, { scope: SCOPE, ...parameters });
    const confirm = await running.browser.open(device.verification_uri_complete ?? '');
    return { device, page: await running.browser.submit(confirm) };
  };
  assert.match((await approve({})).page.text, /You are signed in/, 'the session of the browser is enough');
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 });
  const { device, page } = await approve({ max_age: '1', prompt: 'login' });
  assert.match(page.text, /name="password"/);
  assert.match((await signIn(running, page, 'dev-admin')).text, /You are signed in/);
  const tokens = await client.pollDeviceAuthorizationGrant(config, { ...device, interval: 0 });
  assert.notEqual((await verify(running, tokens.access_token)).auth_time, null);
});
