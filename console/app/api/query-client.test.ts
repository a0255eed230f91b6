import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GpuaasError } from '@gpuaas/sdk';
import { repeatEvery } from './query-client.ts';

test('a page refetches automatically until the user is signed out, whatever other errors occur', () => {
  const after = (error: unknown) => repeatEvery(1_000)({ state: { error } });
  assert.equal(after(null), 1_000);
  assert.equal(after(new Error('gone')), 1_000);
  assert.equal(after(new GpuaasError('unavailable', 'Not now.')), 1_000);
  assert.equal(after(new GpuaasError('unauthenticated', 'Sign in.')), false);
  assert.equal(repeatEvery(false)({ state: { error: null } }), false);
});
