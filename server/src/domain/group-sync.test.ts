import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type GroupMembers, groupsAfter, indexMembers, membersProblems, syncWarnings } from './group-sync.ts';

const NOW = Date.parse('2026-11-15T10:00:00.000Z');
const members = (groups: Record<string, string[]>, rest: Partial<GroupMembers> = {}): GroupMembers => ({
  issuer: 'https://login.example',
  exported_at: new Date(NOW).toISOString(),
  groups,
  ...rest,
});
const GROUP = fc.constantFrom('a', 'b', 'c', 'd');
const SUBJECT = fc.constantFrom('u', 'v', 'w');
const groups = fc.dictionary(GROUP, fc.uniqueArray(SUBJECT, { maxLength: 3 }));

test('a user has exactly the groups of the export, and of groups that it does not name those of the last sign-in', () => {
  fc.assert(
    fc.property(groups, fc.option(fc.uniqueArray(GROUP)), SUBJECT, (exported, stored, subject) => {
      const after = groupsAfter(stored, indexMembers(members(exported)), subject);
      for (const group of ['a', 'b', 'c', 'd'] as const) {
        const wanted =
          group in exported ? exported[group]?.includes(subject) : (stored as string[] | null)?.includes(group);
        assert.equal(after?.includes(group) ?? false, wanted ?? false, group);
      }
      assert.ok(after === null || after.length > 0);
      assert.equal(new Set(after).size, after?.length ?? 0);
    }),
  );
});

test('a mapped group that is missing makes the export unusable, an empty one does not', () => {
  const facts = { issuer: 'https://login.example', mapped: ['a', 'b', 'a'], now_ms: NOW };
  assert.deepEqual(membersProblems(members({ a: [], b: ['u'], other: [] }), facts), []);
  assert.deepEqual(
    membersProblems(members({ a: [] }), facts).map(({ pointer }) => pointer),
    ['/groups'],
  );
  assert.equal(membersProblems(members({}, { issuer: 'https://login.example/' }), facts).length, 3);
  const ahead = members({ a: [], b: [] }, { exported_at: new Date(NOW + 6_000).toISOString() });
  assert.equal(membersProblems(ahead, facts)[0]?.message, 'is in the future');
});

test('what a cut export looks like is a warning, and a complete one has none', () => {
  const facts = {
    ...{ now_ms: NOW, known: 3, holders: 4, losing_all: 0 },
    ...{ mapped: ['a', 'b'], stored: new Map([['b', 2]]) },
  };
  const warn = (found: GroupMembers, rest: Partial<typeof facts> = {}) =>
    syncWarnings(found, { ...facts, ...rest }).join('\n');
  assert.equal(warn(members({ a: ['u'], b: ['v'] })), '');
  assert.match(warn(members({ a: [], b: [] })), /^The export holds no member at all\.$/);
  assert.equal(warn(members({ a: [], b: [] }), { holders: 0 }), '', 'no user loses access');
  assert.match(warn(members({ a: ['u'], b: [] })), /"b" has no members in the export, but 2 users have roles from it/);
  const once = { stored: new Map([['b', 1]]) };
  assert.match(warn(members({ a: ['u'] }), once), /"b" has no members in the export, but 1 user has roles from it/);
  assert.match(warn(members({ a: ['u'], b: ['v'] }), { known: 0 }), /holds the subjects/);
  assert.match(warn(members({ a: ['u'], b: ['v'] }), { losing_all: 3 }), /3 of the 4 users .* lose all of it/);
  assert.equal(warn(members({ a: ['u'], b: ['v'] }), { losing_all: 2 }), '');
  const page = Array.from({ length: 100 }, (_, n) => `u${n}`);
  assert.match(warn(members({ a: page, b: ['v'] })), /"a" has exactly 100 members, as a cut list does/);
  assert.equal(warn(members({ a: page.slice(1), b: ['v'] })), '');
  const old = members({ a: ['u'], b: ['v'] }, { exported_at: new Date(NOW - 5 * 3_600_000).toISOString() });
  assert.match(warn(old), /^The export is 5 h old/);
});
