/** The first hour of a new user, with the CLI alone against a real control plane. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Browser } from '../../server/test/browser.ts';
import { type LabUnderTest, labUnderTest } from './lab.ts';
import { ageSignIns } from './old-sign-in.ts';

const GPUAAS = fileURLToPath(new URL('../../bin/gpuaas', import.meta.url));
const PUBLIC_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJrdGRbsSxk3+uIc8C0krx3ud23UwpFcNjjs36R6CLvp ada@laptop\n';

type Ran = Readonly<{ code: number | null; stdout: string; stderr: string }>;
type Body = Readonly<Record<string, unknown>> & Readonly<{ meta?: { correlation_id: string } }>;
type Listed = Readonly<{ schema_version: number; items: readonly Record<string, unknown>[] }>;

/** One control plane for all tests, which run in order; each has its own profile. */
let lab: LabUnderTest;
/** How `make up DETACH=1` returned: how long it took, and whether every host was ready in that moment. */
let returned: Readonly<{ after_ms: number; areHostsReady: boolean }>;
/** It waits this long for the hosts (lab/src/supervise.ts), and then states how many are ready. */
const HOSTS_WAIT_MS = 90_000;
const closers: (() => Promise<void> | void)[] = [];
before(async () => {
  lab = await labUnderTest({ after: (close) => void closers.push(close) });
  const startedAt = performance.now();
  const up = await lab.make(['up', 'DETACH=1']);
  returned = { after_ms: performance.now() - startedAt, areHostsReady: lab.areHostsReady() };
  assert.equal(up.code, 0, up.text);
});
after(async () => {
  for (const close of closers) await close();
});

