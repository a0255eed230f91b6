/**
 * `make check`: all static checks of the code. Two checks at a time, one line each, with details only of those that
 * fail.
 */
import { breakingChange } from './check/breaking-change.ts';
import { type Check, fail, toolCheck } from './check/check.ts';
import { documentCommands } from './check/commands.ts';
import { commitSubjects } from './check/commit-subjects.ts';
import { consoleBudget } from './check/console-budget.ts';
import { dataModel } from './check/data-model.ts';
import { documentPaths } from './check/documents.ts';
import { contractDrift, schemaDrift, workflowDrift } from './check/generated.ts';
import { guarantees } from './check/guarantees.ts';
import { importRules } from './check/imports.ts';
import { lockfileDigests } from './check/lockfile.ts';
import { migrations } from './check/migrations.ts';
import { runbookQuotes } from './check/quotes.ts';
import { documentSentences } from './check/sentences.ts';
import { tableOwners } from './check/table-owners.ts';
import { textRules } from './check/text-rules.ts';

const CHECKS: readonly Check[] = [
  schemaDrift,
  consoleBudget,
  toolCheck('types', 'typescript7/bin/tsc', ['-p', '.']),
  toolCheck('types of the browser', 'typescript7/bin/tsc', ['-p', 'console']),
  toolCheck('promises, switches, bans', 'oxlint/bin/oxlint', ['--type-aware', '--deny-warnings', '--format=unix']),
  importRules,
  toolCheck('format and lint', '@biomejs/biome/bin/biome', ['ci', '--error-on-warnings', '--colors=off', '.']),
  toolCheck('dead code', 'knip/bin/knip.js', ['--no-progress', '--no-config-hints']),
  toolCheck('code that only tests use', 'knip/bin/knip.js', ['--production', '--no-progress', '--no-config-hints']),
  contractDrift,
  workflowDrift,
  toolCheck('OpenAPI lint', '@redocly/cli/bin/cli.js', [
    'lint',
    '--config',
    'redocly.yaml',
    'contract/openapi.yaml',
    'contract/node-openapi.yaml',
  ]),
  breakingChange,
  textRules,
  tableOwners,
  dataModel,
  migrations,
  lockfileDigests,
  documentPaths,
  documentCommands,
  documentSentences,
  runbookQuotes,
  guarantees,
  commitSubjects,
];

const failures: string[] = [];
const started = performance.now();

const run = async ({ name, run: check }: Check): Promise<void> => {
  const from = performance.now();
  const outcome = await check().catch((err: unknown) =>
    fail('did not run', err instanceof Error ? `${err.stack}` : String(err)),
  );
  const seconds = ((performance.now() - from) / 1000).toFixed(1).padStart(5);
  console.log(`${outcome.ok ? 'ok  ' : 'FAIL'} ${seconds} s  ${name}: ${outcome.line}`);
  if (!outcome.ok) failures.push(`--- ${name}\n${outcome.details ?? ''}`);
};

const queue = [...CHECKS];
const worker = async (): Promise<void> => {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) await run(next);
};
await Promise.all([worker(), worker()]);

for (const failure of failures) console.log(`\n${failure}`);
const total = ((performance.now() - started) / 1000).toFixed(1);
console.log(`\n${CHECKS.length - failures.length} of ${CHECKS.length} checks passed in ${total} s`);
process.exitCode = failures.length === 0 ? 0 : 1;
