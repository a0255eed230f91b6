import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chargeEndRefusal, releaseRefusal } from './restore.ts';

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

test('an operator ends a charge only of an allocation that was charged, on a node that a restore holds', () => {
  assert.match(chargeEndRefusal(undefined)?.reason ?? '', /never charged/);
  assert.match(chargeEndRefusal({ is_node_held: false })?.reason ?? '', /not held by a restore/);
  assert.equal(chargeEndRefusal({ is_node_held: true }), null);
});
