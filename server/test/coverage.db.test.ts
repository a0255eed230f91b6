/** Rules about capacity, money and trust are covered to the last branch by the tests beside them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeCoverage } from '../../tools/test/coverage.ts';

test('every line and branch of domain and placement runs in their tests', () => {
  const { files, findings } = judgeCoverage('server/test/coverage.db.test.ts');
  assert.deepEqual(findings, []);
  assert.ok(files > 10);
});
