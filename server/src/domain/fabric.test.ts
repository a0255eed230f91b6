import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FABRIC_ISOLATIONS, FABRIC_PROVIDERS } from '@gpuaas/contract';
import { fabricOf } from './fabric.ts';

test('a slice reaches the fabric only where the provider of its region isolates tenants', () => {
  for (const fabric_isolation of FABRIC_ISOLATIONS) {
    const { isolates, slice, bare_metal } = FABRIC_PROVIDERS[fabric_isolation];
    assert.deepEqual(fabricOf({ capacity_shape: 'gpu_slice', fabric_isolation }), {
      available: isolates,
      detail: slice,
    });
    assert.deepEqual(fabricOf({ capacity_shape: 'baremetal', fabric_isolation }), {
      available: true,
      detail: bare_metal,
    });
  }
  assert.equal(FABRIC_PROVIDERS.none.isolates, false);
});
