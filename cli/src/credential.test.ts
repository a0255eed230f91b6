import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startApi } from '../golden/api.ts';
import { configPath, readConfig, updateConfig, withProfile } from './config.ts';
import { createTokenProvider } from './credential.ts';
import { readSettings } from './settings.ts';

test('commands that run at the same time spend a refresh token once', async (t) => {
  const api = await startApi();
  const folder = await mkdtemp(join(tmpdir(), 'gpuaas-credential-'));
  t.after(async () => {
    api.close();
    await rm(folder, { recursive: true, force: true });
  });
  const env = { XDG_CONFIG_HOME: folder };
  const signIn = {
    issuer: `${api.url}/oidc`,
    client_id: 'gpuaas-cli',
    access_token: 'access-0',
    refresh_token: 'refresh-0',
  };
  const expired = { url: api.url, ...signIn, expires_at: new Date(0).toISOString() };
  await updateConfig(configPath(env), (config) => withProfile(config, 'default', expired));

  const tokens = await Promise.all(
    Array.from({ length: 6 }, async () => createTokenProvider(await readSettings({}, env), env)({})),
  );
  assert.deepEqual(new Set(tokens), new Set(['access-1']));
  assert.equal(api.requests.filter((line) => line.includes('grant_type=refresh_token')).length, 1);
  assert.equal((await readConfig(configPath(env))).profiles['default']?.refresh_token, 'refresh-1');
});

test('a token that the server refused is renewed although its time has not come', async (t) => {
  const api = await startApi();
  const folder = await mkdtemp(join(tmpdir(), 'gpuaas-credential-'));
  t.after(async () => {
    api.close();
    await rm(folder, { recursive: true, force: true });
  });
  const env = { XDG_CONFIG_HOME: folder };
  const signIn = {
    issuer: `${api.url}/oidc`,
    client_id: 'gpuaas-cli',
    access_token: 'access-0',
    refresh_token: 'refresh-0',
  };
  const valid = { url: api.url, ...signIn, expires_at: new Date(Date.now() + 3_600_000).toISOString() };
  await updateConfig(configPath(env), (config) => withProfile(config, 'default', valid));
  const provider = createTokenProvider(await readSettings({}, env), env);
  assert.equal(await provider({}), 'access-0');
  assert.equal(await provider({ rejected: 'access-0' }), 'access-1');
});
