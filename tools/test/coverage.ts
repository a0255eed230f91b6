/**
 * Coverage is collected while the tests run: each process of measured files writes V8's data into its own directory. The coverage
 * tests below run after the files they measure. A coverage test runs missing files itself, so it can be run alone.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Where a coverage test finds the collected data: a directory per test file. */
const COLLECTED = 'GPUAAS_TEST_COVERAGE_DIR';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ADD_COLLECTED = fileURLToPath(new URL('./add-collected.ts', import.meta.url));
const FIXED_SEED = fileURLToPath(new URL('./fixed-seed.ts', import.meta.url));

type Judged = Readonly<{
  /** Directories of which every line and branch must run, in the tests beside them. */
  directories: readonly string[];
  /** Test files elsewhere that count too. */
  also: readonly string[];
}>;

export const JUDGES = {
  'scheduler/test/coverage.test.ts': { directories: ['scheduler/src'], also: [] },
  'server/test/coverage.db.test.ts': {
    directories: ['server/src/domain', 'server/src/placement'],
    // Launches also use placement, and refusals need a whole launch.
    also: ['server/src/services/allocation.db.test.ts'],
  },
} as const satisfies Record<string, Judged>;

export const isJudge = (file: string): boolean => Object.hasOwn(JUDGES, file);

const isTest = (file: string): boolean => file.endsWith('.test.ts');
/** The coverage test for which the coverage of this test file counts. */
export const judgeOf = (file: string): string | undefined =>
  Object.entries<Judged>(JUDGES).find(
    ([, { directories, also }]) =>
      also.includes(file) || directories.some((directory) => file.startsWith(`${directory}/`)),
  )?.[0];

const directoryOf = (dir: string, file: string): string => join(dir, file.replaceAll('/', '__'));
/** Names the directory of the process that ran the file. */
const markOf = (dir: string, file: string): string => `${directoryOf(dir, file)}.in`;

/**
 * Environment of the files that one process runs. Coverage of functions from the compile cache is less precise, so
 * measured files do not use it. `dir` is the run's collection directory.
 */
export const coverageEnv = (files: readonly string[], env: NodeJS.ProcessEnv, dir: string): NodeJS.ProcessEnv => {
  const [first = ''] = files;
  if (isJudge(first)) return { ...env, [COLLECTED]: dir };
  if (judgeOf(first) === undefined) return env;
  const { NODE_COMPILE_CACHE: _, ...rest } = env;
  const directory = directoryOf(dir, first);
  mkdirSync(dir, { recursive: true });
  for (const file of files) writeFileSync(markOf(dir, file), directory);
  return { ...rest, NODE_V8_COVERAGE: directory };
};

type ScriptCoverage = Readonly<{ url: string }>;

/** Copies of the collected data, reduced to the measured files: the rest of the program is most of it. */
const gather = (from: string, to: string, directories: readonly string[]): boolean => {
  const urls = directories.map((directory) => pathToFileURL(`${join(ROOT, directory)}/`).href);
  let names: string[];
  try {
    names = readdirSync(from);
  } catch {
    return false;
  }
  for (const name of names) {
    const { result } = JSON.parse(readFileSync(join(from, name), 'utf8')) as { result: readonly ScriptCoverage[] };
    const kept = result.filter(({ url }) => urls.some((prefix) => url.startsWith(prefix)) && !isTest(url));
    if (kept.length > 0) writeFileSync(join(to, name), JSON.stringify({ result: kept }));
  }
  return names.length > 0;
};

/** A file without its types and comments; an empty rest needs no test. */
const isCode = (file: string): boolean =>
  stripTypeScriptTypes(readFileSync(join(ROOT, file), 'utf8'))
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    .trim() !== '';

/** Lines, functions and branches that never ran, by file, from an lcov report. */
const readReport = (report: string): ReadonlyMap<string, readonly string[]> =>
  new Map(
    report
      .split('end_of_record\n')
      .filter((record) => record.includes('SF:'))
      .map((record) => [
        /^SF:(.*)$/m.exec(record)?.[1] ?? '',
        [
          ...[...record.matchAll(/^DA:(\d+),0$/gm)].map((match) => `line ${match[1]}`),
          ...[...record.matchAll(/^FNDA:0,(.*)$/gm)].map((match) => `function ${match[1]}`),
          ...[...record.matchAll(/^BRDA:(\d+),\d+,\d+,0$/gm)].map((match) => `branch at line ${match[1]}`),
        ],
      ]),
  );

export type Coverage = Readonly<{
  /** Measured source files. */
  files: number;
  /** Each line and branch that no test ran, and each file that no test loads. */
  findings: readonly string[];
}>;

/**
 * Files with generated cases run once more here, with a fixed seed: the result must not depend on which branches a draw
 * reaches. Throws with the output when a test fails.
 */
export const judgeCoverage = (judge: keyof typeof JUDGES): Coverage => {
  const { directories, also }: Judged = JUDGES[judge];
  const files = directories.flatMap((directory) =>
    readdirSync(join(ROOT, directory), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${directory}/${name}`),
  );
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-coverage-'));
  try {
    const gathered = join(dir, 'gathered');
    mkdirSync(gathered);
    const given = process.env[COLLECTED];
    const gatheredOnce = new Map<string, boolean>();
    const isGathered = (file: string): boolean => {
      if (given === undefined || !existsSync(markOf(given, file))) return false;
      const from = readFileSync(markOf(given, file), 'utf8');
      const isThere = gatheredOnce.get(from) ?? gather(from, gathered, directories);
      gatheredOnce.set(from, isThere);
      return isThere;
    };
    const isGenerated = (file: string): boolean => readFileSync(join(ROOT, file), 'utf8').includes("'fast-check'");
    const toRun = [...files.filter(isTest), ...also].filter((file) => !isGathered(file) || isGenerated(file));
    // Inside a test, node --test would report to the outer runner instead of separately.
    const { NODE_TEST_CONTEXT: _, NODE_COMPILE_CACHE: __, ...env } = process.env;
    const lcov = join(dir, 'lcov');
    const run = spawnSync(
      process.execPath,
      [
        '--import',
        FIXED_SEED,
        '--test',
        '--experimental-test-coverage',
        ...directories.map((directory) => `--test-coverage-include=${directory}/**/*.ts`),
        '--test-coverage-exclude=**/*.test.ts',
        '--test-reporter=lcov',
        `--test-reporter-destination=${lcov}`,
        '--test-reporter=spec',
        '--test-reporter-destination=stdout',
        ADD_COLLECTED,
        ...toRun,
      ],
      { cwd: ROOT, env: { ...env, [COLLECTED]: gathered }, encoding: 'utf8', maxBuffer: 1 << 26 },
    );
    if (run.status !== 0) throw new Error(`The tests failed:\n${run.stdout}\n${run.stderr}`);
    const report = readReport(readFileSync(lcov, 'utf8'));
    const judged = files.filter((file) => !isTest(file) && isCode(file));
    return {
      files: report.size,
      findings: judged.flatMap((file) =>
        (report.get(file) ?? ['no test loads it']).map((finding) => `${file}: ${finding}`),
      ),
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};
