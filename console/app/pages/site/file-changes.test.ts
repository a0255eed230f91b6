import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SITE_ACTIONS } from '@gpuaas/sdk';
import { appliedText, blockersOf, type Change, groupsOf, plannedText } from './file-changes.ts';

const change = (name: string, action: Change['action'], blockers: string[] = []): Change => ({
  ...{ section: 'regions', name, action, blockers },
  fields: [],
});

test('every action of a plan is in one group, in the order of the plan', () => {
  const all = SITE_ACTIONS.map((action) => change(action, action));
  const groups = groupsOf([...all, change('last', 'create')]);
  assert.deepEqual(
    groups.map(({ title, changes }) => [title, ...changes.map(({ name }) => name)]),
    [
      ['Create', 'create', 'last'],
      ['Change', 'update'],
      ['Retire', 'retire', 'delete', 'cancel'],
    ],
  );
  assert.equal(plannedText(all), '5 changes: 1 to create, 1 to change, 3 to retire.');
  assert.equal(appliedText([change('a', 'cancel')]), '1 change: 1 retired.');
  assert.deepEqual(groupsOf([]), []);
});

test('a blocker of several changes is listed once', () => {
  assert.deepEqual(blockersOf([change('a', 'retire', ['In use.']), change('b', 'retire', ['In use.', 'Too.'])]), [
    'In use.',
    'Too.',
  ]);
});
