import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { LIMIT_NAMES, LIMITS } from '@gpuaas/contract';
import { ConfigError } from '@gpuaas/kit';
import { readConfig } from './config.ts';

const PRODUCTION = {
  GPUAAS_MODE: 'production',
  DATABASE_URL: 'postgresql://db.example/gpuaas',
  GPUAAS_OIDC_ISSUER: 'https://id.example',
  GPUAAS_PUBLIC_URL: 'https://api.example/',
  GPUAAS_GATEWAY_PUBLIC_URL: 'wss://gateway.example/',
  GPUAAS_PLATFORM_KEY: Buffer.alloc(32, 7).toString('base64'),
  GPUAAS_TRUST_KEY: Buffer.alloc(32, 8).toString('base64'),
};

it('production starts with an https issuer, an https public address and a key', () => {
  const config = readConfig(PRODUCTION);
  assert.deepEqual([config.public_url, config.oidc.issuer], ['https://api.example', 'https://id.example']);
});

it('production requires named hosts unless that is turned off, and development does not', () => {
  const isRequired = (env: Readonly<Record<string, string>>): boolean => readConfig(env).requires_named_host;
  assert.equal(isRequired(PRODUCTION), true);
  assert.equal(isRequired({ ...PRODUCTION, GPUAAS_REQUIRE_NAMED_HOST: '0' }), false);
  const scratch = mkdtempSync(join(tmpdir(), 'gpuaas-config-'));
  try {
    const development = { DATABASE_URL: PRODUCTION.DATABASE_URL, GPUAAS_STATE_DIR: scratch };
    assert.equal(isRequired(development), false);
    assert.equal(isRequired({ ...development, GPUAAS_REQUIRE_NAMED_HOST: '1' }), true);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});

it('production refuses to start without any one of them, and names it', () => {
  const wrong: Readonly<Record<string, string>> = {
    DATABASE_URL: '',
    GPUAAS_OIDC_ISSUER: 'http://id.example',
    GPUAAS_PUBLIC_URL: 'http://api.example',
    GPUAAS_GATEWAY_PUBLIC_URL: 'ws://gateway.example',
    GPUAAS_PLATFORM_KEY: 'c2hvcnQ=',
    GPUAAS_TRUST_KEY: '1:c2hvcnQ=',
  };
  for (const [name, value] of Object.entries(wrong))
    for (const bad of [value, ''])
      assert.throws(
        () => readConfig({ ...PRODUCTION, [name]: bad }),
        (err: unknown) => err instanceof ConfigError && err.message.includes(name),
        `${name}=${bad}`,
      );
});

it('a database address of another system is refused at start', () => {
  assert.throws(
    () => readConfig({ ...PRODUCTION, DATABASE_URL: 'mysql://db.example/gpuaas' }),
    (err: unknown) => err instanceof ConfigError && /DATABASE_URL.*must start with postgresql:/.test(err.message),
  );
});

it('a gateway is announced to clients and hosts as configured, and accepts pages of the API’s own origin', () => {
  const { gateway } = readConfig({
    ...PRODUCTION,
    GPUAAS_GATEWAY_NAMES: 'gw-1.example',
    GPUAAS_GATEWAY_AGENT_PORT: '443',
  });
  assert.deepEqual(
    [gateway.public_url, gateway.agent_url, gateway.origins],
    ['wss://gateway.example', 'wss://gw-1.example:443', ['https://api.example']],
  );
  assert.throws(
    () => readConfig({ ...PRODUCTION, GPUAAS_GATEWAY_AGENT_URL: 'wss://gw-1.example/streams' }),
    (err: unknown) => err instanceof ConfigError && err.message.includes('GPUAAS_GATEWAY_AGENT_URL'),
  );
  const elsewhere = { ...PRODUCTION, GPUAAS_GATEWAY_PUBLIC_URL: '' };
  const { GPUAAS_TRUST_KEY: _, ...unsigned } = elsewhere;
  assert.doesNotThrow(() => readConfig(unsigned, 'gpuaas-provisioning-worker'));
});

it('a web session lasts eight hours idle and one day at most by default', () => {
  assert.deepEqual(readConfig(PRODUCTION).web_session, { idle_s: 28_800, max_s: 86_400 });
  const shorter = { GPUAAS_WEB_SESSION_IDLE_S: '900', GPUAAS_WEB_SESSION_MAX_S: '3600' };
  assert.deepEqual(readConfig({ ...PRODUCTION, ...shorter }).web_session, { idle_s: 900, max_s: 3_600 });
  for (const [name, bad] of [
    ['GPUAAS_WEB_SESSION_IDLE_S', '0'],
    ['GPUAAS_WEB_SESSION_MAX_S', 'for ever'],
  ] as const)
    assert.throws(
      () => readConfig({ ...PRODUCTION, [name]: bad }),
      (err: unknown) => err instanceof ConfigError && err.message.includes(name),
    );
});

it('limits default to the contract’s values and can be set one by one or all together', () => {
  const limitsOf = (text: string) => readConfig({ ...PRODUCTION, GPUAAS_LIMITS: text }).limits;
  assert.deepEqual(limitsOf(''), Object.fromEntries(LIMIT_NAMES.map((name) => [name, LIMITS[name].default])));
  const some = limitsOf('projects=7, streams=3000');
  assert.deepEqual([some.projects, some.streams, some.ssh_keys], [7, 3000, LIMITS.ssh_keys.default]);
  const all = limitsOf('all=9,projects=7');
  assert.deepEqual([all.projects, all.streams], [7, 9]);
  for (const wrong of ['project=7', 'projects', 'projects=0', 'projects=-1', 'projects=many', 'constructor=1'])
    assert.throws(() => limitsOf(wrong), /GPUAAS_LIMITS/, wrong);
});

it('the console is a public client unless it has a secret', () => {
  assert.equal(readConfig(PRODUCTION).oidc.console_client_secret, null);
  const config = readConfig({ ...PRODUCTION, GPUAAS_OIDC_CONSOLE_CLIENT_SECRET: 'hush' });
  assert.equal(config.oidc.console_client_secret, 'hush');
});

it('a configured console directory must hold a console', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gpuaas-config-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const named = { ...PRODUCTION, GPUAAS_CONSOLE_DIR: folder };
  assert.throws(
    () => readConfig(named),
    (err: unknown) => err instanceof ConfigError && err.message.includes('GPUAAS_CONSOLE_DIR'),
  );
  writeFileSync(join(folder, 'index.html'), '');
  assert.equal(readConfig(named).console_dir, folder);
});

