import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { type Caller, startTestApp, type TestApp, type TestClock, testClock } from '../../test/app.ts';
import { CACHE_OVER_MS, must } from '../../test/tenants.ts';

const MAPPINGS = '/api/v1/admin/group-mappings';
const SIGNED_IN_S_AGO = 1_000;

describe('an export of the groups of the issuer', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let test: TestApp;
  let clock: TestClock;
  let sql: Client;
  let admin: Awaited<ReturnType<TestApp['admin']>>;
  let place: { organization_id: string; project_id: string };
  let serial = 0;

  before(async () => {
    clock = testClock();
    test = await startTestApp(t, { roles: ['gpuaas-api'] }, { clock });
    sql = new Client({ connectionString: test.db.ownerUrl });
    await sql.connect();
    closers.unshift(() => sql.end());
    admin = await test.admin();
    const owner = await test.user('group-owner');
    const { id: organization_id } = must(await owner.post('/api/v1/organizations', { name: 'grouped' }), 201).body;
    clock.advance(CACHE_OVER_MS);
    const { items } = must(await owner.get(`/api/v1/organizations/${organization_id}/projects`), 200).body;
    place = { organization_id, project_id: items[0].id };
    must(await admin.post(MAPPINGS, { organization_id, group: '/viewers', role: 'viewer' }), 201);
    const project = { organization_id, project_id: place.project_id, group: '/builders', role: 'member' };
    must(await admin.post(MAPPINGS, project), 201);
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const signIn = async (name: string, groups: readonly string[], iat?: number): Promise<Caller> => {
    const caller = test.bearer(
      await test.issuer.sign({
        ...{ sub: name, name, email: `${name}@example.com`, email_verified: true, jti: `${serial}` },
        iat: iat ?? Math.floor(Date.now() / 1000) - SIGNED_IN_S_AGO + serial++,
        groups,
      }),
    );
    must(await caller.get('/api/v1/me'), 200);
    return caller;
  };
  const rolesOf = async (name: string): Promise<readonly (string | undefined)[]> => {
    const { rows } = await sql.query(
      `select (select role from tenant_memberships where user_id = u.id and organization_id = $2) as organization,
         (select role from project_memberships where user_id = u.id and project_id = $3) as project
       from users u where u.subject = $1`,
      [name, place.organization_id, place.project_id],
    );
    return [rows[0]?.organization ?? undefined, rows[0]?.project ?? undefined];
  };
  const membersOf = (groups: Record<string, readonly string[]>, rest: object = {}) => ({
    issuer: test.issuer.url,
    exported_at: new Date().toISOString(),
    groups,
    ...rest,
  });
  const plan = (members: object) => admin.post(`${MAPPINGS}/sync/plan`, { members });
  const apply = (members: object, hash: string, more: object = {}) =>
    admin.post(`${MAPPINGS}/sync/apply`, { members, hash, ...more });
  const applied = async (members: object) => {
    const { hash } = must(await plan(members), 200).body;
    return must(await apply(members, hash, { accept_warnings: true }), 200).body;
  };

  it('ends the access of who left a group since the last sign-in, and gives it to who joined one', async () => {
    const left = await signIn('left', ['/viewers', '/builders']);
    await signIn('joined', []);
    await signIn('stays', ['/viewers']);
    const token = must(await left.post('/api/v1/tokens', { name: 'kept', scopes: ['all'], expires_in_s: 3600 }), 201);
    const byToken = test.bearer(token.body.token);
    const path = `/api/v1/organizations/${place.organization_id}`;
    must(await byToken.get(path), 200);
    must(await admin.post(`${MAPPINGS}/sync`), 200);
    must(await byToken.get(path), 200);

    const members = membersOf({ '/viewers': ['stays', 'joined', 'never-here'], '/builders': ['joined'] });
    const planned = must(await plan(members), 200).body;
    assert.deepEqual(
      planned.changes
        .map((one: Record<string, unknown>) => [
          one['action'],
          one['user_name'],
          one['organization_name'],
          one['project_name'] !== null,
          one['role'],
        ])
        .sort(),
      [
        ['grant', 'joined', 'grouped', false, 'viewer'],
        ['grant', 'joined', 'grouped', true, 'member'],
        ['remove', 'left', 'grouped', false, null],
      ],
    );
    assert.deepEqual([planned.users_unknown, planned.users_newer, planned.warnings], [1, 0, []]);
    assert.deepEqual(await rolesOf('left'), ['viewer', 'member'], 'a plan changes nothing');

    must(await apply(members, planned.hash), 200);
    clock.advance(CACHE_OVER_MS);
    assert.equal((await byToken.get(path)).status, 404, 'an API token lost the access too');
    assert.deepEqual(
      [await rolesOf('left'), await rolesOf('joined'), await rolesOf('stays')],
      [
        [undefined, undefined],
        ['viewer', 'member'],
        ['viewer', undefined],
      ],
    );
    const { rows } = await sql.query(
      `select actor_id, policy from audit_logs where target_id = (select id from users where subject = 'left')
         and action = 'organization.member.remove'`,
    );
    assert.deepEqual(rows, [
      {
        actor_id: admin.me.id,
        policy: 'memberships follow the export of the identity provider that an operator applied',
      },
    ]);
    assert.deepEqual((await applied(membersOf(members.groups))).changes, [], 'a second one changes nothing');
    await left.get('/api/v1/me');
    assert.deepEqual(await rolesOf('left'), [undefined, undefined], 'a token of before the export brings nothing back');
    must(await admin.post(`${MAPPINGS}/sync`), 200);
    assert.deepEqual(await rolesOf('left'), [undefined, undefined], 'nor does a sync without an export');
  });

  it('changes nothing for a user who signed in after it, nor for memberships that people gave', async () => {
    await sql.query("update users set groups_at = groups_at - interval '1 hour'");
    const exported_at = new Date(Date.now() - 60_000).toISOString();
    await signIn('later', ['/viewers'], Math.floor(Date.now() / 1000) - 30);
    const manual = await test.user('manual');
    await sql.query("insert into tenant_memberships (organization_id, user_id, role) values ($1, $2, 'viewer')", [
      place.organization_id,
      manual.me.id,
    ]);
    const done = await applied(membersOf({ '/viewers': ['stays'], '/builders': ['manual'] }, { exported_at }));
    assert.equal(done.users_newer, 1);
    assert.deepEqual(await rolesOf('later'), ['viewer', undefined]);
    assert.deepEqual(await rolesOf('manual'), ['viewer', 'member'], 'the project is by group, the rest is as it was');
    assert.deepEqual((await applied(membersOf({ '/viewers': ['stays'], '/builders': [] }))).users_newer, 0);
    assert.deepEqual(await rolesOf('manual'), ['viewer', undefined]);
  });

  it('that is empty or loses most people is refused until its warnings are accepted', async () => {
    await signIn('a', ['/viewers']);
    await signIn('b', ['/viewers']);
    const nobody = membersOf({ '/viewers': [], '/builders': [] });
    const { hash, warnings, memberships_removed } = must(await plan(nobody), 200).body;
    assert.ok(memberships_removed >= 2);
    assert.match(warnings.join(' '), /no member at all.*lose all of it/);
    const refused = await apply(nobody, hash);
    assert.deepEqual([refused.status, refused.body.code], [409, 'conflict']);
    assert.match(refused.body.detail, /may be incomplete: The export holds no member at all\./);
    assert.deepEqual(await rolesOf('a'), ['viewer', undefined]);
    must(await apply(nobody, hash, { accept_warnings: true }), 200);
    assert.deepEqual(await rolesOf('a'), [undefined, undefined]);
  });

  it('that is certainly incomplete, of another issuer or of the future cannot be used at all', async () => {
    for (const [rest, pointer, message] of [
      [{ groups: { '/viewers': ['a'] } }, '/body/members/groups', /lacks the mapped group "\/builders"/],
      [{ groups: {} }, '/body/members/groups', /lacks the mapped group/],
      [{ issuer: 'https://other.example' }, '/body/members/issuer', /must be the issuer of this site/],
      [{ exported_at: '2999-01-01T00:00:00Z' }, '/body/members/exported_at', /is in the future/],
    ] as const) {
      const members = membersOf({ '/viewers': ['a'], '/builders': [] }, rest);
      for (const answer of [await plan(members), await apply(members, '0'.repeat(16), { accept_warnings: true })]) {
        assert.deepEqual([answer.status, answer.body.errors[0].pointer], [400, pointer]);
        assert.match(answer.body.errors[0].message, message);
      }
    }
  });

  it('is refused where something changed since the plan', async () => {
    await signIn('raced', []);
    const members = membersOf({ '/viewers': ['raced'], '/builders': [] });
    const { hash } = must(await plan(members), 200).body;
    await signIn('raced', ['/viewers']);
    const refused = await apply(members, hash, { accept_warnings: true });
    assert.deepEqual([refused.status, refused.body.code], [409, 'conflict']);
    assert.match(refused.body.detail, /Plan again/);
  });
});
