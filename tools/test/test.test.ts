import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readDurations, rememberDurations } from './durations.ts';
import { unitsOf } from './sharing.ts';

const RUNNER = fileURLToPath(new URL('../test.ts', import.meta.url));
const PASSING = `import { test } from 'node:test'; test('fine', () => {});`;

type Ran = Readonly<{ code: number | null; lines: readonly string[]; text: string }>;

/** Runs the runner on a separate small repository. */
const runOn = async (
  t: TestContext,
  files: Readonly<Record<string, string>>,
  options: Readonly<{ args?: readonly string[]; env?: NodeJS.ProcessEnv }> = {},
): Promise<Ran> => {
  const root = mkdtempSync(join(tmpdir(), 'gpuaas-runner-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const { GPUAAS_REQUIRE: _, ...inherited } = process.env;
  const child = spawn(process.execPath, [RUNNER, '--root', root, '--no-postgres', ...(options.args ?? [])], {
    env: { ...inherited, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, text, lines: text.trimEnd().split('\n') };
};

test('a run that passes exits 0 and closes with the counts alone on the last line', async (t) => {
  const ran = await runOn(t, { 'server/a.test.ts': PASSING, 'e2e/platform-control/b.e2e.ts': PASSING });
  assert.equal(ran.code, 0, ran.text);
  assert.equal(ran.lines.at(-1), '2 passed, 0 failed, 0 skipped');
});

test('a failing test fails the run and is reported with name, place and error', async (t) => {
  const failing = `import { test } from 'node:test';
test('outer', async (t) => { await t.test('inner', () => { throw new Error('the reason'); }); });`;
  const ran = await runOn(t, { 'kit/a.test.ts': failing, 'kit/b.test.ts': PASSING });
  assert.equal(ran.code, 1);
  assert.equal(ran.lines.at(-1), '1 passed, 1 failed, 0 skipped');
  assert.match(ran.text, /kit\/a\.test\.ts: outer > inner/);
  assert.match(ran.text, /at .*kit\/a\.test\.ts:2:\d+/);
  assert.match(ran.text, /Error: the reason/);
});

test('a skip is listed with its reason and passes, unless everything is required', async (t) => {
  const files = {
    'kit/a.test.ts': `import { describe, test } from 'node:test'; test('fine', () => {});
test('needs nats', { skip: 'nats-server: not installed' }, () => {});
describe('needs a gpu', { skip: 'gpu: none' }, () => { test('inside', () => {}); });`,
  };
  const lenient = await runOn(t, files);
  assert.equal(lenient.code, 0, lenient.text);
  assert.equal(lenient.lines.at(-1), '1 passed, 0 failed, 2 skipped');
  assert.match(lenient.text, /kit\/a\.test\.ts: needs nats\n\s+nats-server: not installed/);
  const strict = await runOn(t, files, { env: { GPUAAS_REQUIRE: 'all' } });
  assert.equal(strict.code, 1);
  assert.equal(strict.lines.at(-1), '1 passed, 1 failed, 1 skipped');
});

test('a file fails that has no tests, cannot load, crashes late or exits early', async (t) => {
  const ran = await runOn(t, {
    'kit/a.test.ts': 'export {};',
    'kit/b.test.ts': `import './missing.ts';`,
    'kit/c.test.ts': `${PASSING} process.on('exit', () => process.kill(process.pid, 'SIGKILL'));`,
    'kit/d.test.ts': `import { statSync } from 'node:fs'; import { test } from 'node:test'; test('first', () => {});
const report = process.execArgv.find((arg) => arg.includes('destination=')).split('=')[1];
test('cut', async () => { while (!statSync(report, { throwIfNoEntry: false })?.size) await new Promise(setImmediate); process.exit(0); });
test('never', () => {});`,
  });
  assert.equal(ran.code, 1);
  assert.match(ran.text, /a\.test\.ts: this file ran no tests/);
  assert.match(ran.text, /b\.test\.ts: this file crashed with exit code 1\n[\s\S]*missing\.ts/);
  assert.match(ran.text, /c\.test\.ts: this file was ended by SIGKILL/);
  assert.match(ran.text, /d\.test\.ts: this file ended before its tests were through/);
  assert.match(ran.lines.at(-1) ?? '', /^2 passed, 4 failed, 0 skipped$/);
});

test('short files share a process, and each keeps its own tests', async (t) => {
  const writes = `import { writeFileSync } from 'node:fs'; import { test } from 'node:test';
test('fine', () => { writeFileSync('kit/pid', String(process.pid)); });`;
  const reads = `import { readFileSync } from 'node:fs'; import { describe, test } from 'node:test';
describe('beside a', () => { test('runs', () => { if (readFileSync('kit/pid', 'utf8') !== String(process.pid)) throw new Error('another process'); }); });`;
  const ran = await runOn(t, {
    'kit/a.test.ts': writes,
    'kit/b.test.ts': reads,
    'sdk/c.test.ts': `${PASSING} test('skipped', { skip: 'gpu: none' }, () => {});`,
  });
  assert.equal(ran.code, 0, ran.text);
  assert.match(ran.text, /ok {3}kit\/a\.test\.ts {2}1 passed/);
  assert.match(ran.text, /ok {3}kit\/b\.test\.ts {2}1 passed/);
  assert.match(ran.text, /ok {3}sdk\/c\.test\.ts {2}1 passed, 1 skipped/);
  assert.match(ran.text, /sdk\/c\.test\.ts: skipped\n\s+gpu: none/);
  assert.doesNotMatch(ran.text, /Passed alone/);
});

test('a file does not share that changes its process, is long, a story or in a browser', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'gpuaas-runner-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const files = {
    'kit/env.test.ts': `process.env['A'] = '1';`,
    'kit/env-dot.test.ts': `process.env.A ??= '1';`,
    'kit/cwd.test.ts': `process.chdir('/');`,
    'kit/handler.test.ts': `process.on('SIGTERM', () => {});`,
    'kit/exit.test.ts': 'process.exitCode = 1;',
    'kit/hook.test.ts': 'beforeEach(() => {});',
    'kit/mock.test.ts': `import { mock, test } from 'node:test';`,
    'kit/global.test.ts': 'globalThis.fetch = fetch;',
    'kit/long.test.ts': '',
    'kit/seldom.slow.test.ts': '',
    'console/page.test.ts': `import { open } from './browser.ts';`,
    'e2e/sim/story.e2e.ts': '',
    'scheduler/src/measured.test.ts': '',
    'kit/reads.test.ts': `if (process.env['A'] === '1') describe('x', () => { before(() => {}); });`,
    'kit/fine.test.ts': '',
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const units = unitsOf(root, Object.keys(files), { 'kit/long.test.ts': 60, 'kit/fine.test.ts': 9 });
  assert.deepEqual(
    units.filter((unit) => unit.length > 1),
    [['kit/fine.test.ts', 'kit/reads.test.ts']],
  );
  assert.deepEqual(units[0], ['kit/long.test.ts']);
  assert.deepEqual(units.flat().sort(), Object.keys(files).sort());
});

test('a failure in a shared process is found again in the file alone, whatever it is', async (t) => {
  const killer = (how: string) => `import { test } from 'node:test'; test('ends', async () => { ${how} });`;
  const failing = `import { test } from 'node:test'; test('fails', () => { throw new Error('the reason'); });`;
  const unit = (bad: string) => ({ 'kit/a.test.ts': PASSING, 'kit/b.test.ts': bad, 'kit/c.test.ts': PASSING });
  const closing = async (bad: string, ...args: string[]) => {
    const ran = await runOn(t, unit(bad), { args });
    assert.doesNotMatch(ran.text, /Passed alone/);
    assert.equal(ran.code, 1);
    assert.match(ran.text, /^ok {3}kit\/a\.test\.ts/m);
    assert.match(ran.text, /^ok {3}kit\/c\.test\.ts/m);
    return [/^kit\/b\.test\.ts: (.*)$/m.exec(ran.text)?.[1], ran.lines.at(-1)];
  };
  assert.deepEqual(await closing(failing), ['fails', '2 passed, 1 failed, 0 skipped']);
  assert.deepEqual(await closing(`import './missing.ts';`), [
    'this file crashed with exit code 1',
    '2 passed, 1 failed, 0 skipped',
  ]);
  assert.deepEqual(await closing(killer(`process.kill(process['pid'], 'SIGKILL');`)), [
    'this file was ended by SIGKILL',
    '2 passed, 1 failed, 0 skipped',
  ]);
  assert.deepEqual(await closing('export {};'), ['this file ran no tests', '2 passed, 1 failed, 0 skipped']);
  assert.deepEqual(await closing(`${PASSING} setInterval(() => {}, 1000);`, '--hang-after-s', '2'), [
    'this file hung: no test ended for 2 s',
    '3 passed, 1 failed, 0 skipped',
  ]);
});

test('a failure that needs a neighbour is reported with its neighbours, and does not count', async (t) => {
  const needy = `import { test } from 'node:test';
test('needy', () => { if (Reflect.get(globalThis, 'left')) throw new Error('something was left'); });`;
  const ran = await runOn(t, {
    'kit/a.test.ts': `import { test } from 'node:test'; test('leaves', () => { Reflect.set(globalThis, 'left', true); });`,
    'kit/b.test.ts': PASSING,
    'kit/c.test.ts': needy,
  });
  assert.equal(ran.code, 0, ran.text);
  assert.equal(ran.lines.at(-1), '3 passed, 0 failed, 0 skipped');
  assert.match(
    ran.text,
    /Passed alone, but failed in one process with other files:\n {2}kit\/c\.test\.ts\n[\s\S]*something was left[\s\S]*\n {4}after\n {6}kit\/a\.test\.ts\n {6}kit\/b\.test\.ts\n/,
  );
});

test('a file that leaves global state changed is named, and the files after it do not see that', async (t) => {
  const leaky = (body: string) => `import { test } from 'node:test'; test('leaky', () => { ${body} });`;
  const strict = `import { test } from 'node:test'; test('strict', () => { if (process.env['LEFT']) throw new Error('seen'); });`;
  const ran = await runOn(t, {
    'kit/a.test.ts': leaky(`Reflect.set(process.env, 'LEFT', '1'); Reflect.set(globalThis, 'fetch', undefined);`),
    'kit/b.test.ts': strict,
  });
  assert.equal(ran.code, 0, ran.text);
  assert.equal(ran.lines.at(-1), '2 passed, 0 failed, 0 skipped');
  assert.match(ran.text, /a\.test\.ts changes globalThis\.fetch, process\.env\.LEFT for the files after it/);
  assert.doesNotMatch(ran.text, /seen/);
});

test('a file that hangs is ended together with the processes it started', async (t) => {
  const ran = await runOn(
    t,
    {
      'kit/a.test.ts': `import { spawn } from 'node:child_process'; import { test } from 'node:test';
test('fine', () => {}); process.on('SIGTERM', () => {});
const child = spawn('sleep', ['600'], { stdio: 'inherit' }); console.log('sleeper=' + child.pid);`,
    },
    { args: ['--hang-after-s', '2'] },
  );
  assert.equal(ran.code, 1);
  assert.match(ran.text, /this file hung: no test ended for 2 s/);
  const sleeper = Number(/sleeper=(\d+)/.exec(ran.text)?.[1]);
  assert.ok(sleeper > 0);
  assert.throws(() => process.kill(sleeper, 0), { code: 'ESRCH' });
});

test('a test file has a home directory of its own, and one that writes into it fails', async (t) => {
  const file = (body: string) => `import { writeFileSync } from 'node:fs'; import { homedir } from 'node:os';
import { test } from 'node:test'; test('fine', () => { ${body} });`;
  const ran = await runOn(t, {
    'kit/a.test.ts': file(`if (homedir() === ${JSON.stringify(homedir())}) throw new Error('the home of the person');`),
    'kit/b.test.ts': file(`writeFileSync(homedir() + '/.profile', '')`),
    'kit/c.test.ts': file(`writeFileSync(process.env.XDG_CONFIG_HOME + '/gpuaas/config.toml', '')`),
    'kit/d.test.ts': file(`writeFileSync(process.env.XDG_CONFIG_HOME + '/gpuaas/known_hosts', '')`),
  });
  assert.equal(ran.lines.at(-1), '4 passed, 3 failed, 0 skipped', ran.text);
  assert.match(ran.text, /b\.test\.ts: this file wrote into the home directory: \.profile/);
  assert.match(ran.text, /c\.test\.ts: this file wrote into the home directory: \.config\/gpuaas\/config\.toml/);
  assert.match(ran.text, /d\.test\.ts: this file wrote into the home directory: \.config\/gpuaas\/known_hosts/);
});

test('a test that runs the CLI with the profile of the home directory fails', async (t) => {
  const main = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url));
  const ran = await runOn(t, {
    'kit/a.test.ts': `import { execFileSync } from 'node:child_process'; import { test } from 'node:test';
test('careless', () => { execFileSync(process.execPath, [${JSON.stringify(main)}, 'whoami'], { stdio: 'pipe' }); });`,
  });
  assert.equal(ran.lines.at(-1), '0 passed, 1 failed, 0 skipped', ran.text);
  assert.match(ran.text, /config\.toml is not TOML/);
});

test('a lane without tests states its contents and passes', async (t) => {
  const ran = await runOn(t, { 'kit/a.test.ts': PASSING }, { args: ['--lane', 'sim'] });
  assert.equal(ran.code, 0);
  assert.match(ran.lines[0] ?? '', /lane sim holds .*simulated fleet/);
  assert.equal(ran.lines.at(-1), '0 passed, 0 failed, 0 skipped');
});

test('lanes and tiers select the files, and named files override both', async (t) => {
  const files = {
    'apps/x/a.test.ts': PASSING,
    'node-agent/src/b.test.ts': PASSING,
    'node-agent/src/b.node.test.ts': PASSING,
    'server/c.test.ts': PASSING,
    'node_modules/x/d.test.ts': PASSING,
  };
  const closing = async (...args: string[]) => (await runOn(t, files, { args })).lines.at(-1);
  assert.equal(await closing(), '3 passed, 0 failed, 0 skipped');
  assert.equal(await closing('--lane', 'worker-compute', '--tier', 'all'), '2 passed, 0 failed, 0 skipped');
  assert.equal(await closing('--tier', 'node'), '1 passed, 0 failed, 0 skipped');
  assert.equal(await closing('node-agent', 'server/c.test.ts'), '3 passed, 0 failed, 0 skipped');
  assert.equal((await runOn(t, files, { args: ['--lane', 'nowhere'] })).code, 2);
  assert.equal((await runOn(t, files, { args: ['server/missing.test.ts'] })).code, 1);
});

const SLOW = `import { test } from 'node:test'; test('waits', async () => { await new Promise((done) => setTimeout(done, 700)); });`;
/** The lines of the files, in the order in which they ended. */
const ended = ({ lines }: Ran): readonly string[] =>
  lines.flatMap((line) => /^(?:ok {2}|FAIL) (\S+)/.exec(line)?.[1] ?? []);

test('the slow tier follows the fast one and the node tier comes last, whatever the files are called', async (t) => {
  const files = {
    'node-agent/a.node.test.ts': PASSING,
    'node-agent/b.slow.db.test.ts': PASSING,
    'node-agent/c.test.ts': PASSING,
    'server/d.test.ts': PASSING,
  };
  const all = await runOn(t, files, { args: ['--tier', 'all', '--concurrency', '1'] });
  assert.deepEqual(ended(all).slice(2), ['node-agent/b.slow.db.test.ts', 'node-agent/a.node.test.ts'], all.text);
  assert.match(all.text, /^Time by tier: fast \d+\.\d s, slow \d+\.\d s, node \d+\.\d s$/m);
  assert.deepEqual(ended(await runOn(t, files, { args: ['--tier', 'slow'] })), ['node-agent/b.slow.db.test.ts']);
});

/** A test that waits for a file, then writes another. */
const waitsFor = (awaited: string, written: string): string => `import { existsSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
test('waits', { timeout: 30_000 }, async () => {
  while (!existsSync('${awaited}')) await new Promise((done) => setTimeout(done, 10));
  writeFileSync('${written}', '');
});`;
const finds = (file: string, written: string): string => `import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test'; test('finds', () => { readFileSync('${file}'); writeFileSync('${written}', ''); });`;

test('slow files start while the last fast one runs, and node files when all others have ended', async (t) => {
  const files = {
    'kit/a.test.ts': waitsFor('slow', 'fast'),
    'kit/b.slow.test.ts': `import { writeFileSync } from 'node:fs'; ${PASSING} writeFileSync('slow', '');`,
    'kit/c.node.test.ts': finds('fast', 'node'),
  };
  const ran = await runOn(t, files, { args: ['--tier', 'all', '--concurrency', '2'] });
  assert.equal(ran.lines.at(-1), '3 passed, 0 failed, 0 skipped', ran.text);
});

test('a coverage test starts when the files it judges have ended, and others do not wait for it', async (t) => {
  const files = {
    'scheduler/src/a.test.ts': waitsFor('other', 'measured'),
    'scheduler/test/coverage.test.ts': finds('measured', 'judged'),
    'kit/b.test.ts': `import { writeFileSync } from 'node:fs'; ${PASSING} writeFileSync('other', '');`,
    'tools/test/durations.json': '{ "scheduler/test/coverage.test.ts": 90, "scheduler/src/a.test.ts": 60 }',
  };
  const ran = await runOn(t, files, { args: ['--concurrency', '2'] });
  assert.equal(ran.lines.at(-1), '3 passed, 0 failed, 0 skipped', ran.text);
});

test('the longest files start first, and the run names its slowest', async (t) => {
  const ran = await runOn(
    t,
    {
      'kit/a.test.ts': PASSING,
      'kit/b.test.ts': PASSING,
      'kit/c.test.ts': SLOW,
      'tools/test/durations.json': '{ "kit/c.test.ts": 30, "kit/b.test.ts": 20 }',
    },
    { args: ['--concurrency', '1'] },
  );
  assert.deepEqual(ended(ran), ['kit/c.test.ts', 'kit/b.test.ts', 'kit/a.test.ts']);
  assert.match(ran.text, /Slowest files:\n +\d+\.\d s {2}kit\/c\.test\.ts\n/);
});

test('durations are stored on request: short and missing files are left out, others stay', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'gpuaas-runner-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const dir of ['kit', 'tools/test']) mkdirSync(join(root, dir), { recursive: true });
  for (const file of ['kit/a.test.ts', 'kit/b.test.ts', 'kit/c.test.ts']) writeFileSync(join(root, file), PASSING);
  writeFileSync(
    join(root, 'tools/test/durations.json'),
    '{ "kit/a.test.ts": 9, "kit/b.test.ts": 8, "kit/gone.test.ts": 7 }',
  );
  rememberDurations(root, [
    { file: 'kit/a.test.ts', durationMs: 900 },
    { file: 'kit/c.test.ts', durationMs: 12_345 },
  ]);
  assert.deepEqual(Object.entries(readDurations(root)), [
    ['kit/c.test.ts', 12],
    ['kit/b.test.ts', 8],
  ]);
});

test('files that need commit order to themselves never run at the same time', async (t) => {
  const busy = `import { mkdirSync, rmdirSync } from 'node:fs'; import { test } from 'node:test';
test('alone', async () => { mkdirSync('kit/busy'); await new Promise((done) => setTimeout(done, 300)); rmdirSync('kit/busy'); });`;
  const file = `import './own-cluster.ts';\n${busy}`;
  const ran = await runOn(t, {
    'kit/own-cluster.ts': '',
    'kit/a.test.ts': file,
    'kit/b.test.ts': file,
    'kit/c.test.ts': file,
    'kit/d.test.ts': PASSING,
  });
  assert.equal(ran.lines.at(-1), '4 passed, 0 failed, 0 skipped', ran.text);
});
