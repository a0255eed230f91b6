import assert from 'node:assert/strict';
import { createHmac, createPublicKey } from 'node:crypto';
import { test } from 'node:test';
import { type Clock, silentLog } from '@gpuaas/kit';
import type { JWTPayload } from 'jose';
import { AUDIENCE, startTestIssuer, type TestIssuer } from '../../../test/issuer.ts';
import { AppError } from '../../errors.ts';
import { createTokenVerifier, type TokenVerifier, type TokenVerifierOptions } from './verifier.ts';

const CLIENTS = ['gpuaas-console', 'gpuaas-cli'];

const verifierFor = (issuer: TestIssuer, options: Partial<TokenVerifierOptions> = {}): TokenVerifier =>
  createTokenVerifier({ issuer: issuer.url, audience: AUDIENCE, clients: CLIENTS, log: silentLog(), ...options });

const refused = async (verifier: TokenVerifier, jwt: string, sentence: RegExp): Promise<void> => {
  await assert.rejects(verifier.verify(jwt), (err) => {
    assert.ok(err instanceof AppError);
    assert.equal(err.code, 'unauthenticated', err.message);
    assert.match(err.message, sentence);
    return true;
  });
};

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const now = (): number => Math.floor(Date.now() / 1000);

test('an access token of the issuer identifies its user', async (t) => {
  const issuer = await startTestIssuer(t);
  const exp = now() + 300;
  const token = await verifierFor(issuer).verify(await issuer.sign({ exp, auth_time: exp - 900, iat: exp - 300 }));
  assert.deepEqual(token, {
    issuer: issuer.url,
    subject: 'user-1',
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    email_verified: true,
    expires_at: new Date(exp * 1000).toISOString(),
    auth_time: new Date((exp - 900) * 1000).toISOString(),
    scopes: ['openid', 'email'],
    groups: 'absent',
    issued_at: new Date((exp - 300) * 1000).toISOString(),
  });
});

test('the groups of a user are a list of the configured claim, or not known', async (t) => {
  const issuer = await startTestIssuer(t);
  const verifier = verifierFor(issuer, { groups_claim: 'https://example.com/groups' });
  const groupsOf = async (claims: JWTPayload) => (await verifier.verify(await issuer.sign(claims))).groups;
  const given = (value: unknown) => groupsOf({ 'https://example.com/groups': value });
  assert.deepEqual(await given(['/b', '/a', '/b']), ['/a', '/b']);
  assert.deepEqual(await given('/a'), ['/a']);
  assert.deepEqual(await given([]), []);
  assert.equal(await groupsOf({ groups: ['/a'] }), 'absent');
  for (const value of [
    [''],
    [1],
    {},
    null,
    ['a\u0000'],
    ['x'.repeat(256)],
    Array.from({ length: 1001 }, (_, n) => `g${n}`),
  ])
    assert.equal(await given(value), 'unreadable', JSON.stringify(value).slice(0, 40));
  assert.equal(await groupsOf({ _claim_names: { 'https://example.com/groups': 'src1' } }), 'unreadable');
  assert.equal(await groupsOf({ _claim_names: { other: 'src1' } }), 'absent');
});

test('a token outside its validity or for another audience is refused with the reason', async (t) => {
  const issuer = await startTestIssuer(t);
  const verifier = verifierFor(issuer);
  await refused(verifier, await issuer.sign({ exp: now() - 60 }), /has expired/);
  await refused(verifier, await issuer.sign({ nbf: now() + 60 }), /not valid yet/);
  await refused(verifier, await issuer.sign({ iat: now() + 60 }), /issued in the future/);
  await refused(verifier, await issuer.sign({ aud: 'another-api' }), /another audience/);
  await refused(verifier, await issuer.sign({}, { omit: ['aud'] }), /another audience/);
  await refused(verifier, await issuer.sign({ iss: 'http://127.0.0.1:1' }), /another issuer/);
  await refused(verifier, await issuer.sign({}, { omit: ['iss'] }), /another issuer/);
  await refused(verifier, await issuer.sign({}, { omit: ['exp'] }), /no valid exp/);
  await refused(verifier, await issuer.sign({ exp: 1e300 }), /no valid exp/);
  await refused(verifier, await issuer.sign({}, { omit: ['sub'] }), /no valid sub/);
  await refused(verifier, await issuer.sign({ sub: 'a\u0000b' }), /no valid sub/);
  await refused(verifier, await issuer.sign({ cnf: { jkt: 'x' } }), /bound to a key/);
  assert.equal((await verifier.verify(await issuer.sign({ exp: now() - 2 }))).subject, 'user-1', 'small clock skew');
});

