import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { DEV_PASSWORD, type Overrides, Refusal, startApi } from '../golden/api.ts';
import { answers } from '../golden/fixtures.ts';
import { configPath, type Profile, readConfig, updateConfig, withProfile } from './config.ts';
import { run } from './run.ts';

const TOO_OLD = new Refusal(
  401,
  'fresh_sign_in_required',
  'This change needs a sign-in of the last 15 minutes. Yours is older.',
);
/** The first request is refused, and the one after it accepted. */
const once: Overrides = { adminTrustKeyCreate: (count) => (count === 0 ? TOO_OLD : answers.adminTrustKeyCreate) };
const STAGE = ['admin', 'trust', 'stage', 'task_signer', '--reason', 'yearly', '--no-json'];

type Run = Readonly<{ overrides: Overrides; profile?: Profile; env?: Record<string, string>; types?: string }>;

/** Runs the command at a terminal where a person types as soon as a question is asked. */
const atTerminal = async (t: TestContext, { overrides, profile, env: more, types }: Run) => {
  const api = await startApi(overrides);
  const folder = await mkdtemp(join(tmpdir(), 'gpuaas-sign-in-'));
  t.after(async () => {
    api.close();
    await rm(folder, { recursive: true, force: true });
  });
  const env = { XDG_CONFIG_HOME: folder, GPUAAS_URL: api.url, GPUAAS_DEV_PASSWORD: DEV_PASSWORD, ...more };
  const signedIn = {
    url: api.url,
    access_token: 'gp_test',
    refresh_token: 'refresh-0',
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    ...profile,
  };
  await updateConfig(configPath(env), (config) => withProfile(config, 'default', signedIn));
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let seen = '';
  let hasTyped = false;
  stderr.on('data', (chunk: Buffer) => {
    seen += chunk.toString();
    if (types === undefined || hasTyped || !seen.includes('Sign in again')) return;
    hasTyped = true;
    setImmediate(() => stdin.write(types));
  });
  stdout.resume();
  const terminal = types === undefined ? {} : { isTTY: true, setRawMode: () => undefined };
  const code = await run(STAGE, {
    env,
    cwd: folder,
    self: [],
    stdin: Object.assign(stdin, terminal),
    stdout,
    stderr: Object.assign(stderr, terminal),
    signal: new AbortController().signal,
  });
  const stored = (await readConfig(configPath(env))).profiles['default'];
  const sent = (part: string) => api.requests.filter((line) => line.includes(part));
  return { code, seen, stored, sent, keys: api.keys };
};

test('a refused change asks the person to sign in again and repeats with the same key', async (t) => {
  const { code, seen, stored, sent, keys } = await atTerminal(t, { overrides: once, types: 'y' });
  assert.equal(code, 0, seen);
  assert.match(seen, /This change needs a fresh sign-in/);
  assert.match(sent('/oidc/device')[0] ?? '', /prompt=login&max_age=1/);
  assert.equal(sent('POST /api/v1/admin/trust').length, 2);
  assert.deepEqual([keys.length, new Set(keys).size], [2, 1]);
  assert.deepEqual([stored?.access_token, stored?.refresh_token], ['access-1', 'refresh-1']);
});

test('a user of the embedded issuer signs in again without a browser', async (t) => {
  const profile = { dev_user: 'dev-admin' };
  const { code, seen, stored, sent } = await atTerminal(t, { overrides: once, profile, types: 'y' });
  assert.equal(code, 0, seen);
  assert.match(seen, /Sign in again as dev-admin/);
  assert.equal(sent('/oidc/device').length, 0);
  assert.equal(sent('username=dev-admin').length, 1);
  assert.deepEqual([stored?.access_token, stored?.dev_user], ['access-1', 'dev-admin']);
});

test('a person who declines, and a sign-in of another user, repeat nothing', async (t) => {
  const declined = await atTerminal(t, { overrides: once, types: 'n' });
  assert.equal(declined.code, 4);
  assert.match(declined.seen, /Yours is older/);
  assert.equal(declined.sent('POST /api/v1/admin/trust').length, 1);
  assert.equal(declined.stored?.access_token, 'gp_test');
  const me = answers.meGet;
  const other: Overrides = { ...once, meGet: (count) => (count === 0 ? { ...me, id: 'usr_other' } : me) };
  const swapped = await atTerminal(t, { overrides: other, types: 'y' });
  assert.equal(swapped.code, 4);
  assert.match(swapped.seen, /You signed in as another user/);
  assert.equal(swapped.sent('POST /api/v1/admin/trust').length, 1);
  assert.equal(swapped.stored?.access_token, 'gp_test');
});

test('without a terminal, and with an API token, nothing is asked and the error names the command', async (t) => {
  const script = await atTerminal(t, { overrides: once });
  assert.equal(script.code, 4);
  assert.match(script.seen, /gpuaas login --fresh/);
  assert.equal(script.sent('/oidc').length, 0);
  const token = await atTerminal(t, { overrides: once, env: { GPUAAS_TOKEN: 'gp_test' }, types: 'y' });
  assert.equal(token.code, 4);
  assert.match(token.seen, /API token with the scope fresh_sign_in/);
  assert.equal(token.sent('/oidc').length, 0);
});
