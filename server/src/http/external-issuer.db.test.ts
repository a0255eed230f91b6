import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { until } from '../../test/until.ts';

const PUBLIC_URL = 'https://console.example';
const SECRET = 'a secret: with+signs';

/** As in production, except for the issuer's own TLS: our TLS ends in front, so requests are injected behind it. */
describe('signing in with an external issuer, behind https', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let test: TestApp;

  before(async () => {
    const env = { GPUAAS_OIDC_CONSOLE_CLIENT_SECRET: SECRET, GPUAAS_PUBLIC_URL: PUBLIC_URL };
    test = await startTestApp(t, {}, { env });
  });
  after(async () => {
    for (const close of closers) await close();
  });
  beforeEach(() => test.issuer.setDown(false));

  const get = (url: string, cookie = '') =>
    test.app.http.inject({ method: 'GET', url, headers: { cookie, host: 'console.example' } });
  const cookiesOf = (answer: Awaited<ReturnType<typeof get>>) => [answer.headers['set-cookie'] ?? []].flat();

  const begin = async () => {
    const answer = await get('/auth/sign-in?return_to=/launch');
    assert.equal(answer.statusCode, 303, answer.body);
    const asked = new URL(String(answer.headers.location));
    const [cookie = ''] = cookiesOf(answer);
    return {
      asked: asked.searchParams,
      to: `${asked.origin}${asked.pathname}`,
      cookie,
      sent: cookie.split(';')[0] ?? '',
    };
  };
  /** The issuer returns tokens with the nonce of the request. */
  const gives = (nonce: string | null, access: Record<string, unknown> = {}) => {
    const seen: { form: URLSearchParams; authorization: string }[] = [];
    test.issuer.token.answer = async (form, authorization) => {
      seen.push({ form, authorization });
      return {
        status: 200,
        body: {
          token_type: 'Bearer',
          expires_in: 600,
          access_token: await test.issuer.sign({ sub: 'ada', ...access }),
          id_token: await test.issuer.sign({ sub: 'ada', aud: 'gpuaas-console', nonce }),
        },
      };
    };
    return seen;
  };
  const back = ({ asked, sent }: Awaited<ReturnType<typeof begin>>) =>
    get(`/auth/callback?code=c-1&state=${asked.get('state')}`, sent);

  it('redeems the code as a confidential client with its verifier, and sets cookies for https only', async () => {
    const begun = await begin();
    assert.equal(begun.to, `${test.issuer.url}/authorize`);
    assert.match(
      begun.cookie,
      /^__Host-gpuaas_sign_in_[\w-]{16}=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    );
    const seen = gives(begun.asked.get('nonce'));
    const answer = await back(begun);
    assert.deepEqual([answer.statusCode, answer.headers.location], [303, `${PUBLIC_URL}/launch`], answer.body);
    const session = cookiesOf(answer).find((line) => line.includes('session')) ?? '';
    assert.match(
      session,
      /^__Host-gpuaas_session=gpuaas_ws_[\w-]{43}; Path=\/; Max-Age=86400; HttpOnly; SameSite=Lax; Secure$/,
    );
    assert.match(String(answer.headers['strict-transport-security']), /max-age=31536000/);
    const [{ form, authorization } = { form: new URLSearchParams(), authorization: '' }] = seen;
    assert.deepEqual(
      [form.get('grant_type'), form.get('code'), form.get('redirect_uri'), form.has('client_secret')],
      ['authorization_code', 'c-1', `${PUBLIC_URL}/auth/callback`, false],
    );
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    assert.equal(challenge, begun.asked.get('code_challenge'));
    const basic = Buffer.from(authorization.slice('Basic '.length), 'base64').toString().split(':');
    assert.deepEqual(
      basic.map((part) => new URLSearchParams(`part=${part}`).get('part')),
      ['gpuaas-console', SECRET],
    );

    const sent = session.split(';')[0] ?? '';
    assert.equal((await get('/api/v1/me', sent)).json().credential.kind, 'web_session');
    const plain = sent.replace('__Host-', '');
    assert.equal((await get('/api/v1/me', plain)).statusCode, 401, 'a cookie that http could plant does not count');
    const out = await test.app.http.inject({
      method: 'POST',
      url: '/auth/sign-out',
      headers: { cookie: sent, origin: PUBLIC_URL, 'x-gpuaas-console': '1' },
    });
    assert.deepEqual(out.json(), { redirect_to: '/signed-out' }, 'this issuer has no page to sign out');
  });

  it('distinguishes an unreachable issuer from one that refuses, and creates no session', async () => {
    const begun = await begin();
    const outcomes: Record<string, unknown> = {};
    const shown = async (what: string) => {
      const answer = await back(begun);
      assert.deepEqual(
        cookiesOf(answer).filter((line) => line.includes('session')),
        [],
      );
      assert.ok(answer.body.includes(String(answer.headers['x-correlation-id'])), what);
      const [, sentence] = /<h1>[^<]*<\/h1>\n<p>([^<]*)<\/p>/.exec(answer.body) ?? [];
      outcomes[what] = [answer.statusCode, sentence];
    };
    test.issuer.setDown(true);
    await shown('down');
    test.issuer.setDown(false);
    test.issuer.token.answer = async () => ({
      status: 401,
      body: { error: 'invalid_client', error_description: 'hush' },
    });
    await shown('misconfigured');
    test.issuer.token.answer = async () => ({ status: 400, body: { error: 'invalid_grant' } });
    await shown('used');
    gives('another nonce');
    await shown('another nonce');
    gives(begun.asked.get('nonce'), { aud: 'another-api' });
    await shown('another audience');
    assert.deepEqual(outcomes, {
      down: [503, 'The identity provider cannot be reached right now.'],
      misconfigured: [
        500,
        'The identity provider does not accept this installation. An operator must check its client settings.',
      ],
      used: [400, 'This sign-in was already used or timed out.'],
      'another nonce': [400, 'The response of the identity provider does not belong to this sign-in.'],
      'another audience': [403, 'The token is for another audience.'],
    });
    const [logged] = test.logs.filter((line) => String(line['internal']).includes('invalid_client'));
    assert.equal(logged?.['level'], 'error', 'the operator reads what the person does not');
  });

  it('refuses immediately when the issuer returns an error, without repeating its text', async () => {
    const begun = await begin();
    const query = new URLSearchParams({
      error: 'login_required<script>',
      error_description: '<script>alert(1)</script>',
      state: begun.asked.get('state') ?? '',
    });
    const answer = await get(`/auth/callback?${query}`, begun.sent);
    assert.equal(answer.statusCode, 403);
    assert.doesNotMatch(answer.body, /script/);
  });

  it('reports an unreachable issuer at the start, and starts once it is reachable', async (t) => {
    const other = await startTestApp(t, {}, { env: { GPUAAS_PUBLIC_URL: PUBLIC_URL } });
    const ask = () => other.app.http.inject({ method: 'GET', url: '/auth/sign-in?return_to=/launch' });
    other.issuer.setDown(true);
    const refused = await ask();
    assert.deepEqual([refused.statusCode, refused.headers['retry-after'], cookiesOf(refused)], [503, '2', []]);
    assert.match(refused.body, /cannot be reached right now/);
    assert.match(refused.body, /href="\/auth\/sign-in\?return_to=%2Flaunch"/);
    other.issuer.setDown(false);
    await until('it is asked again', async () => (await ask()).statusCode === 303);
  });
});
