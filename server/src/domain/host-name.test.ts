import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mintId } from '@gpuaas/kit';
import fc from 'fast-check';
import { hostnameOf, usernameOf } from './host-name.ts';

describe('names sent to a host', () => {
  it('are valid host names for any allocation name', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (name) => {
        assert.match(hostnameOf(name), /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
      }),
    );
    assert.equal(hostnameOf('Train Run_7'), 'train-run-7');
    assert.equal(hostnameOf('---'), 'gpu');
  });

  it('are separate account names for each allocation', () => {
    const ids = Array.from({ length: 200 }, () => mintId('alc'));
    assert.equal(new Set(ids.map(usernameOf)).size, ids.length);
    for (const id of ids) assert.match(usernameOf(id), /^[a-z][a-z0-9-]{0,30}$/);
  });
});