test('a token is refused if any client claim names an unknown client', async (t) => {
  const issuer = await startTestIssuer(t);
  const verifier = verifierFor(issuer);
  for (const claims of [
    { azp: 'another-app' },
    { client_id: 'another-app' },
    { appid: 'another-app' },
    { cid: 'another-app' },
    { azp: 'gpuaas-cli', client_id: 'another-app' },
    { azp: '' },
    { azp: ['gpuaas-cli'] },
    { azp: null },
  ])
    await refused(verifier, await issuer.sign(claims), /issued to another client/);
  for (const claims of [{}, { azp: 'gpuaas-cli' }, { client_id: 'gpuaas-console' }])
    assert.equal(
      (await verifier.verify(await issuer.sign({ ...claims, jti: JSON.stringify(claims) }))).subject,
      'user-1',
    );
});

test('a token that only claims to be signed is refused', async (t) => {
  const issuer = await startTestIssuer(t);
  const verifier = verifierFor(issuer);
  const good = await issuer.sign();
  const [header = '', payload = '', signature = ''] = good.split('.');

  await refused(verifier, `${encode({ alg: 'none' })}.${payload}.`, /algorithm/);
  await refused(verifier, `${encode({ alg: 'None', kid: 'key-1' })}.${payload}.${signature}`, /algorithm/);

  const spki = createPublicKey({ key: issuer.signer().jwk as object, format: 'jwk' } as never);
  const pem = spki.export({ type: 'spki', format: 'pem' });
  const hsHeader = encode({ alg: 'HS256', kid: 'key-1' });
  const mac = createHmac('sha256', pem).update(`${hsHeader}.${payload}`).digest('base64url');
  await refused(verifier, `${hsHeader}.${payload}.${mac}`, /algorithm/);

  const other = encode({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), sub: 'admin' });
  await refused(verifier, `${header}.${other}.${signature}`, /bad signature/);
  const impostor = await issuer.strangeSigner('key-1');
  await refused(verifier, await issuer.sign({}, { signer: impostor }), /bad signature/);
  const unknown = await issuer.strangeSigner('key-9');
  await refused(verifier, await issuer.sign({}, { signer: unknown }), /unknown key/);

  for (const text of ['', 'x', 'a.b', 'a.b.c', `${header}.${payload}`, '....', 'é.ü.ß', 'x'.repeat(20_000)])
    await refused(verifier, text, /malformed|too long|algorithm/);
});

test('a token made for something other than API calls is refused', async (t) => {
  const issuer = await startTestIssuer(t);
  const verifier = verifierFor(issuer);
  await refused(verifier, await issuer.sign({ at_hash: 'x' }), /not an access token/);
  await refused(verifier, await issuer.sign({ nonce: 'x' }), /not an access token/);
  await refused(verifier, await issuer.sign({ typ: 'ID' }), /not an access token/);
  await refused(verifier, await issuer.sign({ typ: 'Refresh' }), /not an access token/);
  await refused(verifier, await issuer.sign({ token_use: 'id' }), /not an access token/);
  await refused(verifier, await issuer.sign({}, { header: { typ: 'logout+jwt' } }), /not an access token/);
  for (const claims of [{ typ: 'Bearer' }, { typ: 'Bearer', nonce: 'x' }, { token_use: 'access' }])
    assert.equal((await verifier.verify(await issuer.sign(claims))).subject, 'user-1');
  for (const typ of ['JWT', 'at+jwt', 'application/at+jwt'])
    assert.equal((await verifier.verify(await issuer.sign({}, { header: { typ } }))).subject, 'user-1');
});

test('a token signed with a newly rotated key is accepted, one signed with a removed key is not', async (t) => {
  const issuer = await startTestIssuer(t);
  const verifier = verifierFor(issuer, { keysCooldownMs: 0 });
  const before = await issuer.sign();
  await verifier.verify(before);
  await issuer.rotate(true);
  await verifier.verify(await issuer.sign());
  const oldKey = issuer.signer();
  await issuer.rotate(false);
  await verifier.verify(await issuer.sign());
  await refused(verifier, await issuer.sign({ jti: '2' }, { signer: oldKey }), /unknown key/);
});

