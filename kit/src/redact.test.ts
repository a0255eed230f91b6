import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { redactFields, redactText } from './redact.ts';

describe('redaction', () => {
  it('removes values under secret-looking keys, at any depth, and leaves IDs and counts', () => {
    const fields = {
      token: 'x',
      api_key: 'x',
      userPassword: 'x',
      private_key_pem: 'x',
      user_data: 'x',
      cookie: null,
      token_id: 'tok_1',
      secret_count: 3,
      is_user_data_refused: true,
      deep: [{ client_secret: 'x', ok: 1 }],
    };
    assert.deepEqual(redactFields(fields), {
      token: '[redacted]',
      api_key: '[redacted]',
      userPassword: '[redacted]',
      private_key_pem: '[redacted]',
      user_data: '[redacted]',
      cookie: null,
      token_id: 'tok_1',
      secret_count: 3,
      is_user_data_refused: true,
      deep: [{ client_secret: '[redacted]', ok: 1 }],
    });
  });

  it('removes values below the maximum depth', () => {
    let nested: Record<string, unknown> = { note: 'hidden' };
    for (let depth = 0; depth < 20; depth += 1) nested = { nested };
    assert.ok(!JSON.stringify(redactFields(nested)).includes('hidden'));
  });

  it('removes tokens, headers, keys and certificates from text', () => {
    for (const secret of [
      `gpuaas_pat_${'a'.repeat(43)}`,
      `gpe_${'b'.repeat(43)}`,
      'Bearer abcdefgh.ijkl',
      'Basic dXNlcjpwYXNz',
      'eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.sig',
      '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----',
      '-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----',
    ])
      assert.equal(redactText(`said ${secret} aloud`), 'said [redacted] aloud');
    assert.equal(redactText('cut off: -----BEGIN EC PRIVATE KEY-----\nMIIB'), 'cut off: [redacted]');
  });

  it('removes credentials from settings and URLs, and keeps their names', () => {
    for (const [text, redacted] of [
      ['in use by token=abc123', 'in use by token=[redacted]'],
      ['{"password": "hunter2"}', '{"password": "[redacted]"}'],
      ['postgres://gpuaas:hunter2@db/x', 'postgres://gpuaas:[redacted]@db/x'],
      ['redis://:hunter2@cache', 'redis://:[redacted]@cache'],
    ] as const)
      assert.equal(redactText(text), redacted);
  });

  it('leaves text without secrets unchanged', () => {
    for (const text of [
      'nothing to hide in tsk_01k9zv3m8q4t6w2x5y7r0s1n3p',
      'gpu_memory_page_retirement_pending on 0000:17:00.0',
      'https://example.com/a?b=c',
    ])
      assert.equal(redactText(text), text);
  });

  it('removes a JWT wherever it starts, and nothing that only begins like one', () => {
    const jwt = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2ln';
    assert.equal(redactText(`a ${jwt}, b`), 'a [redacted], b');
    assert.equal(redactText(`x-${jwt}`), 'x-[redacted]');
    assert.equal(redactText(`host.example.${jwt}.tail`), 'host.example.[redacted].tail');
    assert.equal(redactText(`${jwt.slice(0, -4)}`), '[redacted]');
    for (const word of ['eyJhbGciOiJFZERTQSJ9', 'eyJhbGciOiJFZERTQSJ9.payload', 'eyJ.a.b', 'monkeyJumpsOverIt.a.b'])
      assert.equal(redactText(word), word);
  });

  // A pattern that needs quadratic time takes many minutes for one of these.
  it('takes linear time for hostile lines of a megabyte', { timeout: 60_000 }, () => {
    for (const unit of [
      'eyJaaaaaaaa-',
      'eyJaaaaaaaa.',
      'a.',
      '-----BEGIN A ',
      '-----BEGIN PRIVATE KEY-----',
      '-----END A ',
      'gp_aaa-',
      'gpuaas_a-',
      'Bearer ',
      'password   ',
      'token=a ',
      '://a:b',
      ':',
      ' ',
      '-',
    ]) {
      const line = unit.repeat(1_000_000 / unit.length);
      assert.ok(redactText(line).length <= line.length * 3);
      assert.ok(redactText(`-----BEGIN PRIVATE KEY-----${line}`).length <= line.length * 3);
    }
  });
});
