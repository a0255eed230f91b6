import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOTHING_CLAIMED, projectDeleteRefusal } from './project-actions.ts';

const reason = (holdings: Partial<typeof NOTHING_CLAIMED>) =>
  projectDeleteRefusal({ ...NOTHING_CLAIMED, ...holdings })?.reason ?? null;

test('an empty project may be deleted', () => {
  assert.equal(reason({}), null);
});

test('a project with allocations is kept, and the refusal names them', () => {
  assert.equal(
    reason({ allocations: ['train'], service_accounts: 2 }),
    'The project holds 1 allocation (train). Release it and wait for the cleanup.',
  );
  assert.match(reason({ allocations: ['a', 'b', 'c', 'd', 'e'] }) ?? '', /holds 5 allocations \(a, b, c, 2 more\)/);
});

test('a project with service accounts is kept', () => {
  assert.equal(reason({ service_accounts: 1 }), 'The project holds 1 service account. Delete it first.');
});
