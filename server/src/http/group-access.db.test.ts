import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { type Caller, startTestApp, type TestApp, type TestClock, testClock } from '../../test/app.ts';
import { CACHE_OVER_MS, must } from '../../test/tenants.ts';
import { endGroupAccess } from '../reconcilers/end-group-access.ts';

const MAPPINGS = '/api/v1/admin/group-mappings';

describe('groups of the issuer', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let test: TestApp;
  let clock: TestClock;
  let sql: Client;
  let admin: Awaited<ReturnType<TestApp['admin']>>;
  let owner: Awaited<ReturnType<TestApp['user']>>;
  let place: { organization_id: string; project_id: string };
  let serial = 0;

  before(async () => {
    clock = testClock();
    test = await startTestApp(t, { roles: ['gpuaas-api'] }, { clock });
    sql = new Client({ connectionString: test.db.ownerUrl });
    await sql.connect();
    closers.unshift(() => sql.end());
    admin = await test.admin();
    owner = await test.user('group-owner');
    const { id: organization_id } = must(await owner.post('/api/v1/organizations', { name: 'grouped' }), 201).body;
    clock.advance(CACHE_OVER_MS);
    const { items } = must(await owner.get(`/api/v1/organizations/${organization_id}/projects`), 200).body;
    place = { organization_id, project_id: items[0].id };
    const map = (body: object) => admin.post(MAPPINGS, { organization_id, ...body });
    must(await map({ group: '/viewers', role: 'viewer' }), 201);
    must(await map({ group: '/admins', role: 'admin' }), 201);
    must(await map({ group: '/builders', project_id: place.project_id, role: 'member' }), 201);
    const twice = await map({ group: '/viewers', role: 'admin' });
    assert.deepEqual([twice.status, twice.body.code], [409, 'already_exists']);
  });
  after(async () => {
    for (const close of closers) await close();
  });

  /** A new sign-in: another token of the person. */
  const signIn = async (name: string, claims: Record<string, unknown> = {}): Promise<Caller> =>
    test.bearer(
      await test.issuer.sign({
        ...{ sub: name, name, email: `${name}@example.com`, email_verified: true, jti: `${serial}` },
        // Of two tokens the one issued later counts.
        iat: Math.floor(Date.now() / 1000) - 1000 + serial++,
        ...claims,
      }),
    );
  const rolesOf = async (caller: Caller) => {
    const { organizations, projects } = must(await caller.get('/api/v1/me'), 200).body;
    const here = <T extends { id: string; role: string }>(rows: readonly T[], id: string) =>
      rows.find((row) => row.id === id)?.role;
    return [here(organizations, place.organization_id), here(projects, place.project_id)];
  };

  it('give the highest mapped role at sign-in, and end it when they are gone', async () => {
    assert.deepEqual(await rolesOf(await signIn('follows', { groups: ['/viewers', '/other'] })), ['viewer', 'viewer']);
    assert.deepEqual(await rolesOf(await signIn('follows', { groups: ['/viewers', '/admins'] })), ['admin', 'admin']);
    const before = await signIn('follows', { groups: ['/builders'] });
    assert.deepEqual(await rolesOf(before), ['member', 'member']);
    const path = `/api/v1/organizations/${place.organization_id}`;
    must(await before.get(path), 200);
    await sql.query(
      `insert into invitations (id, organization_id, email, role, token_hash, invited_by, expires_at)
       select 'inv_of_follows', $1, 'x@example.com', 'viewer', sha256('x'), id, now() + interval '1 day' from users where subject = 'follows'`,
      [place.organization_id],
    );
    assert.deepEqual(await rolesOf(await signIn('follows', { groups: [] })), [undefined, undefined]);
    clock.advance(CACHE_OVER_MS);
    assert.equal((await before.get(path)).status, 404, 'the earlier token lost the access too');
    const { rows } = await sql.query("select state from invitations where id = 'inv_of_follows'");
    assert.deepEqual(rows, [{ state: 'revoked' }], 'as when an admin removes a member');
    const events = await sql.query(
      `select event_type from outbox_events where organization_id = $1 and subject = (select id from users where subject = 'follows') order by id`,
      [place.organization_id],
    );
    assert.deepEqual(
      events.rows.map((row) => row.event_type),
      [
        'organization.member.changed',
        'organization.member.changed',
        'organization.member.changed',
        'project.member.changed',
        'organization.member.removed',
      ],
    );
    const audit = await sql.query(
      `select action, actor_kind, policy from audit_logs where target_id = (select id from users where subject = 'follows') and organization_id = $1 order by id desc limit 1`,
      [place.organization_id],
    );
    assert.deepEqual([audit.rows[0].action, audit.rows[0].actor_kind], ['organization.member.remove', 'system']);
  });

  it('without the claim change nothing for users without groups, and end what groups gave to others', async () => {
    const manual = await test.user('by-hand');
    await sql.query("insert into tenant_memberships (organization_id, user_id, role) values ($1, $2, 'viewer')", [
      place.organization_id,
      manual.me.id,
    ]);
    assert.deepEqual(await rolesOf(await signIn('by-hand')), ['viewer', 'viewer']);
    assert.deepEqual(await rolesOf(await signIn('by-hand', { groups: ['/admins'] })), ['viewer', 'viewer']);
    assert.deepEqual(await rolesOf(await signIn('by-hand', { groups: [] })), ['viewer', 'viewer']);

    assert.equal((await rolesOf(await signIn('claimed', { groups: ['/viewers'] })))[0], 'viewer');
    assert.equal((await rolesOf(await signIn('claimed')))[0], undefined);
  });

  it('that cannot be read change nothing', async () => {
    await rolesOf(await signIn('overage', { groups: '/viewers' }));
    for (const claims of [
      { _claim_names: { groups: 'src1' } },
      { groups: { a: 1 } },
      { groups: [1] },
      { groups: [''] },
    ])
      assert.equal((await rolesOf(await signIn('overage', claims)))[0], 'viewer', JSON.stringify(claims));
  });

  it('stay as they are while userinfo of the issuer fails', async (t) => {
    const email = { email: undefined, email_verified: undefined };
    assert.equal((await rolesOf(await signIn('outage', { groups: ['/viewers'] })))[0], 'viewer');
    const { answer } = test.issuer.userinfo;
    t.after(() => {
      test.issuer.userinfo.answer = answer;
    });
    test.issuer.userinfo.answer = () => ({ status: 500, body: {} });
    assert.equal((await rolesOf(await signIn('outage', email)))[0], 'viewer');
    test.issuer.userinfo.answer = () => ({ status: 200, body: { sub: 'outage' } });
    assert.equal(
      (await rolesOf(await signIn('outage', email)))[0],
      undefined,
      'the issuer responded that there are none',
    );
  });

  it('own the role that they gave: admins change it by the group, and end it until a person lets the member in again', async () => {
    const caller = await signIn('fixed', { groups: ['/builders'] });
    const { id } = must(await caller.get('/api/v1/me'), 200).body;
    const member = `/api/v1/organizations/${place.organization_id}/members/${id}`;
    const changed = await owner.call('PATCH', member, { role: 'admin' }, { 'if-match': '"v1"' });
    assert.deepEqual([changed.status, changed.body.code], [409, 'conflict']);
    assert.match(changed.body.detail, /group of the identity provider/);
    const put = await owner.call('PUT', `/api/v1/projects/${place.project_id}/members/${id}`, { role: 'admin' });
    assert.deepEqual([put.status, put.body.code], [409, 'conflict']);
    must(await owner.call('DELETE', member), 204);
    clock.advance(CACHE_OVER_MS);
    assert.deepEqual(await rolesOf(caller), [undefined, undefined], 'the same sign-in does not bring it back');
    const again = () => signIn('fixed', { groups: ['/builders', '/admins'] });
    assert.deepEqual(await rolesOf(await again()), [undefined, undefined], 'nor does the next one');
    must(await admin.post(`${MAPPINGS}/sync`), 200);
    assert.deepEqual(await rolesOf(await again()), [undefined, undefined], 'nor does an operator');
    const invitations = `/api/v1/organizations/${place.organization_id}/invitations`;
    const invited = must(await owner.post(invitations, { email: 'fixed@example.com', role: 'viewer' }), 201).body;
    must(await (await again()).post('/api/v1/invitations/accept', { token: invited.token }), 200);
    assert.deepEqual(await rolesOf(await again()), ['viewer', 'member'], 'the group gives the project again');
  });

  it('do not bring back a member whom a person removed from a project, until they are added again', async () => {
    const again = () => signIn('project-out', { groups: ['/builders'] });
    const { id } = must(await (await again()).get('/api/v1/me'), 200).body;
    const member = `/api/v1/projects/${place.project_id}/members/${id}`;
    must(await owner.call('DELETE', member), 204);
    assert.deepEqual(await rolesOf(await again()), ['member', undefined], 'a member of the organization still');
    const direct = async () =>
      (await sql.query('select source from project_memberships where user_id = $1', [id])).rows.map(
        (row) => row.source,
      );
    assert.deepEqual(await direct(), []);
    must(await owner.call('PUT', member, { role: 'viewer' }), 200);
    must(await owner.call('DELETE', member), 204);
    await rolesOf(await again());
    assert.deepEqual(await direct(), ['group']);
  });

  it('end when no sign-in confirms them for the time of the setting, also for API tokens and SSH keys', async () => {
    const caller = await signIn('leaver', { groups: ['/builders'] });
    const { id } = must(await caller.get('/api/v1/me'), 200).body;
    const created = await caller.post('/api/v1/tokens', { name: 'year', scopes: ['all'], expires_in_s: 31_536_000 });
    const byToken = test.bearer(must(created, 201).body.token);
    const path = `/api/v1/organizations/${place.organization_id}`;
    must(await byToken.get(path), 200);
    const end = () => endGroupAccess({ database: test.db.database, max_age_days: 30 });
    await sql.query("update users set groups_at = now() - interval '29 days' where id = $1", [id]);
    assert.equal(await end(), 0);
    must(await byToken.get(path), 200);
    await sql.query("update users set groups_at = now() - interval '31 days' where id = $1", [id]);
    await sql.query("insert into clock_guard (seen_at, hold_since, reason, jump_ms) values (now(), now(), 'x', 1)");
    assert.equal(await end(), 0, 'while the clock is in doubt nothing ends');
    await sql.query('delete from clock_guard');
    assert.equal(await end(), 1);
    clock.advance(CACHE_OVER_MS);
    assert.equal((await byToken.get(path)).status, 404);
    assert.equal(await end(), 0);
    const { rows } = await sql.query(
      `select actor_kind, policy from audit_logs where target_id = $1 and action = 'organization.member.remove'`,
      [id],
    );
    assert.deepEqual(rows, [
      { actor_kind: 'system', policy: 'no sign-in confirmed the groups of the user for 30 days' },
    ]);
    must(await admin.post(`${MAPPINGS}/sync`), 200);
    assert.equal((await byToken.get(path)).status, 404, 'a sync does not use groups that are out of date');
    assert.deepEqual(await rolesOf(await signIn('leaver', { groups: ['/builders'] })), ['member', 'member']);
  });

  it('become manual by an accepted invitation of an owner, and of no one else', async () => {
    const caller = await signIn('kept', { groups: ['/admins'] });
    await rolesOf(caller);
    const other = await signIn('other-admin', { groups: ['/admins'] });
    await rolesOf(other);
    const invite = async (by: Caller, role: string) =>
      must(
        await by.post(`/api/v1/organizations/${place.organization_id}/invitations`, {
          email: 'kept@example.com',
          role,
        }),
        201,
      ).body.token;
    const accept = async (token: string) => caller.post('/api/v1/invitations/accept', { token });
    const own = await accept(await invite(caller, 'admin'));
    assert.deepEqual([own.status, own.body.code], [409, 'conflict']);
    assert.match(own.body.detail, /You created this invitation/);
    const colleague = await accept(await invite(other, 'admin'));
    assert.deepEqual([colleague.status, colleague.body.code], [409, 'conflict']);
    assert.match(colleague.body.detail, /Ask an owner to invite you/);
    must(await accept(await invite(owner, 'member')), 200);
    assert.equal((await rolesOf(await signIn('kept', { groups: [] })))[0], 'member');
    assert.equal((await rolesOf(await signIn('other-admin', { groups: [] })))[0], undefined);
  });

  it('admit a person whose group is mapped under the policy `invited`', async () => {
    const policy = '/api/v1/admin/site-policy';
    const { version } = must(await admin.get(policy), 200).body;
    must(await admin.call('PATCH', policy, { sign_up: 'invited' }, { 'if-match': `"v${version}"` }), 200);
    const refused = await (await signIn('mapped', { groups: ['/other'] })).get('/api/v1/me');
    assert.equal(refused.status, 403);
    const caller = await signIn('mapped', { groups: ['/viewers'] });
    const { organizations } = must(await caller.get('/api/v1/me'), 200).body;
    assert.deepEqual(
      organizations.map((one: { name: string }) => one.name),
      ['grouped'],
    );
    must(await admin.call('PATCH', policy, { sign_up: 'open' }, { 'if-match': `"v${version + 1}"` }), 200);
  });

  it('are applied at once by a sync, to the groups of the last sign-in', async () => {
    const first = await signIn('synced', { groups: ['/late', '/soon-gone'] });
    await rolesOf(first);
    const map = async (group: string) =>
      must(await admin.post(MAPPINGS, { group, organization_id: place.organization_id, role: 'member' }), 201).body.id;
    const late = await map('/late');
    const sync = async () => must(await admin.post(`${MAPPINGS}/sync`), 200).body;
    const granted = await sync();
    assert.equal(granted.memberships_granted, 1);
    assert.ok(granted.users_checked >= 1);
    clock.advance(CACHE_OVER_MS);
    assert.equal((await rolesOf(first))[0], 'member');
    assert.deepEqual(
      [(await sync()).memberships_granted, (await sync()).memberships_removed],
      [0, 0],
      'a second one changes nothing',
    );
    must(await admin.call('DELETE', `${MAPPINGS}/${late}`), 204);
    assert.equal((await sync()).memberships_removed, 1);
    clock.advance(CACHE_OVER_MS);
    assert.equal((await rolesOf(first))[0], undefined);
    const { rows } = await sql.query(
      `select actor_id, policy from audit_logs where target_id = (select id from users where subject = 'synced') and action = 'organization.member.remove'`,
    );
    assert.deepEqual(
      rows.map((row) => row.actor_id),
      [admin.me.id],
    );
  });

  it('grant once when a person signs in twice at once', async () => {
    const tokens = await Promise.all(Array.from({ length: 5 }, () => signIn('twice', { groups: ['/builders'] })));
    const roles = await Promise.all(tokens.map(rolesOf));
    for (const found of roles) assert.deepEqual(found, ['member', 'member']);
    const { rows } = await sql.query(
      "select count(*)::int as n from audit_logs where target_id = (select id from users where subject = 'twice') and action like '%.member.update'",
    );
    assert.deepEqual(rows, [{ n: 2 }]);
  });
});