/** A command without a sign-in. */
const shell = (t: TestContext) => {
  const home = mkdtempSync(join(tmpdir(), 'gpuaas-cli-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const { GPUAAS_TOKEN: _, GPUAAS_PROFILE: __, GPUAAS_DEV_PASSWORD: ___, ...inherited } = process.env;
  const env = { ...inherited, XDG_CONFIG_HOME: home, GPUAAS_URL: lab.url, GPUAAS_STATE_DIR: lab.stateDir };

  const run = (words: string, more: { input?: string; env?: Record<string, string> } = {}): Ran => {
    const done = spawnSync(GPUAAS, words.split(' '), {
      env: { ...env, ...more.env },
      input: more.input ?? '',
      encoding: 'utf8',
    });
    return { code: done.status, stdout: done.stdout, stderr: done.stderr };
  };
  /** Runs a command that must succeed and reads its JSON. */
  const json = <T = Body>(words: string, more?: Parameters<typeof run>[1]): T => {
    const { code, stdout, stderr } = run(words, more);
    assert.equal(code, 0, `gpuaas ${words}\n${stderr}`);
    return JSON.parse(stdout) as T;
  };
  return { home, env, run, json };
};

test('the demo is ready for a launch when `make up DETACH=1` returns', async (t) => {
  assert.ok(returned.areHostsReady || returned.after_ms >= HOSTS_WAIT_MS, 'it returned before its hosts were ready');
  // On a very slow machine only.
  if (!returned.areHostsReady) await lab.hostsReady();
  const { json } = shell(t);
  json('login --dev');
  json('project use default');
  assert.equal(json('launch first --sku h200-sxm-slice --region us-buffalo-1 --gpus 4 --dry-run')['fits_now'], true);
});

/** Signs in by the device flow: the CLI names an address, and the browser opens it and enters the password. */
const logIn = async (env: NodeJS.ProcessEnv, browser: Browser, username: string, ...flags: string[]): Promise<void> => {
  const login = spawn(GPUAAS, ['login', ...flags], { env });
  const signedIn = new Promise<number | null>((resolve) => login.once('exit', resolve));
  const address = await new Promise<string>((resolve) => {
    let said = '';
    login.stderr.on('data', (chunk) => {
      said += chunk;
      const [, url] = /Open (\S+)\n/.exec(said) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
  const password = readFileSync(join(lab.stateDir, 'dev-password'), 'utf8').trim();
  const form = await browser.submit(await browser.open(address));
  assert.match(form.text, /name="password"/);
  assert.equal((await browser.submit(form, { username, password })).status, 200);
  assert.equal(await signedIn, 0);
};

const namesOf = (list: Listed, key: string) => list.items.map((item) => item[key]);

test('a new user signs in, creates a project, credentials and keys, and finds them in events and audit', async (t) => {
  const { home, run, json } = shell(t);
  assert.equal(run('whoami').code, 4);
  json('login --dev');
  assert.equal(statSync(join(home, 'gpuaas/config.toml')).mode & 0o777, 0o600);
  const me = json<{ email: string; projects: { name: string }[] }>('whoami');
  assert.equal(me.email, 'dev-admin@gpuaas.local');
  assert.deepEqual(
    me.projects.map(({ name }) => name),
    ['default'],
  );
  assert.equal(run('doctor').code, 0);

  const project = json('project create research --idempotency-key first-hour-1');
  assert.equal(json('project create research --idempotency-key first-hour-1')['id'], project['id']);
  assert.equal(run('project create research').code, 5);
  json(`project update research --display-name Research`);
  assert.equal(run('project update research --display-name Old --if-match 1').code, 5);
  json('project use research');

  const token = json<{ token: string }>('token create ci --scope read --expires-in 1h').token;
  assert.equal(json('whoami', { env: { GPUAAS_TOKEN: token } })['email'], me.email);
  assert.equal(run('project create other', { env: { GPUAAS_TOKEN: token } }).code, 4);

  const robot = json<{ client_secret: string; service_account: { id: string } }>('service-account create robot');
  const form = {
    grant_type: 'client_credentials',
    client_id: robot.service_account.id,
    client_secret: robot.client_secret,
  };
  const issued = await fetch(`${lab.url}/api/v1/auth/token`, { method: 'POST', body: new URLSearchParams(form) });
  const { access_token } = (await issued.json()) as { access_token: string };
  assert.equal(json('whoami', { env: { GPUAAS_TOKEN: access_token } })['kind'], 'service_account');

  const key = json('ssh-key add laptop -', { input: PUBLIC_KEY });
  assert.equal(json('ssh-key get laptop')['id'], key['id']);
  assert.deepEqual(
    new Set(namesOf(json<Listed>('sku list'), 'name')),
    new Set(['h200-sxm-baremetal-8g', 'h200-sxm-slice']),
  );
  assert.equal(run('sku get h100').code, 3);

  const events = json<Listed>('events --all');
  assert.deepEqual(namesOf(events, 'type'), ['project.created', 'project.updated', 'service_account.created']);
  const audit = json<Listed>(`audit list --by-correlation-id ${project.meta?.correlation_id}`);
  assert.deepEqual(namesOf(audit, 'action'), ['project.create']);
  assert.deepEqual(namesOf(audit, 'target_id'), [project['id']]);
  const lines = run('audit export').stdout.trim().split('\n');
  assert.ok(lines.length >= 6 && lines.every((line) => 'correlation_id' in JSON.parse(line)));
  assert.equal(json('admin audit verify')['intact'], true);

  json('logout');
  assert.equal(run('whoami').code, 4);
});

test('a tenant previews, launches, watches and releases; an operator replays the placement decision', async (t) => {
  const { run, json } = shell(t);
  json('login --dev');
  json('project use default');
  const slice = '--sku h200-sxm-slice --region us-buffalo-1';
  const estimate = json(`launch train ${slice} --gpus 4 --dry-run`);
  assert.equal(estimate['fits_now'], true);
  assert.deepEqual(estimate['price_per_hour'], { amount_minor: 1800, currency: 'USD' });
  assert.deepEqual(json<Listed>('ls').items, []);

  const snapshot = run('admin scheduler snapshot').stdout;
  const foreseen = json<{ decision: { node_id: string; slot_ids: string[] } }>(
    `admin scheduler explain - ${slice} --gpus 4`,
    {
      input: snapshot,
    },
  );
  const launched = json(`launch train ${slice} --gpus 4 --protect --tag team=vision --max-duration 4h --wait`);
  assert.equal(launched['state'], 'active');
  const admin = json<{ node_id: string; claims: { slot_id: string }[] }>(`admin allocation get ${launched['id']}`);
  assert.equal(admin.node_id, foreseen.decision.node_id);
  assert.deepEqual(new Set(admin.claims.map(({ slot_id }) => slot_id)), new Set(foreseen.decision.slot_ids));
  assert.equal(json<{ project: { gpu_used: number } }>('quota get').project.gpu_used, 4);

  assert.equal(run(`launch train ${slice} --gpus 1`).code, 5);
  assert.equal(run('release train --yes').code, 5);
  json('allocation update train --no-protect');
  const released = json('release train --yes --wait');
  assert.equal(released['state'], 'released');
  const steps = namesOf(json<Listed>(`allocation timeline ${launched['id']} --all`), 'step');
  assert.ok(steps.indexOf('activate') < steps.indexOf('wipe') && steps.at(-1) === 'prove', steps.join(' '));
  const [usage] = json<Listed>(`usage list --allocation ${launched['id']}`).items;
  assert.deepEqual(usage?.['cost'], released['cost_so_far']);

  const organization = json<{ organization: { organization_id: string } }>('quota get').organization.organization_id;
  json(`admin quota set ${organization} --gpus 2`);
  const refused = run(`launch train ${slice} --gpus 4 --json`);
  assert.equal(refused.code, 6);
  const [instead = ''] = (JSON.parse(refused.stderr) as { error: { commands: string[] } }).error.commands;
  assert.equal(json(`${instead.replace(/^gpuaas /, '')} --wait`)['gpu_count'], 2);
  json('release train --yes --wait');
  assert.equal(json('admin invariants check')['is_clean'], true);
});

test('the device flow signs in through a browser; events are streamed, and Ctrl-C exits with 130', async (t) => {
  const { env } = shell(t);
  const gpuaas = (...words: string[]) => spawnSync(GPUAAS, words, { env, encoding: 'utf8' });
  await logIn(env, new Browser(lab.url), 'dev-user');
  assert.equal(JSON.parse(gpuaas('whoami').stdout).email, 'dev-user@gpuaas.local');

  // Resuming after the first event makes the test independent of when the stream opens.
  const [first] = (JSON.parse(gpuaas('events').stdout) as Listed).items;
  const follower = spawn(GPUAAS, ['events', '--follow', '--after', String(first?.['id'])], { env });
  const ended = new Promise<number | null>((resolve) => follower.once('exit', resolve));
  assert.equal(gpuaas('project', 'update', 'default', '--display-name', 'Live').status, 0);
  const line = await new Promise<string>((resolve) => {
    let text = '';
    follower.stdout.on('data', (chunk) => {
      text += chunk;
      if (text.includes('\n')) resolve(text);
    });
  });
  assert.equal(JSON.parse(line).type, 'project.updated');
  follower.kill('SIGINT');
  assert.equal(await ended, 130);
});

test('an old sign-in of an operator is refused with the way out, and login --fresh makes the command work', async (t) => {
  const { home, env, run, json } = shell(t);
  const browser = new Browser(lab.url);
  await logIn(env, browser, 'dev-admin');
  const { organization } = json<{ organization: { organization_id: string } }>('quota get');
  const change = `admin quota set ${organization.organization_id} --gpus 7`;
  await ageSignIns(lab);
  // The next command renews its token, which keeps the time of the sign-in.
  const file = join(home, 'gpuaas/config.toml');
  const profile = readFileSync(file, 'utf8');
  writeFileSync(file, profile.replace(/expires_at = "[^"]*"/, 'expires_at = "2000-01-01T00:00:00.000Z"'));
  assert.equal(json('whoami')['email'], 'dev-admin@gpuaas.local');

  const limit = () => json<{ organization: { gpu_limit: number } }>('quota get').organization.gpu_limit;
  const before = limit();
  const refused = run(`${change} --json`);
  assert.equal(refused.code, 4);
  const { error } = JSON.parse(refused.stderr) as { error: { code: string; detail: string; help: string } };
  assert.equal(error.code, 'fresh_sign_in_required');
  assert.match(error.detail, /^This change needs a sign-in of the last 15 minutes\. Yours is older\./);
  assert.match(error.help, /gpuaas login --fresh/);
  assert.deepEqual([before === 7, limit()], [false, before]);

  // The browser is still signed in to the issuer; it asks for the password all the same.
  await logIn(env, browser, 'dev-admin', '--fresh');
  json(change);
  assert.equal(limit(), 7);
});
