import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type AccessChange,
  type BlockedPlace,
  type HeldRole,
  type MappedRole,
  planGroupAccess,
} from './group-access.ts';

const ORGANIZATIONS = ['org_a', 'org_b'];
const PROJECTS = { org_a: ['prj_a1', 'prj_a2'], org_b: ['prj_b1'] } as const;
const role = fc.constantFrom('admin', 'member', 'viewer');

const place = fc.constantFrom(
  ...ORGANIZATIONS.flatMap((organization_id) => [
    { organization_id, project_id: null as string | null },
    ...PROJECTS[organization_id as 'org_a'].map((project_id) => ({ organization_id, project_id })),
  ]),
);
const mapped = fc.array(fc.record({ place, role }).map(({ place: at, role: is }): MappedRole => ({ ...at, role: is })));

/** As the schema allows: a project membership needs one in the organization. */
const held = fc
  .uniqueArray(
    fc.record({
      place,
      role: fc.constantFrom('owner', 'admin', 'member', 'viewer'),
      source: fc.constantFrom('manual', 'group'),
    }),
    {
      selector: ({ place: at }) => at.project_id ?? at.organization_id,
    },
  )
  .map((rows) => {
    const all = rows.map(({ place: at, ...rest }) => {
      const isOwner = rest.role === 'owner' && (at.project_id !== null || rest.source === 'group');
      return { ...at, ...rest, role: isOwner ? 'admin' : rest.role } as HeldRole;
    });
    const members = new Set(all.filter((one) => one.project_id === null).map((one) => one.organization_id));
    return all.filter((one) => one.project_id === null || members.has(one.organization_id));
  });

const keyOf = (one: Readonly<{ organization_id: string; project_id: string | null }>) =>
  one.project_id ?? one.organization_id;

const after = (rows: readonly HeldRole[], changes: readonly AccessChange[]): HeldRole[] => {
  const now = new Map(rows.map((one) => [keyOf(one), one]));
  for (const change of changes) {
    const { organization_id, project_id } = change;
    if (change.kind !== 'remove') {
      if (project_id !== null) assert.ok(now.has(organization_id), 'a project member is a member of the organization');
      now.set(keyOf(change), { organization_id, project_id, role: change.role, source: 'group' });
      continue;
    }
    now.delete(keyOf(change));
    if (project_id === null)
      for (const one of [...now.values()]) if (one.organization_id === organization_id) now.delete(keyOf(one));
  }
  return [...now.values()];
};

test('the plan makes memberships by groups follow the groups, and planning again changes nothing', () => {
  fc.assert(
    fc.property(mapped, held, (wanted, rows) => {
      const result = after(rows, planGroupAccess(wanted, rows, []));
      assert.deepEqual(planGroupAccess(wanted, result, []), []);
      const places = new Set([...wanted.map(keyOf), ...wanted.map((one) => one.organization_id)]);
      for (const one of result) if (one.source === 'group') assert.ok(places.has(keyOf(one)));
      for (const key of places)
        assert.ok(
          result.some((one) => keyOf(one) === key),
          key,
        );
    }),
  );
});

test('a membership that a person gave keeps its role and source', () => {
  fc.assert(
    fc.property(mapped, held, (wanted, rows) => {
      const result = after(rows, planGroupAccess(wanted, rows, []));
      for (const one of rows.filter(({ source, project_id }) => source === 'manual' && project_id === null))
        assert.deepEqual(
          result.find((row) => keyOf(row) === keyOf(one)),
          one,
        );
    }),
  );
});

test('groups give nothing where a person removed the user, and elsewhere what they would give anyway', () => {
  const blocked = fc.array(place.map((at): BlockedPlace => at));
  fc.assert(
    fc.property(mapped, held, blocked, (wanted, rows, out) => {
      const result = after(rows, planGroupAccess(wanted, rows, out));
      assert.deepEqual(planGroupAccess(wanted, result, out), []);
      const isOut = (one: Readonly<{ organization_id: string; project_id: string | null }>) =>
        out.some(
          (at) =>
            keyOf(at) === keyOf(one) ||
            (at.organization_id === keyOf({ ...one, project_id: null }) && at.project_id === null),
        );
      for (const one of result) assert.ok(one.source === 'manual' || !isOut(one), keyOf(one));
      for (const one of after(rows, planGroupAccess(wanted, rows, [])))
        if (!isOut(one) && one.source === 'group')
          assert.ok(
            result.some((row) => keyOf(row) === keyOf(one)),
            keyOf(one),
          );
    }),
  );
});

test('the highest role of several groups counts', () => {
  const at = { organization_id: 'org_a', project_id: null };
  const roles = (['viewer', 'admin', 'member'] as const).map((is) => ({ ...at, role: is }));
  assert.deepEqual(planGroupAccess(roles, [], []), [{ ...at, kind: 'grant', role: 'admin' }]);
});
