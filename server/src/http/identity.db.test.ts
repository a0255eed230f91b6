import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Caller, TestResponse } from '../../test/app.ts';
import { acmeStage, CACHE_OVER_MS, join, must, type Tenants, type User } from '../../test/tenants.ts';

const unique = (word: string) => `${word}-${randomUUID().slice(0, 8)}`;
const codes = (answer: TestResponse) => [answer.status, answer.body.code];

describe('identity and tenancy', () => {
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
  const actor = (name: string): Caller => {
    const found = tenants.actors[name];
    assert.ok(found, name);
    return found.caller;
  };
  const newMember = async (tenant: string, role?: string): Promise<User> => {
    const user = await tenants.test.user(unique('person'));
    await join(tenants.sql, tenants.acme, user.me.id, role === undefined ? { tenant } : { tenant, project: role });
    later();
    return user;
  };

  describe('invitations', () => {
    const invite = async (email: string, role = 'member', by: Caller = owner) =>
      must(await by.post(`${org}/invitations`, { email, role }), 201).body;
    const accept = (caller: Caller, token: string) => caller.post('/api/v1/invitations/accept', { token });

    it('make the invited user a member within the promised time, once', async () => {
      const name = unique('invited');
      const person = await tenants.test.user(name);
      const { token, invitation } = await invite(`${name.toUpperCase()}@EXAMPLE.com`, 'viewer');
      assert.equal(invitation.state, 'pending');
      assert.equal((await person.get(org)).status, 404);
      const joined = must(await accept(person, token), 200);
      assert.equal(joined.body.id, tenants.acme.organization_id);
      later();
      assert.equal((await person.get(org)).status, 200);
      assert.deepEqual(codes(await accept(person, token)), [409, 'conflict']);
      const listed = must(await owner.get(`${org}/invitations?limit=200`), 200).body.items;
      assert.equal(listed.find((item: { id: string }) => item.id === invitation.id).state, 'accepted');
    });

    it('are for the verified address alone: other and unverified addresses find nothing', async () => {
      const { token } = await invite('invitee-a@example.com');
      assert.deepEqual(codes(await accept(tenants.rival.owner, token)), [404, 'not_found']);
      const claims = { sub: unique('unverified'), email: 'invitee-a@example.com' };
      for (const email_verified of [false, undefined]) {
        const caller = tenants.test.bearer(await tenants.test.issuer.sign({ ...claims, email_verified }));
        assert.deepEqual(codes(await accept(caller, token)), [404, 'not_found']);
      }
      const wrong = await accept(tenants.rival.owner, `gpuaas_inv_${'x'.repeat(43)}`);
      assert.deepEqual(codes(wrong), [404, 'not_found']);
    });

    it('end when they expire or are revoked', async () => {
      for (const [end, state] of [
        ["update invitations set expires_at = now() - interval '1 second' where id = $1", 'expired'],
        ["update invitations set state = 'revoked' where id = $1", 'revoked'],
      ] as const) {
        const name = unique('late');
        const person = await tenants.test.user(name);
        const { token, invitation } = await invite(`${name}@example.com`);
        await tenants.sql.query(end, [invitation.id]);
        const answer = await accept(person, token);
        assert.deepEqual(codes(answer), [409, 'conflict']);
        assert.match(answer.body.detail, new RegExp(state));
      }
    });

    it('are revoked once, and not after they were accepted', async () => {
      const name = unique('kept');
      const { token, invitation } = await invite(`${name}@example.com`);
      must(await accept(await tenants.test.user(name), token), 200);
      assert.equal((await owner.call('DELETE', `${org}/invitations/${invitation.id}`)).status, 409);
      const other = (await invite('nobody@example.com')).invitation;
      assert.equal((await owner.call('DELETE', `${org}/invitations/${other.id}`)).status, 204);
      assert.equal((await owner.call('DELETE', `${org}/invitations/${other.id}`)).status, 409);
    });

    it('for an owner role come from an owner', async () => {
      const path = `${org}/invitations`;
      const body = { email: 'boss@example.com', role: 'owner' };
      assert.deepEqual(codes(await actor('admin').post(path, body)), [403, 'permission_denied']);
      assert.equal((await owner.post(path, body)).status, 201);
    });
  });

  describe('members', () => {
    const change = (by: Caller, userId: string, role: string, version = 1) =>
      by.call('PATCH', `${org}/members/${userId}`, { role }, { 'if-match': `"v${version}"` });
    const remove = (by: Caller, userId: string) => by.call('DELETE', `${org}/members/${userId}`);

    it('the last owner can be neither demoted nor removed', async () => {
      assert.deepEqual(codes(await change(owner, owner.me.id, 'admin')), [409, 'conflict']);
      assert.deepEqual(codes(await remove(owner, owner.me.id)), [409, 'conflict']);
    });

    it('of two last owners who leave at the same time, one stays', async () => {
      const boss = await tenants.test.user(unique('boss'));
      const { id } = must(await boss.post('/api/v1/organizations', { name: unique('pair') }), 201).body;
      const second = await tenants.test.user(unique('second'));
      await tenants.sql.query(
        "insert into tenant_memberships (organization_id, user_id, role) values ($1, $2, 'owner')",
        [id, second.me.id],
      );
      later();
      const statuses = await Promise.all(
        [boss, second].map(
          async (one) => (await one.call('DELETE', `/api/v1/organizations/${id}/members/${one.me.id}`)).status,
        ),
      );
      assert.deepEqual(new Set(statuses), new Set([204, 409]));
    });

    it('an admin cannot create, demote or become an owner', async () => {
      const admin = await newMember('admin');
      const other = await newMember('member');
      for (const target of [other.me.id, admin.me.id])
        assert.deepEqual(codes(await change(admin, target, 'owner')), [403, 'permission_denied']);
      assert.deepEqual(codes(await change(admin, owner.me.id, 'viewer')), [403, 'permission_denied']);
      assert.deepEqual(codes(await remove(admin, owner.me.id)), [403, 'permission_denied']);
      assert.equal((await change(admin, other.me.id, 'viewer')).status, 200);
    });

    it('a removed member loses every project, and cannot be added to one without joining again', async () => {
      const person = await newMember('member', 'admin');
      assert.equal((await person.get(project)).status, 200);
      const bound = await person.post('/api/v1/tokens', {
        name: 'bound',
        scopes: ['all'],
        expires_in_s: 3600,
        project_id: tenants.acme.ids.project_id,
      });
      const token = tenants.test.bearer(must(bound, 201).body.token);
      assert.equal((await token.get(project)).status, 200);
      const again = must(
        await owner.post(`/api/v1/organizations/${tenants.acme.ids.organization_id}/invitations`, {
          email: person.me.email,
          role: 'member',
        }),
        201,
      );
      assert.equal((await remove(owner, person.me.id)).status, 204);
      later();
      // An open invitation would allow a return.
      assert.equal((await person.post('/api/v1/invitations/accept', { token: again.body.token })).status, 409);
      for (const caller of [person, token]) assert.equal((await caller.get(project)).status, 404);
      const left = await tenants.sql.query('select from project_memberships where user_id = $1', [person.me.id]);
      assert.equal(left.rowCount, 0);
      const put = await owner.call('PUT', `${project}/members/${person.me.id}`, { role: 'viewer' });
      assert.equal(put.status, 404);
    });

    it('a role change takes effect within the promised time', async () => {
      const person = await newMember('viewer');
      assert.equal((await person.get(`${org}/audit-logs`)).status, 403);
      must(await change(owner, person.me.id, 'admin'), 200);
      later();
      assert.equal((await person.get(`${org}/audit-logs`)).status, 200);
    });
  });

  describe('the platform', () => {
    const patch = (by: Caller, path: string, body: unknown, version: number) =>
      by.call('PATCH', path, body, { 'if-match': `"v${version}"` });

    it('keeps its last superadmin', async () => {
      const path = `/api/v1/admin/users/${tenants.superadmin.me.id}`;
      const { version } = must(await tenants.superadmin.get(path), 200).body;
      for (const body of [{ platform_role: null }, { platform_role: 'ops' }, { state: 'disabled' }])
        assert.deepEqual(codes(await patch(tenants.superadmin, path, body, version)), [409, 'conflict']);
      const second = await tenants.test.user(unique('second-root'));
      const other = `/api/v1/admin/users/${second.me.id}`;
      must(await patch(tenants.superadmin, other, { platform_role: 'superadmin' }, 1), 200);
      later();
      assert.equal((await second.get('/api/v1/admin/users')).status, 200);
      must(await patch(second, other, { platform_role: null }, 2), 200);
      later();
      assert.equal((await second.get('/api/v1/admin/users')).status, 403);
    });

    it('ops members read and control runs, and change neither users nor prices', async () => {
      const ops = actor('ops');
      assert.equal((await ops.get('/api/v1/admin/users')).status, 200);
      assert.equal((await patch(ops, `/api/v1/admin/users/${owner.me.id}`, { state: 'disabled' }, 1)).status, 403);
      assert.equal((await patch(ops, '/api/v1/admin/skus/h200-sxm-slice', { enabled: true }, 1)).status, 403);
    });

    it('offers the SKUs, prices and profiles of the reference', async () => {
      const { items } = must(await owner.get('/api/v1/skus'), 200).body;
      const slice = items.find((sku: { name: string }) => sku.name === 'h200-sxm-slice');
      assert.deepEqual(
        [slice.display_name, slice.vendor, slice.gpus_per_node, slice.capacity_shape, slice.allowed_gpu_counts],
        ['NVIDIA H200 GPU VM', 'NVIDIA', 8, 'gpu_slice', [1, 2, 4, 8]],
      );
      assert.deepEqual(slice.gpu_hourly_price, { amount_minor: 450, currency: 'USD' });
      assert.deepEqual(
        slice.vm_profiles.map((one: Record<string, unknown>) => [
          one['name'],
          one['gpu_count'],
          one['vcpu_count'],
          one['memory_mib'],
          one['is_default'],
        ]),
        [
          ['h200_1g_12c_64g', 1, 12, 65_536, false],
          ['h200_1g_24c_64g', 1, 24, 65_536, true],
          ['h200_2g_48c_128g', 2, 48, 131_072, true],
          ['h200_4g_96c_256g', 4, 96, 262_144, true],
          ['h200_8g_192c_512g', 8, 192, 524_288, true],
        ],
      );
      const metal = items.find((sku: { name: string }) => sku.name === 'h200-sxm-baremetal-8g');
      assert.deepEqual([metal.capacity_shape, metal.allowed_gpu_counts, metal.vm_profiles], ['baremetal', [8], []]);
      const only = must(await owner.get('/api/v1/skus?capacity_shape=baremetal'), 200).body.items;
      const shapes = new Set(only.map((sku: { capacity_shape: string }) => sku.capacity_shape));
      assert.deepEqual(
        [only.some((sku: { name: string }) => sku.name === metal.name), shapes],
        [true, new Set(['baremetal'])],
      );
      const regions = must(await owner.get('/api/v1/regions'), 200).body.items;
      const isOpen = (name: string) => regions.find((one: { name: string }) => one.name === name)?.enabled;
      assert.deepEqual(['us-buffalo-1', 'eu-frankfurt-1', 'ae-abudhabi-1'].map(isOpen), [true, false, false]);
      for (const region of regions) assert.equal(region.enabled, region.disabled_reason === null);
      for (const image of must(await owner.get('/api/v1/os-images'), 200).body.items)
        assert.match(image.digest, /^sha256:[0-9a-f]{64}$/);
    });

    it('changes a name or a switch only with the current ETag, and shows why something is disabled', async () => {
      const path = '/api/v1/admin/skus/h200-sxm-baremetal-8g';
      const root = tenants.superadmin;
      assert.equal((await root.call('PATCH', path, { display_name: 'Node' })).status, 428);
      assert.equal((await patch(root, path, { display_name: 'Node' }, 9)).status, 412);
      assert.deepEqual(codes(await patch(root, path, { enabled: false }, 1)), [400, 'invalid_request']);
      const off = must(await patch(root, path, { enabled: false, disabled_reason: 'Sold out.' }, 1), 200);
      assert.deepEqual([off.body.enabled, off.body.disabled_reason, off.headers['etag']], [false, 'Sold out.', '"v2"']);
      const on = must(await patch(root, path, { enabled: true, display_name: 'Node' }, 2), 200).body;
      assert.deepEqual([on.enabled, on.disabled_reason, on.display_name], [true, null, 'Node']);
      const region = '/api/v1/admin/regions/us-buffalo-1';
      assert.deepEqual(codes(await patch(root, region, { enabled: false }, 1)), [400, 'invalid_request']);
      must(await patch(root, region, { enabled: false, disabled_reason: 'Maintenance.' }, 1), 200);
      assert.equal((await patch(root, region, { enabled: true }, 1)).status, 412);
      must(await patch(root, region, { enabled: true }, 2), 200);
      assert.equal((await patch(root, '/api/v1/admin/regions/nowhere', { enabled: true }, 1)).status, 404);
    });
  });
});
