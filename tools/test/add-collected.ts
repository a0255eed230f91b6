/**
 * Run by a coverage test as one of its test files: adds the data collected by other processes to the report, which
 * reads everything in its coverage directory.
 */
import { cpSync } from 'node:fs';
import { test } from 'node:test';

test('coverage that was collected earlier is added', () => {
  const from = process.env['GPUAAS_TEST_COVERAGE_DIR'];
  const to = process.env['NODE_V8_COVERAGE'];
  if (from === undefined || to === undefined) throw new Error('This file is run by tools/test/coverage.ts.');
  cpSync(from, to, { recursive: true });
});
