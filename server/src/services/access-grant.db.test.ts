import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { aGrant } from '../../test/access.ts';
import { type Caller, startTestApp, type TestResponse, testClock } from '../../test/app.ts';
import { playHost } from '../../test/host.ts';
import { aNode, anAllocation, type TestAllocation } from '../../test/placement.ts';
import { newActive } from '../../test/scenarios-allocation.ts';
import {
  auditRowsOf,
  CACHE_OVER_MS,
  join,
  makeTenants,
  must,
  newSshKey,
  type Tenants,
  type User,
} from '../../test/tenants.ts';
import { until } from '../../test/until.ts';
import { listAuthorizedKeys } from '../db/access-grant.ts';
import { PLATFORM } from '../db/client.ts';
import { REASONS } from '../domain/reasons.ts';

/** Grants that lost their reason are revoked in its next turn. */
const OFTEN = { 'revoke-grants': 100 };

describe('access grants', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let tenants: Tenants;

  before(async () => {
    const clock = testClock();
    tenants = await makeTenants(t, await startTestApp(t, {}, { clock, intervals_ms: OFTEN }), clock);
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const actor = (name: string): Caller => tenants.actors[name]?.caller ?? assert.fail(name);
  const path = (allocation: Readonly<{ id: string }>, rest = '') =>
    `/api/v1/projects/${tenants.acme.ids.project_id}/allocations/${allocation.id}/access-grants${rest}`;
  const newKey = async (caller: Caller, public_key = newSshKey()): Promise<string> =>
    must(await caller.post('/api/v1/ssh-keys', { name: randomUUID(), public_key }), 201).body.id;
  const grant = (caller: Caller, allocation: Readonly<{ id: string }>, ssh_key_id: string): Promise<TestResponse> =>
    caller.post(path(allocation), { ssh_key_id });
  const revoke = (caller: Caller, allocation: TestAllocation, id: string): Promise<TestResponse> =>
    caller.call('DELETE', path(allocation, `/${id}`));
  const stateOf = async (id: string): Promise<string> =>
    (await tenants.sql.query('select state from allocation_access_grants where id = $1', [id])).rows[0].state;
  const newMember = async (): Promise<User> => {
    const user = await tenants.test.user(`member-${randomUUID().slice(0, 8)}`);
    await join(tenants.sql, tenants.acme, user.me.id, { tenant: 'member', project: 'member' });
    tenants.clock.advance(CACHE_OVER_MS);
    return user;
  };
  /** The worker of the app installs keys, a host of the test receives them. */
  const reaches = (id: string, state: string) =>
    until(`the grant is ${state}`, async () => {
      await playHost(tenants.test.db.database);
      return (await stateOf(id)) === state;
    });

  it('are installed on a running VM and removed again, and both are audited and emitted', async () => {
    const slice = await newActive(tenants);
    const member = await newMember();
    const made = must(await grant(member, slice, await newKey(member)), 201);
    assert.deepEqual([made.body.state, made.body.user_id], ['pending', member.me.id]);
    await reaches(made.body.id, 'installed');
    const taken = must(await revoke(member, slice, made.body.id), 202);
    assert.deepEqual([taken.body.state, taken.body.revoked_at === null], ['revoking', false]);
    await reaches(made.body.id, 'revoked');
    const audited = await tenants.sql.query('select action from audit_logs where target_id = $1 order by id', [
      made.body.id,
    ]);
    assert.deepEqual(
      audited.rows.map(({ action }) => action),
      ['create', 'installed', 'revoke', 'revoked'].map((word) => `allocation.access_grant.${word}`),
    );
    const told = await tenants.sql.query(
      "select data ->> 'state' as state from outbox_events where subject = $1 order by id",
      [made.body.id],
    );
    assert.deepEqual(
      told.rows.map(({ state }) => state),
      ['pending', 'installed', 'revoking', 'revoked'],
    );
    assert.equal((await auditRowsOf(tenants, made.headers['x-correlation-id'] ?? '')).length, 2);
    const listed = must(await actor('viewer').get(path(slice)), 200).body.items;
    assert.deepEqual(
      listed.map((one: { state: string }) => one.state),
      ['revoked'],
    );
  });

  /** A running slice that was launched with these keys. */
  const launchedWith = async (...keys: readonly string[]) => {
    const slice = await newActive(tenants);
    await tenants.sql.query('update allocations set ssh_key_ids = $2 where id = $1', [slice.id, keys]);
    return slice;
  };
  const keysOf = async ({ id }: Readonly<{ id: string }>): Promise<string[]> =>
    (await tenants.sql.query('select ssh_key_ids from allocations where id = $1', [id])).rows[0].ssh_key_ids;
  const lostKeys = async ({ id }: Readonly<{ id: string }>) =>
    (
      await tenants.sql.query<{ id: string; ssh_key_id: string; state_reason: string }>(
        'select id, ssh_key_id, state_reason from allocation_access_grants where allocation_id = $1 and revoked_at is not null',
        [id],
      )
    ).rows;

  it('launch keys are removed from the VM with the member, and no later install restores them', async () => {
    const member = await newMember();
    const [lost, kept] = [await newKey(member), await newKey(tenants.acme.owner)];
    const slice = await launchedWith(lost, kept);
    const authorized = () =>
      tenants.test.db.database.read(PLATFORM, (reader) =>
        listAuthorizedKeys(reader, { id: slice.id, ssh_key_ids: [lost, kept] }),
      );
    assert.equal((await authorized()).length, 2);
    await tenants.sql.query("update users set platform_role = 'ops' where id = $1", [member.me.id]);
    await tenants.sql.query('delete from project_memberships where user_id = $1', [member.me.id]);
    assert.equal((await authorized()).length, 1, 'not even before anybody noticed');
    await until('it is noticed', async () => (await lostKeys(slice)).length === 1);
    const [grantOfIt] = await lostKeys(slice);
    assert.equal(grantOfIt?.state_reason, REASONS.owner_left_project);
    await reaches(grantOfIt?.id ?? '', 'revoked');
    assert.deepEqual(await keysOf(slice), [kept]);
  });

  it('launch keys are removed from the VM when they are deleted', async () => {
    const member = await newMember();
    const key = await newKey(member);
    const slice = await launchedWith(key);
    assert.equal((await tenants.acme.owner.call('DELETE', `/api/v1/ssh-keys/${key}`)).status, 404);
    assert.deepEqual(await keysOf(slice), [key], 'another user’s key');
    assert.equal((await member.call('DELETE', `/api/v1/ssh-keys/${key}`)).status, 204);
    const [grantOfIt] = await lostKeys(slice);
    assert.deepEqual([grantOfIt?.ssh_key_id, grantOfIt?.state_reason], [key, REASONS.key_deleted]);
    await reaches(grantOfIt?.id ?? '', 'revoked');
    assert.deepEqual(await keysOf(slice), []);
  });

  it('launch keys stay if deleting them fails', async () => {
    const member = await newMember();
    const key = await newKey(member);
    const slice = await launchedWith(key);
    await tenants.sql.query(`create function refuse_delete() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
      create trigger refuse_delete before delete on ssh_keys for each row execute function refuse_delete()`);
    assert.equal((await member.call('DELETE', `/api/v1/ssh-keys/${key}`)).status, 500);
    await tenants.sql.query('drop trigger refuse_delete on ssh_keys; drop function refuse_delete');
    assert.deepEqual([await keysOf(slice), await lostKeys(slice)], [[key], []]);
  });

  it('deleting many keys at once takes one connection each', async () => {
    const member = await newMember();
    const missing = Array.from({ length: 40 }, () => member.call('DELETE', `/api/v1/ssh-keys/${mintId('key')}`));
    const statuses = new Set((await Promise.all(missing)).map(({ status }) => status));
    assert.deepEqual([...statuses], [404]);
  });

  it('are for one’s own keys; project admins may grant keys of project members', async () => {
    const slice = await newActive(tenants);
    const member = await newMember();
    const stranger = await newKey(tenants.rival.owner);
    const key = await newKey(member);
    for (const caller of [actor('project_member'), actor('project_admin'), actor('admin')]) {
      assert.equal((await grant(caller, slice, stranger)).status, 404);
    }
    assert.equal((await grant(actor('project_member'), slice, key)).status, 404);
    const made = must(await grant(actor('project_admin'), slice, key), 201);
    assert.equal(made.body.user_id, member.me.id);
    const outside = await tenants.test.user(`outside-${randomUUID().slice(0, 8)}`);
    await join(tenants.sql, tenants.acme, outside.me.id, { tenant: 'member' });
    assert.equal((await grant(tenants.acme.owner, slice, await newKey(outside))).status, 404);
    for (const name of ['project_viewer', 'viewer', 'service_account'])
      assert.equal((await grant(actor(name), slice, key)).status, 403);
    // Its owner, its creator and a project admin may revoke it.
    assert.equal((await revoke(actor('project_member'), slice, made.body.id)).status, 403);
    assert.equal((await revoke(member, slice, made.body.id)).status, 202);
    assert.equal((await revoke(actor('admin'), slice, made.body.id)).status, 202);
  });

  it('are one per key, not for launch keys, and limited in number per VM', async () => {
    const slice = await newActive(tenants);
    const { owner } = tenants.acme;
    const public_key = newSshKey();
    const key = await newKey(owner, public_key);
    must(await grant(owner, slice, key), 201);
    assert.equal((await grant(owner, slice, key)).body.code, 'already_exists');
    // The same key under another user's name is the same key.
    const member = await newMember();
    assert.equal((await grant(member, slice, await newKey(member, public_key))).body.code, 'already_exists');
    const launched = await newActive(tenants);
    await tenants.sql.query('update allocations set ssh_key_ids = $2 where id = $1', [launched.id, [key]]);
    assert.equal((await grant(owner, launched, key)).body.code, 'already_exists');
    assert.equal((await grant(member, launched, await newKey(member))).status, 201);
    const full = await newActive(tenants);
    for (let n = 0; n < 100; n++) await aGrant(tenants.sql, full, owner.me.id);
    assert.equal((await grant(owner, full, await newKey(owner))).body.code, 'conflict');
  });

  it('that failed are retried by granting or revoking again', async () => {
    const slice = await newActive(tenants);
    const { owner } = tenants.acme;
    const id = await aGrant(tenants.sql, slice, owner.me.id, 'failed');
    const { rows } = await tenants.sql.query('select ssh_key_id from allocation_access_grants where id = $1', [id]);
    const again = must(await grant(owner, slice, rows[0].ssh_key_id), 201).body;
    assert.deepEqual([again.id, again.state, again.state_reason], [id, 'pending', null]);
    await reaches(id, 'installed');
    const failed = await aGrant(tenants.sql, slice, owner.me.id, 'failed');
    assert.equal(must(await revoke(owner, slice, failed), 202).body.state, 'revoking');
    await reaches(failed, 'revoked');
  });

  it('wait for the first boot when made before it, and are refused on ended allocations', async () => {
    const { organization_id, project_id } = tenants.acme.ids;
    const inState = async (state: 'provisioning' | 'releasing') =>
      anAllocation(tenants.sql, { node: await aNode(tenants.sql), tenant: { organization_id, project_id }, state });
    const key = await newKey(tenants.acme.owner);
    assert.equal((await grant(tenants.acme.owner, await inState('releasing'), key)).status, 409);
    const early = await inState('provisioning');
    assert.equal(must(await grant(tenants.acme.owner, early, key), 201).body.state, 'pending');
    const runs = await tenants.sql.query('select from workflow_runs where subject_id = $1', [early.id]);
    assert.equal(runs.rowCount, 0);
  });

  const roleIn = (user: User) => `/api/v1/organizations/${tenants.acme.organization_id}/members/${user.me.id}`;
  const leavesGroups = async (user: User) => {
    await tenants.sql.query(
      "update tenant_memberships set source = 'group' where user_id = $1 and organization_id = $2",
      [user.me.id, tenants.acme.organization_id],
    );
    return tenants.superadmin.post('/api/v1/admin/group-mappings/sync', {});
  };

  for (const { what, leave } of [
    {
      what: 'who is removed from the project',
      leave: (user: User) =>
        tenants.acme.owner.call('DELETE', `/api/v1/projects/${tenants.acme.ids.project_id}/members/${user.me.id}`),
    },
    {
      what: 'who is removed from the organization',
      leave: (user: User) => tenants.acme.owner.call('DELETE', roleIn(user)),
    },
    {
      what: 'whose role in the organization no longer reaches the project',
      leave: async (user: User) => {
        await tenants.sql.query('delete from project_memberships where user_id = $1', [user.me.id]);
        await tenants.sql.query(
          "update tenant_memberships set role = 'admin', version = 7 where user_id = $1 and organization_id = $2",
          [user.me.id, tenants.acme.organization_id],
        );
        return tenants.acme.owner.call('PATCH', roleIn(user), { role: 'member' }, { 'if-match': '"v7"' });
      },
    },
    { what: 'whose group ended', leave: leavesGroups },
    {
      what: 'whose account is disabled',
      leave: async (user: User) => {
        const url = `/api/v1/admin/users/${user.me.id}`;
        const { version } = must(await tenants.superadmin.get(url), 200).body;
        return tenants.superadmin.call('PATCH', url, { state: 'disabled' }, { 'if-match': `"v${version}"` });
      },
    },
    {
      what: 'whose key is deleted',
      leave: async (user: User) => {
        const { items } = must(await user.get('/api/v1/ssh-keys'), 200).body;
        return user.call('DELETE', `/api/v1/ssh-keys/${items[0].id}`);
      },
    },
  ])
    it(`of a user ${what} are removed from the VM, with the system as the actor`, async () => {
      const slice = await newActive(tenants);
      const member = await newMember();
      const { id } = must(await grant(member, slice, await newKey(member)), 201).body;
      await reaches(id, 'installed');
      const left = await leave(member);
      assert.ok(left.status < 300, JSON.stringify(left.body));
      await reaches(id, 'revoked');
      const { rows } = await tenants.sql.query(
        `select l.actor_kind, l.correlation_id, l.metadata ->> 'reason' as reason, r.workflow
         from audit_logs l join workflow_runs r on r.id = l.metadata ->> 'workflow_run_id'
         where l.target_id = $1 and l.action = 'allocation.access_grant.revoke'`,
        [id],
      );
      // The run may be that of the grant, which has not ended yet: so the audit row names it.
      assert.deepEqual(
        rows.map((row) => [row.actor_kind, row.correlation_id, row.workflow]),
        [['system', left.headers['x-correlation-id'], 'install-keys']],
      );
      assert.match(rows[0].reason, /left|disabled|deleted/);
    });
});
