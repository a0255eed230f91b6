import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TokenProvider } from '@gpuaas/sdk';
import { startApi } from '../golden/api.ts';
import { configPath, type Profile, readConfig, updateConfig, withProfile } from './config.ts';
import { createTokenProvider } from './credential.ts';
import { readSettings } from './settings.ts';

test('concurrent commands use a refresh token only once', async (t) => {
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

test('a token rejected by the server is renewed before it expires', async (t) => {
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

test('a running command never uses the credential of a later sign-in to another server', async (t) => {
  const api = await startApi();
  const folder = await mkdtemp(join(tmpdir(), 'gpuaas-credential-'));
  t.after(async () => {
    api.close();
    await rm(folder, { recursive: true, force: true });
  });
  const env = { XDG_CONFIG_HOME: folder };
  const signIn = { issuer: `${api.url}/oidc`, client_id: 'gpuaas-cli', refresh_token: 'refresh-0' };
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
  const store = (profile: Profile) =>
    updateConfig(configPath(env), (config) => withProfile(config, 'default', { ...signIn, ...profile }));
  const isRefused = (take: TokenProvider) =>
    assert.rejects(async () => take({ rejected: 'of-a' }), {
      code: 'unauthenticated',
      message: 'The sign-in to https://a.example has expired.',
    });

  await store({ url: 'https://a.example/', access_token: 'of-a', expires_at: inAnHour });
  const provider = createTokenProvider(await readSettings({}, env), env);
  assert.equal(await provider({}), 'of-a');
  await store({ url: 'https://b.example', access_token: 'of-b', expires_at: inAnHour });
  await isRefused(provider);
  await store({ url: 'https://b.example', access_token: 'of-b', expires_at: new Date(0).toISOString() });
  await isRefused(provider);
  await store({ access_token: 'of-localhost', expires_at: inAnHour });
  await isRefused(provider);
  assert.equal(api.requests.length, 0, 'no refresh token was spent');
  await store({ url: 'https://a.example', access_token: 'of-a-again', expires_at: inAnHour });
  assert.equal(await provider({ rejected: 'of-a' }), 'of-a-again');
});
