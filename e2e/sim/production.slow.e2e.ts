/**
 * The first start of a production site: with the settings that production requires and an issuer of its own, from an empty
 * database to the approval of the first host, by `gpuaas admin setup` at a terminal. It is interrupted while it waits for the
 * host, and every process is restarted meanwhile.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { emptyDatabase } from '../../server/test/database.ts';
import { requires } from '../../tools/test/requires.ts';
import { createStory } from '../story.ts';
import { type EnrollmentGrant, eventually, newHost, type Running } from './platform.ts';
import { type Production, SUPERADMIN, startProduction } from './production.ts';

const MAIN = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url));
const DEMO = fileURLToPath(new URL('../../lab/site.yaml', import.meta.url));
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const HOST = 'j22u15';
const [CTRL_C, ENTER] = ['\u0003', '\r'];
const INTERRUPTED = 130;
const skip = requires('script');

const scratch = mkdtempSync(join(tmpdir(), 'gpuaas-production-'));
const cleanups: (() => Promise<void>)[] = [];
const t = { after: (fn: () => Promise<void>) => void cleanups.unshift(fn) };
const said: string[] = [];
const test = createStory(async () => said.join('\n--- next command\n'));
let site: Production;
let host: Running | undefined;

type Body = Readonly<Record<string, unknown>>;
type Ran = Readonly<{ code: number | null; stdout: string; stderr: string }>;
type Setup = Readonly<{ next: string | null; requires_named_host: boolean; steps: readonly Body[] }>;

const userEnv = (): NodeJS.ProcessEnv => {
  // A program that runs on behalf of an agent or of CI gets no prompts.
  const { CI: _, AGENT: __, AI_AGENT: ___, GPUAAS_PROFILE: ____, ...inherited } = site.env;
  return { ...inherited, HOME: scratch, XDG_CONFIG_HOME: scratch, GPUAAS_URL: site.url, TERM: 'xterm' };
};

/** The issuer and TLS are of this process, so commands run beside it. */
const run = (...words: readonly string[]): Promise<Ran> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [MAIN, ...words], { env: userEnv(), stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.once('close', (code) => {
      said.push(`gpuaas ${words.join(' ')}\n${stdout}${stderr}`);
      resolve({ code, stdout, stderr });
    });
  });
const json = async <T = Body>(...words: readonly string[]): Promise<T> => {
  const { code, stdout, stderr } = await run(...words, '--json');
  assert.equal(code, 0, `gpuaas ${words.join(' ')}\n${stdout}${stderr}`);
  return JSON.parse(stdout) as T;
};
const setup = (): Promise<Setup> => json<Setup>('admin', 'setup');

type Reply = readonly [onScreen: string | RegExp, keys: string | ((found: string) => string)];

