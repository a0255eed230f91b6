/** What a browser holds after a sign-in, and what the embedded issuer gives out, is nowhere in plain text. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { scanDatabase, secretsIn } from '../../test/canary.ts';
import { startConsoleApp } from '../../test/console.ts';
import { DEV_GRANT, PASSWORD, SCOPE } from '../../test/embedded-issuer.ts';
import { until } from '../../test/until.ts';
import { loadSigningKeys } from '../identity/issuer/keys.ts';

it('no cookie of a web session and no token of the embedded issuer is found in a dump, an event, an audit row or a log line', async (t) => {
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers) await close();
  });
  const at = await startConsoleApp({ after: (fn) => void closers.unshift(fn) });
  const signed = await at.signed();
  assert.equal((await signed.call('GET', '/api/v1/me')).status, 200);
  const granted = await fetch(`${at.origin}/oidc/token`, {
    method: 'POST',
    body: new URLSearchParams({
      ...{ grant_type: DEV_GRANT, client_id: 'gpuaas-cli', scope: SCOPE, username: 'dev-user', password: PASSWORD },
    }),
  });
  const tokens = (await granted.json()) as Readonly<Record<string, string>>;
  assert.equal(granted.status, 200, JSON.stringify(tokens));
  const asBearer = (token: string) =>
    fetch(`${at.origin}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } }).then(({ status }) => status);
  assert.equal(await asBearer(tokens['access_token'] ?? ''), 200);

  // Refused ones, in every place in which a request may carry them.
  const [cookie, bearer, code] = ['cookie', 'bearer', 'code'].map(
    (name) => `${name}${randomBytes(16).toString('hex')}`,
  );
  assert.equal((await at.holder(cookie ?? '')('GET', '/api/v1/me')).status, 401);
  assert.equal(await asBearer(bearer ?? ''), 401);
  await fetch(`${at.origin}/auth/callback?code=${code}&state=x`, { redirect: 'manual' });
  await fetch(`${at.origin}/oidc/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'refresh_token', client_id: 'gpuaas-cli', refresh_token: code ?? '' }),
  });

  const leaver = await at.signed('dev-user', at.browser());
  assert.ok((await leaver.call('POST', '/auth/sign-out')).status < 400);
  const signing = await loadSigningKeys(at.test.db.database, at.test.app.deps.secrets);
  const halves = signing.flatMap((key) =>
    (['d', 'p', 'q', 'dp', 'dq', 'qi'] as const).map((part) => [part, key[part]]),
  );
  assert.ok(halves.length >= 6);
  const secrets: Record<string, string> = {
    ...Object.fromEntries(halves.map(([part, value]) => [`signing key ${part}`, value ?? ''])),
    ...{ cookie: cookie ?? '', bearer: bearer ?? '', code: code ?? '', password: PASSWORD },
    ...{ session: signed.token, ended_session: leaver.token },
    ...Object.fromEntries(
      [...signed.browser.cookies]
        .map(([name, { value }]) => [`cookie ${name}`, value] as const)
        .filter(([, value]) => value.length > 16),
    ),
    ...Object.fromEntries(['access_token', 'refresh_token'].map((name) => [name, tokens[name] ?? ''])),
  };
  for (const [name, secret] of Object.entries(secrets)) assert.ok(secret.length > 16, `${name} is a secret`);
  assert.ok(
    Object.keys(secrets).some((name) => name.startsWith('cookie _') || name.includes('oidc')),
    Object.keys(secrets).join(),
  );
  await until('the log of the refusals', () => at.test.logs.some(({ status }) => status === 401));
  assert.deepEqual(await scanDatabase(at.sql, secrets), []);
  assert.deepEqual(secretsIn(JSON.stringify(at.test.logs), secrets), []);
  for (const path of ['/oidc/jwks', '/oidc/.well-known/openid-configuration', '/api/v1/platform', '/']) {
    const answer = await fetch(`${at.origin}${path}`);
    assert.ok(answer.status < 500, path);
    assert.deepEqual(secretsIn(await answer.text(), secrets), [], path);
  }
});
