import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeCoverage } from '../../tools/test/coverage.ts';

test('every line and branch of the scheduler runs in its tests', () => {
  const { files, findings } = judgeCoverage('scheduler/test/coverage.test.ts');
  assert.deepEqual(findings, []);
  assert.ok(files > 8);
});
