/**
 * Rules that decide about capacity, money and trust are run to the last branch by the tests beside them. A file that no
 * test loads would not show up in the report at all, so the report is held against the folders.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = ['server/src/domain', 'server/src/placement'];
/** Placement is also what a launch does, and refusals need the whole of one. */
const ALSO = ['server/src/services/allocation.db.test.ts'];

const files = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`),
);
const isTest = (file: string): boolean => file.endsWith('.test.ts');

/** What is left of a file without its types and comments; nothing is nothing to run. */
const isCode = (file: string): boolean =>
  stripTypeScriptTypes(readFileSync(join(ROOT, file), 'utf8'))
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    .trim() !== '';

/** Lines and branches that never ran, by file, out of an lcov report. */
const readReport = (report: string): ReadonlyMap<string, readonly string[]> =>
  new Map(
    report
      .split('end_of_record\n')
      .filter((record) => record.includes('SF:'))
      .map((record) => [
        /^SF:(.*)$/m.exec(record)?.[1] ?? '',
        [
          ...[...record.matchAll(/^DA:(\d+),0$/gm)].map((match) => `line ${match[1]}`),
          ...[...record.matchAll(/^BRDA:(\d+),\d+,\d+,0$/gm)].map((match) => `branch at line ${match[1]}`),
        ],
      ]),
  );

test('every line and branch of domain and placement runs in their tests', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-coverage-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  // Inside a test, node --test would report to the outer runner instead of by itself.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const run = spawnSync(
    process.execPath,
    [
      '--import',
      fileURLToPath(new URL('../../tools/test/fixed-seed.ts', import.meta.url)),
      '--test',
      '--experimental-test-coverage',
      ...FOLDERS.map((folder) => `--test-coverage-include=${folder}/**/*.ts`),
      '--test-coverage-exclude=**/*.test.ts',
      '--test-reporter=lcov',
      `--test-reporter-destination=${join(dir, 'lcov')}`,
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      ...files.filter(isTest),
      ...ALSO,
    ],
    { cwd: ROOT, env, encoding: 'utf8', maxBuffer: 1 << 26 },
  );
  assert.equal(run.status, 0, run.stdout);
  const report = readReport(readFileSync(join(dir, 'lcov'), 'utf8'));
  const findings = files
    .filter((file) => !isTest(file) && isCode(file))
    .flatMap((file) => (report.get(file) ?? ['no test loads it']).map((finding) => `${file}: ${finding}`));
  assert.deepEqual(findings, []);
  assert.ok(report.size > 10);
});
