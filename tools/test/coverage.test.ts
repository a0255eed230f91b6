import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { coverageEnv, isJudge, JUDGES } from './coverage.ts';

test('a file beside measured sources collects its coverage, without the compile cache', () => {
  const env = { PATH: '/bin', NODE_COMPILE_CACHE: '/tmp/compiled' };
  const collecting = coverageEnv('scheduler/src/place.test.ts', env, '/tmp/run');
  assert.deepEqual(collecting, { PATH: '/bin', NODE_V8_COVERAGE: '/tmp/run/scheduler__src__place.test.ts' });
  assert.deepEqual(coverageEnv('kit/src/id.test.ts', env, '/tmp/run'), env);
  for (const judge of Object.keys(JUDGES))
    assert.deepEqual(coverageEnv(judge, env, '/tmp/run'), { ...env, GPUAAS_TEST_COVERAGE_DIR: '/tmp/run' });
});

test('every coverage test exists, and so do the files it measures', () => {
  const root = join(import.meta.dirname, '../..');
  for (const [judge, { directories, also }] of Object.entries(JUDGES)) {
    assert.ok(isJudge(judge));
    for (const directory of directories) assert.ok(readdirSync(join(root, directory)).length > 0);
    for (const file of [judge, ...also])
      assert.ok(readdirSync(join(root, file, '..')).includes(file.split('/').at(-1) ?? ''), file);
  }
});
