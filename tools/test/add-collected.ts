/**
 * Run by a coverage judge as one of its test files: hands what other processes collected to the report, which reads all
 * that lies in the directory of the coverage it measures.
 */
import { cpSync } from 'node:fs';
import { test } from 'node:test';

test('coverage that was collected earlier is added', () => {
  const from = process.env['GPUAAS_TEST_COVERAGE_DIR'];
  const to = process.env['NODE_V8_COVERAGE'];
  if (from === undefined || to === undefined) throw new Error('This file is run by tools/test/coverage.ts.');
  cpSync(from, to, { recursive: true });
});