/** Types each reply once its text is on the screen, in order. */
const atTerminal = async (
  words: string,
  replies: readonly Reply[],
): Promise<Readonly<{ code: number | null; screen: string }>> => {
  const command = `stty columns 200; exec '${process.execPath}' '${MAIN}' ${words}`;
  const child = spawn('script', ['-qec', command, '/dev/null'], { env: userEnv() });
  const left = [...replies];
  let [screen, from] = ['', 0];
  child.stdout.on('data', (chunk: Buffer) => {
    screen += chunk.toString();
    for (let [next] = left; next !== undefined; [next] = left) {
      const [wanted, keys] = next;
      const at = typeof wanted === 'string' ? screen.indexOf(wanted, from) : screen.slice(from).search(wanted);
      if (at < 0) return;
      const found = typeof wanted === 'string' ? wanted : (wanted.exec(screen.slice(from))?.[0] ?? '');
      from = typeof wanted === 'string' ? at + wanted.length : from + at + found.length;
      left.shift();
      child.stdin.write(typeof keys === 'string' ? keys : keys(found));
    }
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  said.push(`gpuaas ${words}\n${screen}`);
  assert.deepEqual(left, [], screen);
  return { code, screen };
};

const grantOn = (screen: string): EnrollmentGrant => {
  const [, node_api_url = '', ca_sha256 = ''] = /--node-api-url (\S+) --ca-sha256 ([0-9a-f]{64})/.exec(screen) ?? [];
  const [token = ''] = /gpe_[\w-]{43}/.exec(screen) ?? [];
  return { node_api_url, ca_sha256, token };
};

before(async () => {
  if (skip !== false) return;
  const database_url = await emptyDatabase(t);
  mkdirSync(join(scratch, 'site'));
  site = await startProduction(t, { database_url, dir: join(scratch, 'site') });
});
after(async () => {
  await host?.kill('SIGTERM');
  for (const clean of cleanups) await clean();
  rmSync(scratch, { recursive: true, force: true });
});

test('the first superadmin signs in at the issuer, by the device flow', { skip }, async () => {
  const { code, stderr } = await run('admin', 'setup');
  assert.equal(code, 4);
  assert.match(stderr, /GPUAAS_SUPERADMIN_EMAILS/);
  site.issuer.token.answer = async (form) => {
    if (form.get('grant_type') !== DEVICE_GRANT) return { status: 400, body: { error: 'unsupported_grant_type' } };
    const access_token = await site.issuer.sign({ sub: 'ada', name: 'Ada', email: SUPERADMIN });
    return { status: 200, body: { access_token, expires_in: 3_600 } };
  };
  assert.equal((await run('login')).code, 0);
  const { next, requires_named_host, steps } = await setup();
  assert.deepEqual([next, requires_named_host], ['catalog', true]);
  const detail = steps.find(({ key }) => key === 'sign_in')?.['detail'];
  assert.equal(detail, `Users sign in at ${site.issuer.url}.`);
});

test('setup applies the site file and registers the host by its serial number, until it is interrupted', {
  skip,
}, async () => {
  const { quotas: _, ...demo } = parse(readFileSync(DEMO, 'utf8')) as Body;
  const regions = (demo['regions'] as Body[]).filter(({ enabled }) => enabled !== false);
  // The organization of the demo does not exist here.
  const pools = (demo['pools'] as Body[]).filter(({ organization }) => organization === undefined);
  const file = join(scratch, 'site.yaml');
  writeFileSync(file, stringify({ ...demo, regions, pools }));
  const { serial } = newHost(HOST, { dir: scratch, env: userEnv() });
  const { code, screen } = await atTerminal('admin setup', [
    ['Continue with: Catalog?', 'y'],
    ['Site file', `${'\u007f'.repeat('site.yaml'.length)}${file}${ENTER}`],
    [/Apply \d+ changes\?/, 'y'],
    ['Continue with: Create the first node?', 'y'],
    ['Name of the host', `${HOST}${ENTER}`],
    ['Region', ENTER],
    ['GPU model', ENTER],
    ['Number of GPUs', ENTER],
    ['Capacity mode', ENTER],
    ['dmidecode -s system-serial-number', ''],
    ['Serial number of the host', `${serial}${ENTER}`],
    ['Waiting for its agent', CTRL_C],
  ]);
  assert.equal(code, INTERRUPTED, screen);
  assert.notEqual(grantOn(screen).token, '');
});

test('setup continues at the host after every process was restarted, up to the approval', { skip }, async () => {
  await site.restart();
  assert.equal((await setup()).next, 'node_enrolled');
  const { code, screen } = await atTerminal('admin setup', [
    ['Continue with: Enroll its agent?', 'y'],
    [`Print a new install command for ${HOST}?`, 'y'],
    ['Serial number of the host (optional)', ENTER],
    [
      /[\s\S]*gpe_[\w-]{43}[\s\S]*Waiting for the agent/,
      (shown) => {
        host = newHost(HOST, { dir: scratch, env: userEnv() }).install(grantOn(shown));
        return '';
      },
    ],
    ['Continue with: Discover its hardware?', 'y'],
    ['Next: Approve its slots', ''],
  ]);
  assert.equal(code, 0, `${screen}\n${host?.said()}`);
  const { items } = await json<{ items: readonly Body[] }>('admin', 'node', 'list');
  assert.deepEqual(
    items.map(({ name }) => name),
    [HOST],
    'no second node',
  );
});

test('the approved host is ready to sell, and the check of the site finds nothing that failed', { skip }, async () => {
  await json('admin', 'slot', 'approve', HOST, '--all', '--yes');
  await eventually('its slots are available', async () => {
    const slots = await json<{ items: readonly Body[] }>('admin', 'node', 'slots', HOST);
    return slots.items.length === 8 && slots.items.every(({ status }) => status === 'available') ? true : undefined;
  });
  assert.equal((await setup()).next, 'first_launch');
  const { checks } = await json<{ checks: readonly Body[] }>('admin', 'doctor');
  const stateOf = (key: string): unknown => checks.find((one) => one['key'] === key)?.['state'];
  assert.deepEqual(
    ['database', 'issuer', 'public_tls', 'gateway', 'named_hosts', 'gpu_models', 'trust_keys'].map((key) => [
      key,
      stateOf(key),
    ]),
    ['database', 'issuer', 'public_tls', 'gateway', 'named_hosts', 'gpu_models', 'trust_keys'].map((key) => [
      key,
      'ok',
    ]),
    JSON.stringify(checks, null, 1),
  );
});
