import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ConfigError } from '@gpuaas/kit';
import { readConfig } from './config.ts';

const PRODUCTION = {
  GPUAAS_MODE: 'production',
  DATABASE_URL: 'postgresql://db.example/gpuaas',
  GPUAAS_OIDC_ISSUER: 'https://id.example',
  GPUAAS_PUBLIC_URL: 'https://api.example/',
  GPUAAS_GATEWAY_PUBLIC_URL: 'wss://gateway.example/',
  GPUAAS_PLATFORM_KEY: Buffer.alloc(32, 7).toString('base64'),
};

it('production starts with an issuer, a public address, both https, and a key', () => {
  const config = readConfig(PRODUCTION);
  assert.deepEqual([config.public_url, config.oidc.issuer], ['https://api.example', 'https://id.example']);
});

it('production does not start without any one of them, and says which', () => {
  const wrong: Readonly<Record<string, string>> = {
    DATABASE_URL: '',
    GPUAAS_OIDC_ISSUER: 'http://id.example',
    GPUAAS_PUBLIC_URL: 'http://api.example',
    GPUAAS_GATEWAY_PUBLIC_URL: 'ws://gateway.example',
    GPUAAS_PLATFORM_KEY: 'c2hvcnQ=',
  };
  for (const [name, value] of Object.entries(wrong))
    for (const bad of [value, ''])
      assert.throws(
        () => readConfig({ ...PRODUCTION, [name]: bad }),
        (err: unknown) => err instanceof ConfigError && err.message.includes(name),
        `${name}=${bad}`,
      );
});

it('a gateway is named to clients and to hosts as it is configured, and lets in pages of the API’s own origin', () => {
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
  assert.doesNotThrow(() => readConfig(elsewhere, 'gpuaas-provisioning-worker'));
});