test('invented key ids do not cause repeated requests to the issuer', async (t) => {
  const issuer = await startTestIssuer(t);
  const verifier = verifierFor(issuer);
  await verifier.verify(await issuer.sign());
  for (let i = 0; i < 20; i++)
    await refused(verifier, await issuer.sign({ jti: `${i}` }, { header: { kid: `made-up-${i}` } }), /unknown key/);
  assert.equal(issuer.requests.filter((path) => path === '/keys').length, 1);
});

test('a token without a key id is tried against every key of the issuer', async (t) => {
  const issuer = await startTestIssuer(t);
  const first = issuer.signer();
  await issuer.rotate(true);
  const verifier = verifierFor(issuer);
  const header = { kid: undefined };
  await verifier.verify(await issuer.sign({}, { header }));
  await verifier.verify(await issuer.sign({ jti: '2' }, { header, signer: first }));
  await refused(verifier, await issuer.sign({}, { header, signer: await issuer.strangeSigner('x') }), /bad signature/);
});

test('an unreachable issuer makes the verifier unavailable, never refuse, and is retried later', async (t) => {
  const issuer = await startTestIssuer(t);
  let at = Date.now();
  const clock: Clock = { now: () => new Date(at) };
  const verifier = verifierFor(issuer, { clock });
  const isUnavailable = (err: unknown) => err instanceof AppError && err.code === 'unavailable';
  issuer.setDown(true);
  const jwt = await issuer.sign();
  await assert.rejects(verifier.verify(jwt), isUnavailable);
  const asked = issuer.requests.length;
  await assert.rejects(verifier.verify(jwt), isUnavailable);
  assert.equal(issuer.requests.length, asked, 'a failure is not repeated at once');
  issuer.setDown(false);
  at += 2_000;
  assert.equal((await verifier.verify(jwt)).subject, 'user-1');

  const nowhere = createTokenVerifier({
    issuer: 'http://127.0.0.1:9',
    audience: AUDIENCE,
    clients: CLIENTS,
    log: silentLog(),
  });
  await assert.rejects(nowhere.verify(await issuer.sign({ iss: 'http://127.0.0.1:9' })), isUnavailable);
});

test('keys that cannot be fetched make the verifier unavailable', async (t) => {
  const issuer = await startTestIssuer(t);
  const fetchButNoKeys: typeof fetch = (input, init) =>
    String(input).endsWith('/keys') ? Promise.reject(new TypeError('fetch failed')) : fetch(input, init);
  const verifier = verifierFor(issuer, { fetch: fetchButNoKeys });
  await assert.rejects(
    verifier.verify(await issuer.sign()),
    (err) => err instanceof AppError && err.code === 'unavailable',
  );
});

test('a discovery document of another issuer is refused', async (t) => {
  const issuer = await startTestIssuer(t);
  const lying: typeof fetch = async (input, init) =>
    String(input).includes('.well-known')
      ? Response.json({ issuer: 'https://evil.example', jwks_uri: `${issuer.url}/keys` })
      : fetch(input, init);
  await assert.rejects(
    verifierFor(issuer, { fetch: lying }).verify(await issuer.sign()),
    (err) => err instanceof AppError && err.code === 'unavailable',
  );
});

test('a verified token is cached until it expires and no longer', async (t) => {
  const issuer = await startTestIssuer(t);
  let at = Date.now();
  const verifier = verifierFor(issuer, { clock: { now: () => new Date(at) } });
  const jwt = await issuer.sign({ exp: Math.floor(at / 1000) + 100 });
  const first = await verifier.verify(jwt);
  issuer.setDown(true);
  assert.equal(await verifier.verify(jwt), first, 'answered from memory while the issuer is away');
  at += 99_000;
  assert.equal(await verifier.verify(jwt), first);
  at += 60_000;
  await refused(verifier, jwt, /has expired/);
});

test('the cache of verified tokens is bounded and drops the least recently used', async (t) => {
  const issuer = await startTestIssuer(t);
  const verifier = verifierFor(issuer, { remembered: 2 });
  const [a, b, c] = [await issuer.sign({ jti: 'a' }), await issuer.sign({ jti: 'b' }), await issuer.sign({ jti: 'c' })];
  const ofA = await verifier.verify(a);
  const ofB = await verifier.verify(b);
  assert.equal(await verifier.verify(a), ofA);
  await verifier.verify(c);
  assert.equal(await verifier.verify(a), ofA);
  assert.notEqual(await verifier.verify(b), ofB);
});

