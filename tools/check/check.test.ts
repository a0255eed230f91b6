import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { ENTRIES } from '../../cli/src/program.ts';
import { ROOT } from '../gen/file.ts';
import { runTool, verdict } from './check.ts';
import { wrongCommands } from './commands.ts';
import { wrongRows } from './data-model.ts';
import { missingPaths } from './documents.ts';
import { firstDifference } from './generated.ts';
import { cruise } from './imports.ts';
import { missingQuotes, quotesIn } from './quotes.ts';
import { longSentences } from './sentences.ts';
import { tablesWithoutOwner } from './table-owners.ts';
import { findIn, TEXT_RULES } from './text-rules.ts';

/** A small repository with our rules and these files, in a separate directory. */
const inRepository = async <T>(
  files: Readonly<Record<string, string>>,
  fn: (root: string) => Promise<T>,
): Promise<T> => {
  const root = await mkdtemp(join(tmpdir(), 'gpuaas-check-'));
  try {
    for (const config of ['.dependency-cruiser.cjs', '.oxlintrc.json', 'tsconfig.json'])
      await copyFile(join(ROOT, config), join(root, config));
    await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'));
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    return await fn(root);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
};

const STANDING = {
  'package.json': '{ "type": "module", "devDependencies": { "fast-check": "*" } }',
  'contract/src/index.ts': 'export const api = {};\n',
  'kit/src/index.ts': 'export const one = 1;\n',
  'server/src/db/client.ts': 'export const one = 1;\n',
  'server/src/services/page.ts': 'export const one = 1;\n',
  'tools/gen/file.ts': 'export const one = 1;\n',
};

const OFFENDERS = {
  'server/src/http/offender.ts': ["import '../db/client.ts';", 'http-never-touches-db-or-ports'],
  'server/src/db/offender.ts': ["import '../services/page.ts';", 'db-knows-nothing-above-it'],
  'server/src/workflows/offender.ts': ["import '../services/page.ts';", 'workflows-never-import-services-or-http'],
  'server/src/domain/offender.ts': ["import 'node:fs';", 'domain-is-pure'],
  'kit/src/offender.ts': ["import '../../contract/src/index.ts';", 'kit-knows-no-domain'],
  'contract/src/offender.ts': ["import '../../kit/src/index.ts';", 'contract-imports-nothing-of-ours'],
  'cli/src/offender.ts': ["import '../../contract/src/index.ts';", 'cli-sees-sdk-and-scheduler'],
  'sdk/src/offender.ts': [
    "import type { api } from '../../contract/src/index.ts';\nexport type A = typeof api;",
    'sdk-stands-alone',
  ],
  'apps/offender/src/a.ts': ["import '../../../contract/src/index.ts';", 'apps-see-only-the-sdk'],
  'scheduler/src/offender.ts': ["import 'node:crypto';", 'scheduler-is-pure'],
  'kit/src/circle-a.ts': ["import './circle-b.ts';", 'no-cycles'],
  'kit/src/nowhere.ts': ["import './missing.ts';", 'resolvable'],
  'server/src/workshop.ts': ["import '../../tools/gen/file.ts';", 'product-does-not-need-the-workshop'],
  'kit/src/undeclared.ts': ["import 'fast-check';", 'product-declares-its-packages'],
} as const;

describe('make check', () => {
  it('catches an import across every boundary', async () => {
    const files = Object.fromEntries(Object.entries(OFFENDERS).map(([path, [text]]) => [path, `${text}\n`]));
    const all = { ...STANDING, ...files, 'kit/src/circle-b.ts': "import './circle-a.ts';\n" };
    const found = await inRepository(all, (root) => cruise(Object.keys(files), root));
    const caught = found.summary.violations.map(({ from, rule }) => `${from} ${rule.name}`);
    const missed = Object.entries(OFFENDERS).filter(([path, [, rule]]) => !caught.includes(`${path} ${rule}`));
    assert.deepEqual(missed, []);
  });

  it('catches a floating promise, a misused one, an incomplete switch and every ban', async () => {
    const text = `
      import { exec } from 'node:child_process';
      const work = async (): Promise<void> => {};
      export const offend = (state: 'on' | 'off'): void => {
        work();
        [1].forEach(async () => work());
        switch (state) {
          case 'on':
            exec(process.env['HOME'] ?? '');
        }
      };
    `;
    const file = 'kit/src/lint-offender.ts';
    const { status, output } = await inRepository({ [file]: text }, (root) =>
      runTool('oxlint/bin/oxlint', ['--type-aware', '--format=unix', file], root),
    );
    assert.notEqual(status, 0);
    const rules = [
      'no-floating-promises',
      'no-misused-promises',
      'switch-exhaustiveness-check',
      'no-restricted-imports',
      'no-process-env',
    ];
    for (const rule of rules) assert.ok(output.includes(rule), `${rule} is silent:\n${output}`);
  });

  it('catches each forbidden text only where it is forbidden', () => {
    const word = ['sl', 'urm'].join('');
    const cases: readonly (readonly [rule: string, file: string, text: string, found: boolean])[] = [
      ['platform knows no app', 'server/src/x.ts', `// ${word.toUpperCase()} node`, true],
      ['platform knows no app', `apps/${word}/src/x.ts`, word, false],
      ['platform knows no app', 'README.md', word, false],
      ['no download addresses', 'package-lock.json', '  "resolved": "https://x/y.tgz"', true],
      ['no download addresses', 'package-lock.json', '  "resolved": "kit"', false],
      ['no test alone', 'kit/src/x.test.ts', `it.${'only'}('x')`, true],
      ['no test alone', 'kit/src/x.test.ts', 'readOnly(x)', false],
      ['no shell', 'lab/src/x.ts', `spawn(a, { ${'shell'}: true })`, true],
      ['few numbered parameters', 'server/src/db/x.ts', 'values ($9, $10)', true],
      ['few numbered parameters', 'server/src/db/x.ts', 'values ($8, $9)', false],
      ['few numbered parameters', 'server/src/db/x.db.test.ts', 'values ($9, $10)', false],
      ['named parameters in statements', 'server/src/db/statements/x.ts', 'where id = $1 and name = $2', true],
      ['named parameters in statements', 'server/src/db/statements/x.ts', 'where id = $1', false],
      ['named parameters in statements', 'server/src/db/statements/reseal.ts', 'limit $2', false],
      ['named parameters in statements', 'server/src/db/x.ts', 'limit $2', false],
      ['rules of SQL stand once', 'server/src/db/x.ts', "where t.state in ('queued', 'dispatched', 'running')", true],
      ['rules of SQL stand once', 'server/src/db/x.ts', "where r.state not in ('pending', 'running', 'waiting')", true],
      ['rules of SQL stand once', 'server/src/db/x.ts', "r.state in ('pending', 'running', 'waiting', 'stuck')", true],
      ['rules of SQL stand once', 'server/src/db/statements/x.ts', 'and c.released_at is null', true],
      ['rules of SQL stand once', 'server/src/db/x.ts', "and s.fabric_claim_mode = 'per_slot_vf'", true],
      ['rules of SQL stand once', 'server/src/db/predicates.ts', 'and c.released_at is null', false],
      ['plain words', 'doc/x.md', `The agent ${'tel'}ls the server`, true],
      ['plain words', 'cli/golden/x.txt', `--timeout <time>  10m ${'unless'} told`, true],
      ['plain words', 'infra/observability/alerts.yaml', `summary: ${'No'}body checks`, true],
      ['plain words', 'contract/src/x.ts', `// a certificate of ${'era'}sure`, true],
      ['plain words', 'contract/src/x.test.ts', `// a certificate of ${'era'}sure`, false],
      ['plain words', 'doc/x.md', 'The agent reports that the wipe is verified; recommended, intelligible', false],
      ['plain words in code', 'server/src/x.ts', `throw refuse('The host ${'tel'}ls nothing.')`, true],
      ['plain words in code', 'cli/src/x.ts', `const text = \`\${a}: ask ${'some'}body \${b}\`;`, true],
      ['plain words in code', 'console/app/x.tsx', `const X = () => <p>Ask ${'some'}body.</p>;`, true],
      ['plain words in code', 'server/src/x.ts', `// ${'no'}body reads this\nconst ${'tel'}l = '${'tel'}l';`, false],
      ['plain words', '.x.cjs', `// who${'ever'} asks`, true],
      ['plain words', 'build/slice-image/build.sh', `# who${'ever'} asks`, true],
      ['plain words', 'build/slice-image/make-disk.sh', `# who${'ever'} asks`, false],
      ['plain words in code', 'tools/x.ts', `const l = 'no${'body'} reads this';`, true],
      ['plain words in code', 'server/src/x.test.ts', `test('${'no'}body reads this')`, true],
      ['plain words in code', 'e2e/sim/x.e2e.ts', `await eventually('it is ${'to'}ld')`, true],
      ['plain words in code', 'server/src/ports/x.contract.ts', `test('who${'ever'} asks')`, true],
      ['plain words', 'lab/site.yaml', `# Users sign up by ${'them'}selves.`, true],
      ['no speech of software', 'doc/x.md', 'The file says which.', true],
      ['no speech of software', 'lab/site.yaml', '# What the database forgot', true],
      ['no speech of software', 'contract/src/x.ts', "summary: 'GPUs that are sold'", true],
      ['no speech of software', 'cli/golden/x.txt', 'as the file says', true],
      ['no speech of software', 'doc/architecture/guarantees.md', '- `x.test.ts`: the row says so', false],
      ['no speech of software', 'doc/x.md', 'The file states which; essays, forgery', false],
      ['no speech of software in code', 'server/src/x.ts', "throw refuse('The row says so.')", true],
      ['no speech of software in code', 'server/src/x.ts', "// it says so\nconst say = 'said';", false],
      ['no speech of software in code', 'server/src/x.test.ts', "test('the row says so')", false],
      ['American spelling', 'lab/src/x.ts', `const ${'enr'}ol = 1;`, true],
      ['American spelling', 'doc/x.md', `A ${'col'}our, ${'norma'}lised`, true],
      ['American spelling', 'lab/src/x.ts', 'const enrollment = enroll(ENROLL_MS, color, normalize);', false],
      ['rules of SQL stand once', 'server/src/db/x.ts', "where a.state not in ('released', 'failed')", true],
      ['rules of SQL stand once', 'server/src/db/x.ts', "where t.kind = 'slice.vm_start'", true],
      ['rules of SQL stand once', 'server/src/db/x.ts', "where a.state in ('released')", false],
    ];
    for (const [name, file, text, found] of cases) {
      const rule = TEXT_RULES.find((candidate) => candidate.name === name);
      assert.ok(rule, name);
      assert.equal(rule.applies(file) && findIn(rule, file, text).length > 0, found, `${name} ${file}`);
    }
  });

  it('counts the words of each sentence, item and cell of a document', () => {
    const words = (count: number): string => Array(count).fill('word').join(' ');
    const long = `${words(36)}.`;
    const found = (text: string): number[] => longSentences(text).map(({ line }) => line);
    assert.deepEqual(found(`${words(20)}.\n${words(20)}. ${words(35)}.`), []);
    assert.deepEqual(found(`# Title\n\n${words(20)}\n${words(16)}.`), [3]);
    assert.deepEqual(found(`- ${words(20)}\n- ${words(20)}\n1. ${long}`), [3]);
    assert.deepEqual(found(`| ${words(20)} | ${words(20)} |\n| ${long} | x |`), [2]);
    assert.deepEqual(found(`\`\`\`\n${long}\n\`\`\`\n> ${long}`), [4]);
    assert.deepEqual(found(`\`${long}\` and [a link](to/${words(1)}) ${words(31)}.`), []);
    assert.deepEqual(found(`A *wipe*. (${words(30)}.) ${words(30)}.`), []);
  });

  it('finds tables that are written outside their owner', () => {
    const tables = new Set(['access_policies', 'node_tasks', 'slots']);
    const found = (files: Readonly<Record<string, string>>): string[] =>
      tablesWithoutOwner(new Map(Object.entries(files)), tables, { slots: 'a.ts' });
    const own = {
      'server/src/db/access-policy.ts': '',
      'server/src/db/node-task.ts': 'insert into node_tasks as t',
      'server/src/db/a.ts': 'update slots s set',
    };
    assert.deepEqual(found(own), []);
    assert.deepEqual(
      found({ ...own, 'server/src/db/statements/x.ts': 'update slots set; delete from node_tasks' }),
      [],
    );
    assert.deepEqual(found({ ...own, 'server/src/db/b.ts': '(select from node_tasks for update of slots)' }), []);
    assert.deepEqual(found({ ...own, 'server/src/db/b.ts': 'update node_tasks\n  set' }), [
      'server/src/db/b.ts: writes node_tasks, which server/src/db/node-task.ts owns',
    ]);
    assert.deepEqual(found({ ...own, 'server/src/db/b.ts': 'delete from slots' }), [
      'server/src/db/b.ts: writes slots, which server/src/db/a.ts owns',
    ]);
    assert.deepEqual(found({ ...own, 'server/src/services/x.ts': 'insert into access_policies' }), [
      'server/src/services/x.ts: writes access_policies, which server/src/db/access-policy.ts owns',
    ]);
  });

  it('finds tables whose owner is neither named after them nor listed', () => {
    const found = (owners: Readonly<Record<string, string>>): string[] =>
      tablesWithoutOwner(
        new Map([['server/src/db/slot.ts', 'update slots set']]),
        new Set(['slots', 'grants']),
        owners,
      );
    assert.deepEqual(found({ grants: 'slot.ts' }), []);
    assert.deepEqual(found({}), ['grants: has no file of its name; list it in OWNERS']);
    assert.deepEqual(found({ grants: 'gone.ts' }), ['grants: its owner server/src/db/gone.ts does not exist']);
    assert.deepEqual(found({ grants: 'slot.ts', slots: 'slot.ts', old: 'slot.ts' }), [
      'slots: has a file of its name; remove it in OWNERS',
      'old: is in OWNERS and not in the schema',
    ]);
  });

  it('finds tables with two rows in the data model, and rows without a table', () => {
    const of = (text: string): string[] => wrongRows(text, new Set(['slots', 'claims']));
    assert.deepEqual(of('| `slots` | of `claims` | – |\n| `claims` | `slots` | – |'), []);
    assert.deepEqual(of('| `slots` | a | – |\n\n| `slots`, `old` | b | – |'), [
      'slots: has more than one row',
      'old: is not in the schema',
    ]);
  });

  it('reports where a generated file differs from a fresh run', () => {
    assert.equal(firstDifference('a\nb', 'a\nc'), 'line 2\n  committed: b\n  fresh:     c');
    assert.match(firstDifference('a\nb', 'a'), /line 2\n {2}committed: b\n {2}fresh: {5}\(end of file\)/);
  });

  it('finds broken paths and links in documents', () => {
    const files = ['doc/a.md', 'server/src/db/x.ts'];
    const of = (text: string): string[] => missingPaths('doc/a.md', text, files);
    assert.deepEqual(of('`server/src/db/x.ts` `db/x.ts` `dist/x/y.json` [a](a.md#top) [db](../server/src/db)'), []);
    assert.deepEqual(of('`db/y.ts` [b](b.md)'), ['db/y.ts', 'doc/b.md']);
    assert.deepEqual(of('`server/src/db/` `db/` `src/{db,x}/` `db/{x,y}.ts` `gone/`'), ['src/x/', 'db/y.ts', 'gone/']);
    assert.equal(of('`a/b.cjs` `a/b.jsonc` `a/b.txt` `a/b.service` `a/b.css` `total{state}` `a/b.log`').length, 5);
  });

  it('finds commands and flags in documents that the CLI does not have', async () => {
    const commands = await Promise.all(ENTRIES.map(({ load }) => load()));
    const of = (text: string): string[] => wrongCommands(text, commands);
    assert.deepEqual(
      of('`gpuaas admin trust list --json` `gpuaas admin trust` `gpuaas ssh a -- b --c` `gpuaas-api x`'),
      [],
    );
    assert.deepEqual(of('```\ngpuaas ls \\\n  --limit 5  # --not-a-flag\n```\nNot in code: gpuaas frob.'), []);
    assert.deepEqual(of('`gpuaas admin\ntrust-key --help`'), [
      'gpuaas admin trust-key --help: admin has no command trust-key',
    ]);
    assert.deepEqual(of('```\ngpuaas ls --frob\n```'), ['gpuaas ls --frob: ls has no flag --frob']);
  });

  it('finds quotes in runbooks that the product does not print', () => {
    const source = "log.warn('no route to host: waiting'); { database: 'accepts no writes' }";
    const of = (text: string): string[] => missingQuotes(text, source);
    assert.deepEqual(
      of('`no route to … waiting` `"database":"accepts no writes"` `gpuaas node list` `--wait <s>`'),
      [],
    );
    assert.deepEqual(of('```\n`not a quote`\n```\n`select 1 from x` and `one_word`'), []);
    assert.deepEqual(of('`no route\nto` and `no way to …`'), ['no way to …']);
    assert.deepEqual(quotesIn('`a … b.`'), [{ quote: 'a … b.', parts: ['a', 'b.'] }]);
  });

  it('counts findings', () => {
    assert.deepEqual(verdict([], 'good'), { ok: true, line: 'good' });
    assert.deepEqual(verdict(['x', 'y'], ''), { ok: false, line: '2 found', details: 'x\ny' });
  });
});
