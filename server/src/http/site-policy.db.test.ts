import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { type Caller, startTestApp, type TestApp, type TestClock, testClock } from '../../test/app.ts';
import { auditRowsOf, CACHE_OVER_MS, must } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';

const POLICY = '/api/v1/admin/site-policy';
const REQUESTS = '/api/v1/admin/sign-up-requests';

describe('the sign-up policy', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let test: TestApp;
  let clock: TestClock;
  let sql: Client;
  let admin: Awaited<ReturnType<TestApp['admin']>>;

  before(async () => {
    clock = testClock();
    test = await startTestApp(t, { roles: ['gpuaas-api'] }, { clock });
    sql = new Client({ connectionString: test.db.ownerUrl });
    await sql.connect();
    closers.unshift(() => sql.end());
    admin = await test.admin();
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const set = async (change: Record<string, unknown>) => {
    const { version } = must(await admin.get(POLICY), 200).body;
    return must(await admin.call('PATCH', POLICY, change, { 'if-match': `"v${version}"` }), 200).body;
  };
  const person = async (name: string, claims: Record<string, unknown> = {}): Promise<Caller> =>
    test.bearer(
      await test.issuer.sign({ sub: name, name, email: `${name}@example.com`, email_verified: true, ...claims }),
    );
  const me = (caller: Caller) => caller.get('/api/v1/me');
  const usersOf = async (subject: string) =>
    (await sql.query('select id, state from users where subject = $1', [subject])).rows;
  const limitOf = async (organizationId: string) =>
    (await sql.query("select gpu_limit from quotas where organization_id = $1 and project_id = ''", [organizationId]))
      .rows;

  it('starts as `invited` with a limit of 0 GPUs in a database without a seed', async () => {
    const { rows } = await sql.query(
      `select column_name, column_default from information_schema.columns
       where table_name = 'site_policy' and column_name in ('sign_up', 'default_gpu_limit') order by 1`,
    );
    assert.deepEqual(
      rows.map((row) => [row.column_name, row.column_default]),
      [
        ['default_gpu_limit', '0'],
        ['sign_up', "'invited'::text"],
      ],
    );
  });

  it('closed refuses with whom to ask, creates nothing, and is audited once per person', async () => {
    await set({ sign_up: 'closed', contact: 'ops@example.com' });
    const caller = await person('closed-1');
    const refused = await me(caller);
    assert.deepEqual([refused.status, refused.body.code], [403, 'policy_denied']);
    assert.equal(refused.body.detail, 'Sign-up is closed: no new accounts are created here. Ask ops@example.com.');
    assert.equal((await me(caller)).status, 403);
    assert.deepEqual(await usersOf('closed-1'), []);
    const { rows } = await sql.query(
      "select actor_kind, result, error_code, policy, metadata->>'email' as email from audit_logs where metadata->>'subject' = 'closed-1'",
    );
    assert.deepEqual(rows, [
      {
        actor_kind: 'anonymous',
        result: 'denied',
        error_code: 'policy_denied',
        policy: refused.body.detail,
        email: 'closed-1@example.com',
      },
    ]);
    assert.equal((await me(admin)).status, 200, 'existing users stay');
  });

  it('closed admits configured superadmins', async () => {
    await set({ sign_up: 'closed' });
    await sql.query("update users set subject = 'earlier-root' where id = $1", [admin.me.id]);
    const root = test.bearer(
      await test.issuer.sign({ sub: 'new-root', name: 'r', email: admin.me.email, email_verified: true }),
    );
    const answer = await me(root);
    assert.deepEqual(
      [answer.status, answer.body.platform_role, answer.body.organizations.length],
      [200, 'superadmin', 1],
    );
    await sql.query("update users set subject = 'root' where id = $1", [admin.me.id]);
  });

  it('invited admits only a verified address with a pending invitation, without an organization of its own', async () => {
    await set({ sign_up: 'open', default_gpu_limit: 3 });
    const owner = await test.user('invited-owner');
    const invite = async (email: string) =>
      must(
        await owner.post(`/api/v1/organizations/${owner.organization_id}/invitations`, { email, role: 'member' }),
        201,
      ).body;
    await set({ sign_up: 'invited' });
    assert.match((await me(await person('invited-0'))).body.detail, /no pending invitation for invited-0@example\.com/);
    const { token } = await invite('Invited-1@example.com');
    const unverified = await me(await person('invited-1', { email_verified: false }));
    assert.deepEqual([unverified.status, (await usersOf('invited-1')).length], [403, 0]);
    const caller = await person('invited-1');
    const answer = must(await me(caller), 200).body;
    assert.deepEqual([answer.state, answer.organizations], ['active', []]);
    must(await caller.post('/api/v1/invitations/accept', { token }), 200);
    const revoked = await invite('invited-2@example.com');
    const path = `/api/v1/organizations/${owner.organization_id}/invitations/${revoked.invitation.id}`;
    must(await owner.call('DELETE', path), 204);
    assert.equal((await me(await person('invited-2'))).status, 403);
    const created = await caller.post('/api/v1/organizations', { name: 'own-one' });
    assert.deepEqual([created.status, created.body.code], [403, 'policy_denied']);
    assert.match(created.body.detail, /only operators create organizations/);
  });

  it('approved lets a person see the request and nothing else, until an operator decides', async () => {
    await set({ sign_up: 'approved', default_gpu_limit: 5 });
    const caller = await person('approved-1');
    const waiting = must(await me(caller), 200).body;
    assert.deepEqual([waiting.state, waiting.sign_up_request.state, waiting.organizations], ['pending', 'pending', []]);
    for (const [method, path] of [
      ['GET', '/api/v1/skus'],
      ['GET', '/api/v1/tokens'],
      ['POST', '/api/v1/ssh-keys'],
      ['GET', `/api/v1/organizations/${admin.organization_id}`],
      ['GET', '/api/v1/admin/users'],
    ] as const) {
      const refused = await caller.call(method, path, method === 'POST' ? {} : undefined);
      assert.deepEqual([refused.status, refused.body.code], [403, 'permission_denied'], path);
      assert.match(refused.body.detail, /has not approved your sign-up/);
    }
    const listed = must(await admin.get(`${REQUESTS}?state=pending`), 200).body.items;
    const request = listed.find((one: { user_id: string }) => one.user_id === waiting.id);
    assert.equal(request.email, 'approved-1@example.com');

    const rejected = must(await admin.post(`${REQUESTS}/${request.id}/reject`, { reason: 'Unknown' }), 200).body;
    assert.deepEqual([rejected.state, rejected.decided_by], ['rejected', admin.me.id]);
    clock.advance(CACHE_OVER_MS);
    assert.deepEqual(
      [(await me(caller)).body.sign_up_request.state, (await me(caller)).body.sign_up_request.reason],
      ['rejected', 'Unknown'],
    );
    assert.equal((await admin.post(`${REQUESTS}/${request.id}/reject`, { reason: 'Again' })).status, 409);

    must(await admin.post(`${REQUESTS}/${request.id}/approve`, {}), 200);
    clock.advance(CACHE_OVER_MS);
    const admitted = must(await me(caller), 200).body;
    assert.deepEqual([admitted.state, admitted.sign_up_request, admitted.organizations.length], ['active', null, 1]);
    assert.deepEqual(await limitOf(admitted.organizations[0].id), [{ gpu_limit: 5 }]);
    must(await caller.get('/api/v1/tokens'), 200);
  });

  it('approves once when two operators decide at once', async () => {
    await set({ sign_up: 'approved' });
    const caller = await person('approved-2');
    const { sign_up_request } = must(await me(caller), 200).body;
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => admin.post(`${REQUESTS}/${sign_up_request.id}/approve`, {})),
    );
    assert.deepEqual(
      answers.map(({ status }) => status).sort((a, b) => a - b),
      [200, 409, 409, 409],
    );
    clock.advance(CACHE_OVER_MS);
    assert.equal((await me(caller)).body.organizations.length, 1);
  });

  it('admits a waiting person who signs in after an invitation or a change of the policy', async () => {
    await set({ sign_up: 'approved' });
    const caller = await person('approved-3');
    assert.equal(must(await me(caller), 200).body.state, 'pending');
    const user = (await usersOf('approved-3'))[0];
    const stuck = await admin.call(
      'PATCH',
      `/api/v1/admin/users/${user.id}`,
      { state: 'active' },
      { 'if-match': '"v1"' },
    );
    assert.deepEqual([stuck.status, stuck.body.code], [409, 'conflict'], 'only a decision admits');
    await set({ sign_up: 'open' });
    const again = must(await me(await person('approved-3', { jti: 'another' })), 200).body;
    assert.deepEqual([again.state, again.organizations.length], ['active', 1]);
    const rows = must(await admin.get(`${REQUESTS}?state=approved`), 200).body.items;
    assert.equal(rows.find((row: { user_id: string }) => row.user_id === user.id).decided_by, null);
  });

  it('keeps the rejection of an operator that a person who signs in again meets', async () => {
    await set({ sign_up: 'approved' });
    assert.equal(must(await me(await person('approved-4')), 200).body.state, 'pending');
    const user = (await usersOf('approved-4'))[0];
    await set({ sign_up: 'open' });
    await sql.query('begin');
    await sql.query(
      "update sign_up_requests set state = 'rejected', reason = 'Unknown', decided_by = $2, decided_at = now() where user_id = $1",
      [user.id, admin.me.id],
    );
    const again = me(await person('approved-4', { jti: 'at-once' }));
    await until('the sign-in waits for the operator', async () => {
      const { rows } = await sql.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return rows.length > 0;
    });
    await sql.query('commit');
    assert.deepEqual([(await again).body.state, (await usersOf('approved-4'))[0]?.state], ['pending', 'pending']);
    const { rows } = await sql.query('select state, reason from sign_up_requests where user_id = $1', [user.id]);
    assert.deepEqual(rows, [{ state: 'rejected', reason: 'Unknown' }]);
  });

  it('open admits verified addresses of the listed domains, with the default limit', async () => {
    await set({ sign_up: 'open', mail_domains: ['example.com'], default_gpu_limit: 7 });
    const admitted = must(await me(await person('open-1')), 200).body;
    assert.deepEqual(await limitOf(admitted.organizations[0].id), [{ gpu_limit: 7 }]);
    for (const claims of [{ email: 'x@other.example' }, { email_verified: false }]) {
      const refused = await me(await person('open-2', claims));
      assert.deepEqual([refused.status, refused.body.code], [403, 'policy_denied']);
    }
    assert.deepEqual(await usersOf('open-2'), []);
    const invited = await person('open-3', { email: 'open-3@other.example' });
    const host = admitted.organizations[0].id;
    const author = await person('open-1');
    must(
      await author.post(`/api/v1/organizations/${host}/invitations`, { email: 'open-3@other.example', role: 'viewer' }),
      201,
    );
    assert.deepEqual(must(await me(invited), 200).body.organizations, []);
    const own = await invited.post('/api/v1/organizations', { name: 'open-foreign' });
    assert.deepEqual([own.status, own.body.code], [403, 'policy_denied'], 'an invitation is no way around the domains');
    const owner = await test.user('open-1');
    const { id } = must(await owner.post('/api/v1/organizations', { name: 'open-second' }), 201).body;
    assert.deepEqual(await limitOf(id), [{ gpu_limit: 0 }], 'the default counts once per user');
    await set({ mail_domains: [], default_gpu_limit: null });
    const third = must(await owner.post('/api/v1/organizations', { name: 'open-third' }), 201).body;
    assert.deepEqual(await limitOf(third.id), [{ gpu_limit: null }], 'a site without limits');
    await set({ default_gpu_limit: 7 });
    await sql.query('update organizations set created_by = null where created_by = $1', [owner.me.id]);
    const first = must(await owner.post('/api/v1/organizations', { name: 'open-first' }), 201).body;
    assert.deepEqual(await limitOf(first.id), [{ gpu_limit: 7 }]);
  });

  it('creates one user and one organization for first requests that arrive at once', async () => {
    for (const [sign_up, organizations] of [
      ['open', 1],
      ['approved', 0],
    ] as const) {
      await set({ sign_up, default_gpu_limit: 1 });
      const tokens = await Promise.all(
        Array.from({ length: 6 }, (_, n) => person(`race-${sign_up}`, { jti: `t${n}` })),
      );
      const answers = await Promise.all(tokens.map(me));
      assert.deepEqual(
        answers.map(({ status }) => status),
        tokens.map(() => 200),
      );
      const users = await usersOf(`race-${sign_up}`);
      assert.equal(users.length, 1);
      const { rows } = await sql.query('select id from organizations where created_by = $1', [users[0].id]);
      assert.equal(rows.length, organizations);
    }
  });

  it('an organization without a GPU limit cannot be committed', async () => {
    await assert.rejects(
      sql.query(
        "insert into organizations (id, name, display_name, kind) values ('org_bare', 'bare', 'b', 'enterprise')",
      ),
      /organization org_bare has no GPU limit/,
    );
  });

  it('an operator creates an organization for a user or invites its owner', async () => {
    await set({ sign_up: 'invited', default_gpu_limit: 2 });
    const path = '/api/v1/admin/organizations';
    const both = await admin.post(path, { name: 'of-nobody' });
    assert.equal(both.status, 400);
    const given = must(
      await admin.post(path, { name: 'of-root', owner_user_id: admin.me.id, gpu_limit: null }),
      201,
    ).body;
    assert.deepEqual([given.invitation, given.token], [null, null]);
    assert.deepEqual(await limitOf(given.organization.id), [{ gpu_limit: null }]);
    const taken = await admin.post(path, { name: 'of-root', owner_user_id: admin.me.id });
    assert.equal(taken.body.code, 'already_exists');

    const made = must(await admin.post(path, { name: 'of-founder', owner_email: 'Founder@example.com' }), 201).body;
    assert.deepEqual(await limitOf(made.organization.id), [{ gpu_limit: 2 }]);
    const founder = await person('founder');
    must(await founder.post('/api/v1/invitations/accept', { token: made.token }), 200);
    clock.advance(CACHE_OVER_MS);
    const [only] = must(await me(founder), 200).body.organizations;
    assert.deepEqual([only.id, only.role], [made.organization.id, 'owner']);
  });

  it('changes only the version that the operator read, and audits what changed', async () => {
    const { version } = must(await admin.get(POLICY), 200).body;
    const headers = { 'if-match': `"v${version}"`, 'x-correlation-id': 'policy-change-1' };
    must(await admin.call('PATCH', POLICY, { default_gpu_limit: 9 }, headers), 200);
    const stale = await admin.call('PATCH', POLICY, { default_gpu_limit: 10 }, headers);
    assert.deepEqual([stale.status, stale.body.code], [412, 'precondition_failed']);
    const [row] = await auditRowsOf({ sql }, 'policy-change-1');
    assert.deepEqual(
      [row.action, row.metadata.default_gpu_limit_before, row.metadata.default_gpu_limit],
      ['site_policy.update', 2, 9],
    );
    const bad = await admin.call('PATCH', POLICY, { mail_domains: ['@example.com'] }, { 'if-match': '"v1"' });
    assert.equal(bad.status, 400);
  });
});