test('names and addresses are stored as clean text or not at all', async (t) => {
  const issuer = await startTestIssuer(t);
  const verifier = verifierFor(issuer);
  const nameOf = async (claims: JWTPayload) => (await verifier.verify(await issuer.sign(claims))).name;
  assert.equal(await nameOf({ name: ' Ada\r\n\u202e\u0000 \u2028L. ' }), 'Ada L.');
  assert.equal(Array.from(await nameOf({ name: '🚀'.repeat(500) })).length, 120);
  assert.equal(await nameOf({ name: '\u0000', preferred_username: 'ada' }), 'ada');
  assert.equal(await nameOf({ name: 7, email: 'no address', sub: 'sub-7' }), 'sub-7');
  const odd = await verifier.verify(await issuer.sign({ email: 'a@b\u0000.example', email_verified: true }));
  assert.deepEqual([odd.email, odd.email_verified], [null, false]);
  const worded = await verifier.verify(await issuer.sign({ email_verified: 'false' }));
  assert.equal(worded.email_verified, false);
  const scopes = await verifier.verify(await issuer.sign({ scp: ['a', 'b c', 7] }, { omit: ['scope'] }));
  assert.deepEqual(scopes.scopes, ['a', 'b', 'c', '7'], 'what is malformed restricts too');
  const both = await verifier.verify(await issuer.sign({ scope: 'openid', scp: ['read', 'openid'] }));
  assert.deepEqual(both.scopes, ['openid', 'read']);
  const many = Array.from({ length: 101 }, (_, n) => `word-${n}`);
  assert.equal((await verifier.verify(await issuer.sign({ scope: many.slice(1).join(' ') }))).scopes.length, 100);
  await refused(verifier, await issuer.sign({ scope: many.join(' ') }), /more than 100 scopes/);
});

test('a token without an address queries userinfo once, and is valid without the response', async (t) => {
  const issuer = await startTestIssuer(t);
  const verifier = verifierFor(issuer);
  const omit = ['email', 'email_verified', 'name'];
  issuer.userinfo.answer = (authorization) => ({
    status: authorization.startsWith('Bearer ey') ? 200 : 401,
    body: { sub: 'user-1', name: 'Ada', email: 'ada@userinfo.example', email_verified: true },
  });
  const jwt = await issuer.sign({}, { omit });
  const both = await Promise.all([verifier.verify(jwt), verifier.verify(jwt)]);
  assert.deepEqual(
    both.map((token) => [token.name, token.email, token.email_verified]),
    [
      ['Ada', 'ada@userinfo.example', true],
      ['Ada', 'ada@userinfo.example', true],
    ],
  );
  await verifier.verify(jwt);
  assert.equal(issuer.requests.filter((path) => path === '/userinfo').length, 1);

  issuer.userinfo.answer = () => ({ status: 200, body: { sub: 'somebody-else', email: 'eve@example.com' } });
  const other = await verifier.verify(await issuer.sign({ jti: '2' }, { omit }));
  assert.deepEqual([other.name, other.email], ['user-1', null]);
  issuer.userinfo.answer = () => ({ status: 500, body: {} });
  assert.equal((await verifier.verify(await issuer.sign({ jti: '3' }, { omit }))).email, null);
});

test('the groups of a token are not known while userinfo does not respond, unless the token states them', async (t) => {
  const issuer = await startTestIssuer(t);
  const verifier = verifierFor(issuer);
  let serial = 0;
  const groupsOf = async (claims: JWTPayload = {}) =>
    (await verifier.verify(await issuer.sign({ jti: `${serial++}`, ...claims }, { omit: ['email'] }))).groups;
  const answers = (status: number, body: object) => {
    issuer.userinfo.answer = () => ({ status, body });
  };
  answers(200, { sub: 'user-1', groups: ['/a'] });
  assert.deepEqual(await groupsOf(), ['/a']);
  answers(200, { sub: 'user-1' });
  assert.equal(await groupsOf(), 'absent', 'the issuer responded that there are none');
  for (const [status, body] of [
    [500, {}],
    [401, {}],
    [200, { sub: 'somebody-else', groups: [] }],
  ] as const) {
    answers(status, body);
    assert.equal(await groupsOf(), 'unreadable', `${status} ${JSON.stringify(body)}`);
  }
  assert.deepEqual(await groupsOf({ groups: ['/b'] }), ['/b']);
});
