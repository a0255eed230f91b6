import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Caller, TestResponse } from '../../test/app.ts';
import { acmeStage, CACHE_OVER_MS, must, newSshKey, type Tenants, type User } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';

const unique = (word: string) => `${word}-${randomUUID().slice(0, 8)}`;
const codes = (answer: TestResponse) => [answer.status, answer.body.code];

describe('credentials', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let tenants: Tenants;
  let owner: User;
  let org: string;
  let project: string;

  before(async () => {
    ({ tenants, owner, org, project } = await acmeStage(t));
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const later = () => tenants.clock.advance(CACHE_OVER_MS);
  describe('service accounts', () => {
    const accounts = () => `${project}/service-accounts`;
    const make = async () => must(await owner.post(accounts(), { name: unique('machine') }), 201).body;
    const credentials = (id: string, secret: string, more: Record<string, string> = {}) => ({
      grant_type: 'client_credentials',
      client_id: id,
      client_secret: secret,
      ...more,
    });
    const issue = (body: Record<string, string>) => tenants.test.bearer(null).call('POST', '/api/v1/auth/token', body);
    const bearer = (answer: TestResponse) => tenants.test.bearer(must(answer, 200).body.access_token);

    it('exchange their secret for a token, by form and by JSON', async () => {
      const { service_account, client_secret } = await make();
      const body = credentials(service_account.id, client_secret);
      const form = await tenants.test
        .bearer(null)
        .call('POST', '/api/v1/auth/token', new URLSearchParams(body).toString(), {
          'content-type': 'application/x-www-form-urlencoded',
        });
      for (const answer of [form, await issue(body)]) {
        assert.equal(answer.headers['cache-control'], 'no-store');
        assert.deepEqual([answer.body.token_type, answer.body.expires_in], ['Bearer', 3600]);
        const me = must(await bearer(answer).get('/api/v1/me'), 200).body;
        assert.deepEqual([me.kind, me.id], ['service_account', service_account.id]);
        assert.deepEqual(
          me.projects.map((one: { id: string }) => one.id),
          [tenants.acme.ids.project_id],
        );
        assert.equal((await bearer(answer).get(project)).status, 200);
      }
      const twice = 'grant_type=client_credentials&client_id=a&client_id=b';
      const doubled = await tenants.test.bearer(null).call('POST', '/api/v1/auth/token', twice, {
        'content-type': 'application/x-www-form-urlencoded',
      });
      assert.deepEqual(codes(doubled), [400, 'invalid_request']);
    });

    it('may request fewer scopes, and never get more than their role allows', async () => {
      const { service_account, client_secret } = await make();
      const narrow = bearer(await issue(credentials(service_account.id, client_secret, { scope: 'event.read' })));
      assert.equal((await narrow.get(`${project}/events`)).status, 200);
      assert.equal((await narrow.get(project)).status, 403);
      const nothing = await issue(credentials(service_account.id, client_secret, { scope: 'admin.user.update' }));
      assert.deepEqual(codes(nothing), [400, 'invalid_request']);
      const wide = bearer(await issue(credentials(service_account.id, client_secret)));
      assert.equal((await wide.post(accounts(), { name: unique('child') })).status, 403);
      assert.equal((await wide.get('/api/v1/admin/users')).status, 403);
    });

    it('keep the old secret for the overlap and no longer; without an overlap it ends immediately', async () => {
      const { service_account, client_secret: first } = await make();
      const path = `${accounts()}/${service_account.id}/secret/rotate`;
      const { client_secret: second } = must(await owner.post(path, { overlap_s: 600 }), 200).body;
      for (const secret of [first, second])
        assert.equal((await issue(credentials(service_account.id, secret))).status, 200);
      await tenants.sql.query(
        "update service_accounts set previous_secret_until = now() - interval '1 second' where id = $1",
        [service_account.id],
      );
      assert.equal((await issue(credentials(service_account.id, first))).status, 401);
      const { client_secret: third } = must(await owner.post(path, {}), 200).body;
      const statuses = [];
      for (const secret of [first, second, third])
        statuses.push((await issue(credentials(service_account.id, secret))).status);
      assert.deepEqual(statuses, [401, 401, 200]);
    });

    it('that are disabled get no token and lose existing ones; enabled again, they work', async () => {
      const { service_account, client_secret } = await make();
      const path = `${accounts()}/${service_account.id}`;
      const before = bearer(await issue(credentials(service_account.id, client_secret)));
      assert.equal((await before.get(project)).status, 200);
      must(await owner.call('PATCH', path, { state: 'disabled' }, { 'if-match': '"v1"' }), 200);
      later();
      assert.equal((await before.get(project)).status, 401);
      assert.equal((await issue(credentials(service_account.id, client_secret))).status, 401);
      const token = await owner.post(`${path}/tokens`, { name: 'x', scopes: ['all'], expires_in_s: 60 });
      assert.deepEqual(codes(token), [409, 'conflict']);
      must(await owner.call('PATCH', path, { state: 'enabled' }, { 'if-match': '"v2"' }), 200);
      later();
      assert.equal((await before.get(project)).status, 200);
    });

    it('that are deleted lose their tokens, and their name is free again', async () => {
      const { service_account, client_secret } = await make();
      const path = `${accounts()}/${service_account.id}`;
      const made = await owner.post(`${path}/tokens`, { name: 'x', scopes: ['all'], expires_in_s: 3600 });
      const callers = [
        tenants.test.bearer(must(made, 201).body.token),
        bearer(await issue(credentials(service_account.id, client_secret))),
      ];
      for (const caller of callers) assert.equal((await caller.get(project)).status, 200);
      assert.equal((await owner.call('DELETE', path)).status, 204);
      later();
      for (const caller of callers) assert.equal((await caller.get(project)).status, 401);
      assert.equal((await owner.get(path)).status, 404);
      assert.equal((await owner.post(accounts(), { name: service_account.name })).status, 201);
    });

    it('prevent deletion of their project', async () => {
      const { id } = must(await owner.post(`${org}/projects`, { name: unique('held') }), 201).body;
      const path = `/api/v1/projects/${id}`;
      const made = must(await owner.post(`${path}/service-accounts`, { name: 'holder' }), 201).body.service_account;
      const refused = await owner.call('DELETE', path);
      assert.deepEqual(codes(refused), [409, 'conflict']);
      assert.equal((await owner.call('DELETE', `${path}/service-accounts/${made.id}`)).status, 204);
      assert.equal((await owner.call('DELETE', path)).status, 204);
      later();
      assert.equal((await owner.get(path)).status, 404);
      assert.equal((await owner.post(`${path}/service-accounts`, { name: 'orphan' })).status, 404);
    });
  });

  describe('tokens', () => {
    const make = (caller: Caller, body: Record<string, unknown>) =>
      caller.post('/api/v1/tokens', { name: 'x', expires_in_s: 3600, ...body });
    const bearer = (answer: TestResponse) => tenants.test.bearer(must(answer, 201).body.token);

    it('grant at most their own access', async () => {
      const narrow = bearer(await make(owner, { scopes: ['self.api_token.create', 'project.read'] }));
      for (const scopes of [['all'], ['read'], ['project.*'], ['project.update'], ['project.read', 'audit.read']])
        assert.deepEqual(codes(await make(narrow, { scopes })), [403, 'permission_denied'], scopes.join());
      assert.equal((await make(narrow, { scopes: ['project.read'] })).status, 201);
      assert.deepEqual(codes(await make(owner, { scopes: ['no.such_permission'] })), [400, 'invalid_request']);
    });

    it('bound to a project stay in it, and so do tokens created with them', async () => {
      const bound = bearer(await make(owner, { scopes: ['all'], project_id: tenants.acme.ids.project_id }));
      const child = bearer(await make(bound, { scopes: ['all'] }));
      const other = `/api/v1/projects/${tenants.acme.project_b_id}`;
      for (const caller of [bound, child]) {
        assert.deepEqual([(await caller.get(project)).status, (await caller.get(other)).status], [200, 404]);
        assert.equal((await caller.get(org)).status, 404);
        const me = must(await caller.get('/api/v1/me'), 200).body;
        assert.deepEqual(
          me.projects.map((one: { id: string }) => one.id),
          [tenants.acme.ids.project_id],
        );
      }
      assert.equal((await make(bound, { scopes: ['all'], project_id: tenants.acme.project_b_id })).status, 404);
    });

    it('are shown once, and record when they were used', async () => {
      const made = must(await make(owner, { scopes: ['read'] }), 201).body;
      const caller = tenants.test.bearer(made.token);
      assert.equal((await caller.get('/api/v1/me')).status, 200);
      const find = async () =>
        must(await owner.get('/api/v1/tokens?limit=200'), 200).body.items.find(
          (item: { id: string }) => item.id === made.api_token.id,
        );
      await until('its last use is recorded', async () => (await find()).last_used_at !== null);
      assert.equal(JSON.stringify(await find()).includes(made.token), false);
    });
  });

  describe('credentials end within 60 seconds', () => {
    const ends = async (caller: Caller, end: () => Promise<unknown>): Promise<void> => {
      assert.equal((await caller.get('/api/v1/me')).status, 200);
      await end();
      tenants.clock.advance(60_000);
      assert.deepEqual(codes(await caller.get('/api/v1/me')), [401, 'unauthenticated']);
    };
    const tokenOf = async (user: Caller) =>
      must(await user.post('/api/v1/tokens', { name: 'x', scopes: ['all'], expires_in_s: 86_400 }), 201).body;

    it('when a token is revoked', async () => {
      const { api_token, token } = await tokenOf(owner);
      await ends(tenants.test.bearer(token), () => owner.call('DELETE', `/api/v1/tokens/${api_token.id}`));
    });

    it('when a token expires', async () => {
      const { api_token, token } = await tokenOf(owner);
      await ends(tenants.test.bearer(token), () =>
        tenants.sql.query("update api_tokens set expires_at = now() - interval '1 second' where id = $1", [
          api_token.id,
        ]),
      );
    });

    it('when the user is disabled, with all its tokens; enabling restores them', async () => {
      const person = await tenants.test.user(unique('disabled'));
      const token = tenants.test.bearer((await tokenOf(person)).token);
      const set = (state: string, version: number) =>
        tenants.superadmin.call(
          'PATCH',
          `/api/v1/admin/users/${person.me.id}`,
          { state },
          { 'if-match': `"v${version}"` },
        );
      assert.equal((await token.get('/api/v1/me')).status, 200);
      await ends(person, () => set('disabled', 1));
      assert.equal((await token.get('/api/v1/me')).status, 401);
      must(await set('active', 2), 200);
      tenants.clock.advance(60_000);
      assert.equal((await token.get('/api/v1/me')).status, 200);
    });

    it('when the issuer’s token expires, even when it is cached', async () => {
      const exp = Math.floor(tenants.clock.now().getTime() / 1000) + 120;
      const caller = tenants.test.bearer(await tenants.test.issuer.sign({ sub: unique('brief'), exp }));
      assert.equal((await caller.get('/api/v1/me')).status, 200);
      tenants.clock.advance(130_000);
      assert.equal((await caller.get('/api/v1/me')).status, 401);
    });
  });

  describe('SSH keys', () => {
    const add = (public_key: string, name = unique('key')) => owner.post('/api/v1/ssh-keys', { name, public_key });
    const field = (bytes: Buffer | string) => {
      const data = Buffer.from(bytes as string);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(data.length);
      return Buffer.concat([length, data]);
    };
    const rsa = (bits: number): string => {
      const jwk = generateKeyPairSync('rsa', { modulusLength: bits }).publicKey.export({ format: 'jwk' });
      const modulus = Buffer.concat([Buffer.alloc(1), Buffer.from(jwk.n ?? '', 'base64url')]);
      const blob = Buffer.concat([field('ssh-rsa'), field(Buffer.from([1, 0, 1])), field(modulus)]);
      return `ssh-rsa ${blob.toString('base64')}`;
    };

    it('are stored without comment, and once per key and name', async () => {
      const key = newSshKey();
      const made = must(await add(`${key} ada@laptop; rm -rf /`, 'mine'), 201).body;
      assert.deepEqual([made.public_key, made.algorithm], [key, 'ssh-ed25519']);
      assert.match(made.fingerprint, /^SHA256:[A-Za-z0-9+/]{43}$/);
      assert.deepEqual(codes(await add(key)), [409, 'already_exists']);
      assert.deepEqual(codes(await add(newSshKey(), 'mine')), [409, 'already_exists']);
      assert.equal((await tenants.rival.owner.post('/api/v1/ssh-keys', { name: 'mine', public_key: key })).status, 201);
    });

    it('of RSA need 3072 bits', async () => {
      assert.deepEqual(codes(await add(rsa(2048))), [400, 'invalid_request']);
      assert.equal((await add(rsa(3072))).status, 201);
    });

    it('that are not exactly one key are refused', async () => {
      const [algorithm, encoded] = newSshKey().split(' ');
      const blob = Buffer.from(encoded ?? '', 'base64');
      const trailing = Buffer.concat([blob, field('no-pty')]).toString('base64');
      const bad = {
        'options before it': `command="reboot" ${algorithm} ${encoded}`,
        'an option without a value': `no-pty ${algorithm} ${encoded}`,
        DSA: `ssh-dss ${encoded}`,
        'a certificate': `ssh-ed25519-cert-v01@openssh.com ${encoded}`,
        'another type than it says': `ecdsa-sha2-nistp256 ${encoded}`,
        'trailing data': `${algorithm} ${trailing}`,
        'a short point': `${algorithm} ${blob.subarray(0, 40).toString('base64')}`,
        'bad base64': `${algorithm} !!!!${encoded}`,
        'two lines': `${algorithm} ${encoded}\n${algorithm} ${encoded}`,
        'a private key': `-----BEGIN OPENSSH PRIVATE KEY----- ${encoded}`,
        nothing: ' '.repeat(60),
      };
      for (const [what, key] of Object.entries(bad))
        assert.deepEqual(codes(await add(key)), [400, 'invalid_request'], what);
    });
  });
});
