import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import {
  ADMIN_EMAIL,
  startTestApp,
  type TestApp,
  type TestClock,
  type TestResponse,
  testClock,
} from '../../test/app.ts';
import { CACHE_OVER_MS, must } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';

type User = Awaited<ReturnType<TestApp['user']>>;

describe('only holders of a permission can delegate it', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let test: TestApp;
  let clock: TestClock;
  let sql: Client;
  let owner: User;

  before(async () => {
    clock = testClock();
    test = await startTestApp(t, {}, { clock });
    sql = new Client({ connectionString: test.db.ownerUrl });
    await sql.connect();
    t.after(() => sql.end());
    owner = await test.user('owner');
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const coded = ({ status, body }: TestResponse) => [status, body?.code];
  const DENIED = [403, 'permission_denied'];
  const organization = () => `/api/v1/organizations/${owner.organization_id}`;
  const project = () => `/api/v1/projects/${owner.project_id}`;
  const setRole = (user: User, role: string) =>
    sql.query(
      `insert into tenant_memberships (organization_id, user_id, role) values ($1, $2, $3)
       on conflict (organization_id, user_id) do update set role = excluded.role`,
      [owner.organization_id, user.me.id, role],
    );
  /** A user whose role the server has just read and cached. */
  const remembered = async (name: string, role: string): Promise<User> => {
    const user = await test.user(name);
    await setRole(user, role);
    clock.advance(CACHE_OVER_MS);
    must(await user.get(`${organization()}/members`), 200);
    return user;
  };
  const promoteSelf = (user: User, role: string) =>
    user.call('PATCH', `${organization()}/members/${user.me.id}`, { role }, { 'if-match': '"v1"' });

  it('a demoted owner or admin cannot restore the role while it is cached', async () => {
    const second = await remembered('second', 'owner');
    await setRole(second, 'viewer');
    assert.deepEqual(coded(await promoteSelf(second, 'owner')), DENIED);
    const admin = await remembered('admin', 'admin');
    await setRole(admin, 'viewer');
    assert.deepEqual(coded(await promoteSelf(admin, 'admin')), DENIED);
  });

  it('a demoted admin cannot return with an invitation to another address, and an owner’s works', async () => {
    const inviter = await remembered('inviter', 'admin');
    const invite = async (as: User): Promise<string> =>
      must(await as.post(`${organization()}/invitations`, { email: 'second-self@example.com', role: 'admin' }), 201)
        .body.token;
    const token = await invite(inviter);
    await setRole(inviter, 'viewer');
    const self = await test.user('second-self');
    const refused = must(await self.post('/api/v1/invitations/accept', { token }), 409);
    assert.match(refused.body.detail, /can no longer invite to this role/);
    must(await self.post('/api/v1/invitations/accept', { token: await invite(owner) }), 200);
  });

  it('a removed admin cannot create an invitation, member or service account while cached', async () => {
    const admin = await remembered('leaver', 'admin');
    await sql.query('delete from tenant_memberships where user_id = $1 and organization_id = $2', [
      admin.me.id,
      owner.organization_id,
    ]);
    const invitation = { email: 'leaver@example.com', role: 'admin' };
    assert.deepEqual(coded(await admin.post(`${organization()}/invitations`, invitation)), DENIED);
    assert.deepEqual(coded(await admin.post(`${project()}/service-accounts`, { name: 'door' })), DENIED);
    const put = await admin.call('PUT', `${project()}/members/${owner.me.id}`, { role: 'viewer' });
    assert.deepEqual(coded(put), DENIED);
  });

  it('a demoted superadmin cannot restore the role while it is cached', async () => {
    const root = await test.admin();
    const other = await test.user('other-root');
    await sql.query("update users set platform_role = 'superadmin' where id = $1", [other.me.id]);
    clock.advance(CACHE_OVER_MS);
    must(await other.get('/api/v1/admin/users'), 200);
    await sql.query('update users set platform_role = null where id = $1', [other.me.id]);
    const back = { platform_role: 'superadmin' };
    const answer = await other.call('PATCH', `/api/v1/admin/users/${other.me.id}`, back, { 'if-match': '"v1"' });
    assert.deepEqual(coded(answer), DENIED);
    assert.equal(root.me.platform_role, 'superadmin');
  });

  const makeToken = (by: Pick<User, 'post'>, scopes: readonly string[], expires_in_s = 3600) =>
    by.post('/api/v1/tokens', { name: 'made', scopes, expires_in_s });

  it('a narrow credential does not receive the stored response of a wide one for the same key', async () => {
    const key = { 'idempotency-key': randomUUID() };
    const body = { name: 'wide', scopes: ['all'], expires_in_s: 3600 };
    must(await owner.post('/api/v1/tokens', body, key), 201);
    const narrow = test.bearer(must(await makeToken(owner, ['self.api_token.create']), 201).body.token);
    assert.deepEqual(coded(await narrow.post('/api/v1/tokens', body, key)), [422, 'idempotency_key_reused']);
    assert.equal((await owner.post('/api/v1/tokens', body, key)).headers['idempotency-replayed'], 'true');
  });

  it('a token created with a token expires with it at the latest', async () => {
    const parent = must(await makeToken(owner, ['all'], 120), 201).body;
    const child = must(await makeToken(test.bearer(parent.token), ['all'], 86_400), 201).body;
    assert.ok(Date.parse(child.api_token.expires_at) <= Date.parse(parent.api_token.expires_at) + 1_000);
    const shorter = must(await makeToken(test.bearer(parent.token), ['all'], 60), 201).body;
    assert.ok(Date.parse(shorter.api_token.expires_at) < Date.parse(parent.api_token.expires_at) - 30_000);
  });

  it("a service account's secret goes only to credentials with all its permissions", async () => {
    const accounts = `${project()}/service-accounts`;
    const account = must(await owner.post(accounts, { name: 'machine' }), 201).body.service_account;
    const narrow = test.bearer(must(await makeToken(owner, ['service_account.*']), 201).body.token);
    assert.deepEqual(coded(await narrow.post(accounts, { name: 'another' })), DENIED);
    assert.deepEqual(coded(await narrow.post(`${accounts}/${account.id}/secret/rotate`, {})), DENIED);
    const wide = test.bearer(
      must(await makeToken(owner, ['service_account.*', 'allocation.*', 'read']), 201).body.token,
    );
    must(await wide.post(`${accounts}/${account.id}/secret/rotate`, {}), 200);
  });

  it('a wrong client secret leaves one audit row that names the service account', async () => {
    const accounts = `${project()}/service-accounts`;
    const account = must(await owner.post(accounts, { name: 'guessed' }), 201).body.service_account;
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: account.id,
      client_secret: `gpuaas_cs_${'x'.repeat(43)}`,
    });
    const correlation = `test-${randomUUID()}`;
    const answer = await test.bearer(null).call('POST', '/api/v1/auth/token', form.toString(), {
      'content-type': 'application/x-www-form-urlencoded',
      'x-correlation-id': correlation,
    });
    assert.deepEqual(coded(answer), [401, 'unauthenticated']);
    const { rows } = await sql.query(
      'select result, target_kind, target_id, actor_kind from audit_logs where correlation_id = $1',
      [correlation],
    );
    assert.deepEqual(rows, [
      { result: 'denied', target_kind: 'service_account', target_id: account.id, actor_kind: 'anonymous' },
    ]);
  });

  it('of several invitations accepted at once one counts, and its audit row names it', async () => {
    const guest = await test.user('guest');
    const invited: { id: string; token: string }[] = [];
    for (let i = 0; i < 5; i++) {
      const { body } = must(
        await owner.post(`${organization()}/invitations`, { email: 'guest@example.com', role: 'member' }),
        201,
      );
      invited.push({ id: body.invitation.id, token: body.token });
    }
    const correlation = `test-${randomUUID()}`;
    const answers = await Promise.all(
      invited.map(({ token }) =>
        guest.post('/api/v1/invitations/accept', { token }, { 'x-correlation-id': correlation }),
      ),
    );
    assert.deepEqual(
      answers.map(({ status }) => status).sort((a, b) => a - b),
      [200, 409, 409, 409, 409],
    );
    const { rows } = await sql.query(
      "select target_kind, target_id from audit_logs where correlation_id = $1 and result = 'success'",
      [correlation],
    );
    const accepted = await sql.query("select id from invitations where state = 'accepted' and accepted_by = $1", [
      guest.me.id,
    ]);
    assert.deepEqual(rows, [{ target_kind: 'invitation', target_id: accepted.rows[0].id }]);
  });

  it('an invitation under way ends with the removal of its author', async () => {
    const leaver = await remembered('inviter', 'admin');
    const other = new Client({ connectionString: test.db.ownerUrl });
    await other.connect();
    t.after(() => other.end());
    // Invitations of one organization count one after the other.
    const limit = `limit invitations ${owner.organization_id}`;
    await sql.query('begin');
    await sql.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [limit]);
    const waiting = async () =>
      (
        await other.query(
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
      ).rowCount;
    const invited = leaver.post(`${organization()}/invitations`, { email: 'alt@example.com', role: 'admin' });
    await until('the invitation waits', async () => (await waiting()) === 1);
    const removed = owner.call('DELETE', `${organization()}/members/${leaver.me.id}`);
    await until('the removal waits for the invitation', async () => (await waiting()) === 2);
    await sql.query('commit');
    const { invitation } = must(await invited, 201).body;
    must(await removed, 204);
    const { rows } = await sql.query('select state from invitations where id = $1', [invitation.id]);
    assert.deepEqual(rows, [{ state: 'revoked' }]);
  });

  it('a member who is being removed is not added to a project', async () => {
    const leaver = await test.user('racer');
    await setRole(leaver, 'member');
    await sql.query('begin');
    await sql.query('delete from tenant_memberships where user_id = $1 and organization_id = $2', [
      leaver.me.id,
      owner.organization_id,
    ]);
    const added = owner.call('PUT', `${project()}/members/${leaver.me.id}`, { role: 'member' });
    const isWaiting = async () =>
      (await sql.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"))
        .rowCount === 1;
    await until('the addition waits for the removal', isWaiting);
    await sql.query('commit');
    assert.equal((await added).status, 404);
  });

  it("becoming owner of another user's personal organization does not move one's own audit rows", async () => {
    const early = await test.user('early');
    const late = await test.user('late');
    await sql.query("insert into tenant_memberships (organization_id, user_id, role) values ($1, $2, 'owner')", [
      early.organization_id,
      late.me.id,
    ]);
    clock.advance(CACHE_OVER_MS);
    const correlation = `test-${randomUUID()}`;
    const body = { name: 'private', scopes: ['read'], expires_in_s: 60 };
    must(await late.post('/api/v1/tokens', body, { 'x-correlation-id': correlation }), 201);
    const { rows } = await sql.query('select organization_id from audit_logs where correlation_id = $1', [correlation]);
    assert.deepEqual(rows, [{ organization_id: late.organization_id }]);
  });

  const signed = async (claims: Readonly<Record<string, unknown>>) => test.bearer(await test.issuer.sign(claims));

  it('an address verified later by the issuer is accepted, with one audit row', async () => {
    const claims = { sub: 'mover', name: 'Mover', email: 'mover@example.com' };
    const before = must(await (await signed({ ...claims, email_verified: false })).get('/api/v1/me'), 200).body;
    const { token } = must(
      await owner.post(`${organization()}/invitations`, { email: 'mover@example.com', role: 'viewer' }),
      201,
    ).body;
    const mover = await signed({ ...claims, email_verified: true });
    must(await mover.post('/api/v1/invitations/accept', { token }), 200);
    const { rows } = await sql.query(
      "select metadata from audit_logs where action = 'user.update' and target_id = $1 and actor_kind = 'system'",
      [before.id],
    );
    assert.deepEqual(rows, [
      {
        metadata: { email_before: 'mover@example.com', email_after: 'mover@example.com', email_verified: true },
      },
    ]);
  });

  it('the first superadmin leaves one audit row; a disabled account never becomes one', async () => {
    const root = await test.admin();
    await sql.query('update users set platform_role = null');
    clock.advance(CACHE_OVER_MS);
    const correlation = `test-${randomUUID()}`;
    const claims = { sub: 'root', name: 'root', email: ADMIN_EMAIL, email_verified: true };
    const again = () =>
      signed(claims).then((caller) => caller.call('GET', '/api/v1/me', undefined, { 'x-correlation-id': correlation }));
    await sql.query("update users set state = 'disabled' where id = $1", [root.me.id]);
    assert.equal((await again()).status, 401);
    await sql.query("update users set state = 'active' where id = $1", [root.me.id]);
    assert.equal(must(await again(), 200).body.platform_role, 'superadmin');
    const { rows } = await sql.query(
      'select action, target_id, organization_id, metadata from audit_logs where correlation_id = $1',
      [correlation],
    );
    const metadata = { role_before: null, role_after: 'superadmin' };
    assert.deepEqual(rows, [{ action: 'user.update', target_id: root.me.id, organization_id: null, metadata }]);
  });
});
