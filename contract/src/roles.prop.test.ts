import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isMutation } from './define.ts';
import { api } from './public/index.ts';
import { PERMISSIONS, ROLES, type RoleName, roleHolds, roleRefusal, scopeAllows, scopeReach } from './roles.ts';

const scope = fc.oneof(
  fc.constantFrom('all', 'read', 'self.*', 'service_account.*', 'admin.*'),
  fc.constantFrom(...PERMISSIONS),
);

/** POSTs that write nothing: their requests do not fit a query string. */
const ONLY_READ = ['allocationEstimate', 'adminSitePlan', 'adminGroupSyncPlan'];

describe('roles', () => {
  it('every operation names a permission that some role holds, and every permission is used by an operation', () => {
    const used = new Set<string>();
    for (const [id, operation] of Object.entries(api)) {
      if (operation.permission === null) {
        assert.equal(operation.access, 'public', id);
        continue;
      }
      used.add(operation.permission);
      assert.ok(
        Object.keys(ROLES).some((role) => roleHolds(role as RoleName, operation.permission)),
        id,
      );
    }
    // The ticket's kind decides its permission: viewing a console needs less than typing into it.
    assert.deepEqual(
      PERMISSIONS.filter((permission) => !used.has(permission)),
      ['allocation.connect'],
    );
  });

  it('access, path, audit and idempotency of every operation agree', () => {
    for (const [id, operation] of Object.entries(api)) {
      assert.equal(operation.access === 'project', operation.path.includes('{project_id}'), id);
      assert.equal(operation.access === 'tenant', operation.path.includes('{organization_id}'), id);
      assert.equal(operation.access === 'platform', operation.path.startsWith('/api/v1/admin/'), id);
      assert.equal(isMutation(operation), operation.method !== 'GET' && !ONLY_READ.includes(id), id);
      // A ticket is valid once and for half a minute: a lost response is not worth storing.
      const isKept = operation.access !== 'public' && id !== 'terminalTicketCreate';
      if (operation.method === 'POST' && isKept && isMutation(operation))
        assert.equal(operation.idempotency, 'required', id);
      const named = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      assert.deepEqual(named, Object.keys('params' in operation ? operation.params.properties : {}), id);
    }
  });

  it('every location is a valid path template', () => {
    const shape = (path: string) => path.replaceAll(/\{[^}]+\}/g, '{}');
    const readable = new Set(
      Object.values(api).flatMap((operation) => (operation.method === 'GET' ? [shape(operation.path)] : [])),
    );
    for (const [id, operation] of Object.entries(api)) {
      if ('location' in operation) assert.ok(readable.has(shape(operation.location)), id);
      if (operation.status === 202) assert.ok('location' in operation, id);
    }
  });

  it('a service account never holds permissions over people, tokens or the platform', () => {
    for (const permission of ROLES.service_account)
      assert.doesNotMatch(permission, /member|token|admin|invitation|ssh_key/);
  });

  it('an owner holds everything an admin does, an admin everything a member does', () => {
    const within = (small: RoleName, large: RoleName) =>
      ROLES[small].every((permission) => roleHolds(large, permission));
    assert.ok(within('tenant:admin', 'tenant:owner'));
    assert.ok(within('tenant:member', 'tenant:admin'));
    assert.ok(within('project:viewer', 'project:member'));
    assert.ok(within('project:member', 'project:admin'));
    assert.ok(within('project:admin', 'tenant:admin'));
    assert.ok(within('platform:ops', 'platform:superadmin'));
  });
});

describe('scopes', () => {
  it('adding scopes never reduces access, and access is exactly what the scopes allow', () => {
    fc.assert(
      fc.property(fc.array(scope), fc.array(scope), (some, more) => {
        const reach = scopeReach(some);
        for (const permission of reach)
          assert.ok(scopeAllows(some, permission) && scopeAllows([...some, ...more], permission));
      }),
    );
  });

  it('`read` reaches no permission that changes anything', () => {
    for (const operation of Object.values(api))
      if (operation.permission !== null && isMutation(operation))
        assert.equal(scopeAllows(['read'], operation.permission), false, operation.permission);
  });
});

it('a refusal by role names the least role that holds the permission', () => {
  assert.equal(
    roleRefusal('allocation.release'),
    'Your role does not hold allocation.release; this needs a member of the project.',
  );
  assert.match(roleRefusal('audit.read'), /this needs an admin of the organization\.$/);
  assert.match(roleRefusal('admin.trust.update'), /this needs a superadmin of the platform\.$/);
});
