import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { redactFields, redactText } from './redact.ts';

describe('redaction', () => {
  it('takes out what is named like a secret, at any depth, and leaves ids and counts', () => {
    const fields = {
      token: 'x',
      api_key: 'x',
      userPassword: 'x',
      token_id: 'tok_1',
      secret_count: 3,
      deep: [{ client_secret: 'x', ok: 1 }],
    };
    assert.deepEqual(redactFields(fields), {
      token: '[redacted]',
      api_key: '[redacted]',
      userPassword: '[redacted]',
      token_id: 'tok_1',
      secret_count: 3,
      deep: [{ client_secret: '[redacted]', ok: 1 }],
    });
  });

  it('takes out what looks like one: tokens, bearer headers, private keys, passwords in addresses', () => {
    for (const secret of [
      `gpuaas_pat_${'a'.repeat(43)}`,
      `gpe_${'b'.repeat(43)}`,
      'Bearer abcdefgh.ijkl',
      'eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.sig',
      '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----',
    ])
      assert.equal(redactText(`said ${secret} aloud`), 'said [redacted] aloud');
    assert.equal(redactText('postgres://gpuaas:hunter2@db/x'), 'postgres://gpuaas:[redacted]@db/x');
    assert.equal(
      redactText('nothing to hide in tsk_01k9zv3m8q4t6w2x5y7r0s1n3p'),
      'nothing to hide in tsk_01k9zv3m8q4t6w2x5y7r0s1n3p',
    );
  });
});
