import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ConfigError } from '@gpuaas/kit';
import { readConfig } from './config.ts';

const PRODUCTION = {
  GPUAAS_MODE: 'production',
  DATABASE_URL: 'postgresql://db.example/gpuaas',
  GPUAAS_OIDC_ISSUER: 'https://id.example',
  GPUAAS_PUBLIC_URL: 'https://api.example/',
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
