/**
 * Complete commands as a user runs them: a command line, an API, and the output. Each case is a file in cli/golden with
 * the command line, standard output, standard error, exit code and the requests it sent. UPDATE_GOLDEN=1 writes them.
 * Most cases run inside this process; those of `PROCESSES` prove that a separate process does the same.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type OperationId, operations } from '@gpuaas/sdk';
import { DEV_PASSWORD, type FixtureApi, startApi } from '../golden/api.ts';
import type { Case } from '../golden/case.ts';
import { cases } from '../golden/cases.ts';
import { type RunOptions, type RunResult, runCommand } from '../golden/in-process.ts';

const MAIN = join(import.meta.dirname, 'main.ts');
const GOLDEN = join(import.meta.dirname, '../golden');
const called = new Set<OperationId>();
let home = '';

/** Start-up, every exit code, signals, standard input, programs that the command starts, and the process's own streams. */
const PROCESSES: ReadonlySet<string> = new Set([
  'help',
  'version',
  'complete-nouns',
  'whoami',
  'whoami-json',
  'project-delete-needs-yes',
  'error-not-found-json',
  'error-denied',
  'error-network',
  'allocation-create-refused',
  'allocation-create-timeout',
  'allocation-create-interrupted',
  'events-follow',
  'events-follow-json',
  'forward',
  'ssh-no-openssh',
  'ssh-proxy-refused',
  'ssh-config-write',
  'ssh-key-add-stdin',
  'login-token',
  'admin-slot-approve-changed',
  'admin-audit-verify-tampered',
  'terminal-no-gateway',
  'audit-export',
]);

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'gpuaas-cli-'));
});
after(() => rm(home, { recursive: true, force: true }));

const runProcess = (
  argv: readonly string[],
  { env, cwd, self, stdin, interruptAfter }: RunOptions,
): Promise<RunResult> =>
  new Promise((resolve, reject) => {
    const [program = '', ...first] = self;
    const child = spawn(program, [...first, ...argv], { cwd, env, stdio: 'pipe' });
    const written = { stdout: '', stderr: '' };
    let isInterrupted = false;
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (chunk) => {
        written[name] += chunk;
        // A second signal would kill the process before it has written anything.
        if (interruptAfter === undefined || isInterrupted || !written[name].includes(interruptAfter)) return;
        isInterrupted = true;
        child.kill('SIGINT');
      });
    child.on('error', reject);
    child.on('close', (code) => resolve({ ...written, code }));
    child.stdin.end(stdin ?? '');
  });

const runCase = async (api: FixtureApi, item: Case): Promise<RunResult & { config: string | null }> => {
  const folder = join(home, item.name);
  const config = join(folder, 'gpuaas');
  await mkdir(config, { recursive: true, mode: 0o700 });
  if (item.config !== undefined)
    await writeFile(join(config, 'config.toml'), item.config.replaceAll('URL', api.url), { mode: 0o600 });
  for (const [name, content] of Object.entries(item.files ?? {})) await writeFile(join(folder, name), content);
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    XDG_CONFIG_HOME: folder,
    GPUAAS_URL: api.url,
    GPUAAS_TOKEN: item.config === undefined && !item.args.includes('login') ? 'gp_test' : '',
    GPUAAS_DEV_PASSWORD: DEV_PASSWORD,
    ...item.env,
  };
  const { stdin, interruptAfter } = item;
  const runs = PROCESSES.has(item.name) ? runProcess : runCommand;
  const result = await runs(item.args, { env, cwd: folder, self: [process.execPath, MAIN], stdin, interruptAfter });
  const written = join(config, 'config.toml');
  return { ...result, config: existsSync(written) ? await readFile(written, 'utf8') : null };
};

/** Values that differ from run to run are replaced by a name. */
const normalize = (text: string, api: FixtureApi): string =>
  text
    .replaceAll(api.url, 'http://api.test')
    .replaceAll(home, '/home')
    .replaceAll(`${process.execPath} ${MAIN}`, 'node main.ts')
    .replace(/127\.0\.0\.1:\d{4,5} forwards/g, '127.0.0.1:<port> forwards')
    .replace(/cli-[0-9a-f]{24}/g, '<correlation id>')
    .replace(/"idempotency_key": "[0-9a-f]{32}"/g, '"idempotency_key": "<key>"')
    .replace(/expires_at = "[^"]+"/g, 'expires_at = "<time>"')
    .replace(/"(expires_at|since)":"[^"]+"/g, '"$1":"<time>"')
    .replace(/Node [\d.]+, [\w-]+/g, 'Node <version>');

const transcript = (item: Case, api: FixtureApi, result: RunResult & { config: string | null }): string => {
  const quoted = item.args.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`)).join(' ');
  const showsConfig =
    item.args.includes('login') || item.args.includes('use') || item.config?.includes('refresh_token');
  const sections: [string, string][] = [
    ['stdout', result.stdout],
    ['stderr', result.stderr],
    // The number of polls depends on time; that it polled does not.
    [
      'requests',
      api.requests
        .filter((line, index) => line !== api.requests[index - 1])
        .map((line) => `${line}\n`)
        .join(''),
    ],
    ['config', showsConfig ? (result.config ?? '') : ''],
  ];
  const body = sections.filter(([, text]) => text !== '').map(([name, text]) => `--- ${name}\n${text}`);
  return normalize(`$ gpuaas ${quoted}\n--- exit ${result.code}\n${body.join('')}`, api);
};

describe('commands', { concurrency: 4 }, () => {
  for (const item of cases)
    test(`golden: ${item.name}`, { timeout: 30_000 }, async (t) => {
      const api = await startApi(item.answers);
      t.after(() => api.close());
      const text = transcript(item, api, await runCase(api, item));
      for (const id of api.called) called.add(id);
      const file = join(GOLDEN, `${item.name}.txt`);
      if (process.env['UPDATE_GOLDEN'] === '1') await writeFile(file, text);
      assert.equal(text, await readFile(file, 'utf8').catch(() => 'no such golden file'));
      const [, table = ''] = /--- stdout\n([\s\S]*?)(?:\n--- |$)/.exec(text) ?? [];
      if (/(?:^help|list$|steps$|whoami$|verify$|events$)/.test(item.name))
        for (const line of table.split('\n')) assert.ok([...line].length <= 80, `fits 80 columns: ${line}`);
    });
});

test('every operation of the API has a command', () => {
  // Programs exchange a client secret themselves; users do not do it by hand.
  const missing = (Object.keys(operations) as OperationId[]).filter(
    (id) => !called.has(id) && id !== 'serviceAccountTokenIssue',
  );
  assert.deepEqual(missing, []);
});

test('every golden file belongs to a case', async () => {
  const files = (await readdir(GOLDEN)).filter((file) => file.endsWith('.txt'));
  assert.deepEqual(
    files.filter((file) => !cases.some(({ name }) => `${name}.txt` === file)),
    [],
  );
  assert.deepEqual(
    [...PROCESSES].filter((name) => !cases.some((item) => item.name === name)),
    [],
  );
});
