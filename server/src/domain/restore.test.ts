import assert from 'node:assert/strict';
import { test } from 'node:test';
import { releaseRefusal } from './restore.ts';

test('held tasks are released once the host reported and agrees, or its findings are accepted', () => {
  const at = '2026-01-01T00:00:00.000Z';
  const no = { accepts_findings: false };
  const yes = { accepts_findings: true };
  assert.equal(releaseRefusal(undefined, no)?.is_done, true);
  assert.match(releaseRefusal({ inventory_at: null, findings: 0 }, yes)?.reason ?? '', /no inventory report/);
  assert.match(releaseRefusal({ inventory_at: at, findings: 2 }, no)?.reason ?? '', /2 findings/);
  assert.equal(releaseRefusal({ inventory_at: at, findings: 2 }, yes), null);
  assert.equal(releaseRefusal({ inventory_at: at, findings: 0 }, no), null);
});
