import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('every line and branch of the scheduler runs in its tests', () => {
  // Inside a test, node --test would report to the outer runner instead of judging by itself.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const run = spawnSync(
    process.execPath,
    [
      '--import',
      fileURLToPath(new URL('../../tools/test/fixed-seed.ts', import.meta.url)),
      '--test',
      '--experimental-test-coverage',
      '--test-coverage-include=scheduler/src/**',
      '--test-coverage-exclude=**/*.test.ts',
      '--test-coverage-lines=100',
      '--test-coverage-branches=100',
      '--test-coverage-functions=100',
      'scheduler/src/*.test.ts',
    ],
    { cwd: ROOT, env, encoding: 'utf8' },
  );
  assert.equal(run.status, 0, run.stdout.slice(run.stdout.lastIndexOf('start of coverage report')));
});