it('a key may have several versions, each listed once', () => {
  const key = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
  const ring = (text: string) => readConfig({ ...PRODUCTION, GPUAAS_PLATFORM_KEY: text }).platform_keys;
  assert.deepEqual([...ring(key(1))], [[1, Buffer.alloc(32, 1)]]);
  assert.deepEqual(
    [...ring(`2:${key(2)}, 1:${key(1)}`)],
    [
      [2, Buffer.alloc(32, 2)],
      [1, Buffer.alloc(32, 1)],
    ],
  );
  for (const bad of [`0:${key(1)}`, `70000:${key(1)}`, `1:${key(1)},1:${key(2)}`, `${key(1)},`, `x:${key(1)}`])
    assert.throws(() => ring(bad), ConfigError, bad);
});

it('only the node API receives the trust key', () => {
  assert.ok(readConfig(PRODUCTION, 'gpuaas-node-api').trust_keys);
  assert.throws(
    () => readConfig(PRODUCTION, 'gpuaas-api,gpuaas-terminal-gateway'),
    (err: unknown) => err instanceof ConfigError && /GPUAAS_TRUST_KEY is for processes with the role/.test(err.message),
  );
});

it('in development both keys are created together, and the key of an earlier build stays the trust key', (t) => {
  const GPUAAS_STATE_DIR = mkdtempSync(join(tmpdir(), 'gpuaas-keys-'));
  t.after(() => rmSync(GPUAAS_STATE_DIR, { recursive: true, force: true }));
  const env = { DATABASE_URL: 'postgresql://unused', GPUAAS_STATE_DIR };
  const api = readConfig(env, 'gpuaas-api');
  const signing = readConfig(env, 'gpuaas-node-api');
  assert.equal(api.trust_keys, null);
  assert.deepEqual(signing.platform_keys, api.platform_keys);
  assert.notDeepEqual(signing.trust_keys, api.platform_keys);
  rmSync(join(GPUAAS_STATE_DIR, 'trust.key'));
  assert.deepEqual(readConfig(env, 'gpuaas-node-api').trust_keys, api.platform_keys);
});

it('development serves its issuer on loopback, and elsewhere only with an explicit setting', (t) => {
  const GPUAAS_STATE_DIR = mkdtempSync(join(tmpdir(), 'gpuaas-issuer-'));
  t.after(() => rmSync(GPUAAS_STATE_DIR, { recursive: true, force: true }));
  const at = (host: string, more: Readonly<Record<string, string>> = {}, roles = 'all') =>
    readConfig({ DATABASE_URL: 'postgresql://unused', GPUAAS_STATE_DIR, GPUAAS_HOST: host, ...more }, roles);
  for (const host of ['127.0.0.1', '127.8.8.8', '::1', 'localhost']) assert.equal(at(host).host, host);
  for (const host of ['0.0.0.0', '::', '10.0.0.7', 'lab.example', '127.0.0.1.example'])
    assert.throws(
      () => at(host),
      (err: unknown) => err instanceof ConfigError && /GPUAAS_HOST is .* GPUAAS_DEV_ISSUER_PUBLIC=1/.test(err.message),
      host,
    );
  assert.equal(at('0.0.0.0', { GPUAAS_DEV_ISSUER_PUBLIC: '1' }).host, '0.0.0.0');
  assert.equal(at('0.0.0.0', { GPUAAS_OIDC_ISSUER: 'https://id.example' }).host, '0.0.0.0');
  assert.equal(at('0.0.0.0', {}, 'gpuaas-provisioning-worker').host, '0.0.0.0');
});
