import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { coverageEnv, isJudge, JUDGES } from './coverage.ts';

test('files beside measured sources collect their coverage together, without the compile cache', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-coverage-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const env = { PATH: '/bin', NODE_COMPILE_CACHE: '/tmp/compiled' };
  const files = ['scheduler/src/place.test.ts', 'scheduler/src/filters.test.ts'];
  const directory = join(dir, 'scheduler__src__place.test.ts');
  assert.deepEqual(coverageEnv(files, env, dir), { PATH: '/bin', NODE_V8_COVERAGE: directory });
  assert.equal(readFileSync(join(dir, 'scheduler__src__filters.test.ts.in'), 'utf8'), directory);
  assert.deepEqual(coverageEnv(['kit/src/id.test.ts'], env, dir), env);
  for (const judge of Object.keys(JUDGES))
    assert.deepEqual(coverageEnv([judge], env, dir), { ...env, GPUAAS_TEST_COVERAGE_DIR: dir });
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
