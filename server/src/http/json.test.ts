import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { assertReached } from '../../../tools/test/reached.ts';
import { AppError } from '../errors.ts';
import { parseForm, parseJson } from './json.ts';

const codeOf = (text: string | Buffer): string => {
  try {
    parseJson(Buffer.from(text));
    return 'accepted';
  } catch (err) {
    return err instanceof AppError ? (err.details.errors?.[0]?.code ?? '') : 'crashed';
  }
};

describe('a JSON body', () => {
  it('parses as JSON.parse does when it is unambiguous', () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        const answer = codeOf(text);
        if (answer !== 'accepted') {
          assert.ok(['forbidden_key', 'duplicate_key', 'too_many_values'].includes(answer), answer);
          return;
        }
        accepted += 1;
        assert.deepEqual(parseJson(Buffer.from(text)), JSON.parse(text));
      }),
    );
    assertReached({ accepted });
  });

  it('is refused with the reason when it is ambiguous or hostile', () => {
    assert.equal(codeOf('{"a":1,"a":2}'), 'duplicate_key');
    assert.equal(codeOf('{"a":1,"\\u0061":2}'), 'duplicate_key');
    assert.equal(codeOf('[{"a":1},{"a":2}]'), 'accepted');
    assert.equal(codeOf('{"a":{"b":1},"c":"a","b":1}'), 'accepted');
    assert.equal(codeOf('{"__proto__":{}}'), 'forbidden_key');
    assert.equal(codeOf('{"\\u005f_proto__":{}}'), 'forbidden_key');
    assert.equal(codeOf('{"x":"__proto__"}'), 'accepted');
    assert.equal(codeOf('['.repeat(100_000)), 'too_deep');
    assert.equal(codeOf(`[${'1,'.repeat(20_000)}1]`), 'too_many_values');
    assert.equal(codeOf(Buffer.from([0x22, 0xff, 0x22])), 'invalid_utf8');
    assert.equal(codeOf(''), 'empty');
    for (const text of ['{', '{"a":}', 'NaN', '{"a":1}}', '"\\u12"', '{a:1}', "{'a':1}", '\u0000'])
      assert.equal(codeOf(text), 'invalid_json', text);
  });

  it('never crashes, for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => assert.notEqual(codeOf(Buffer.from(bytes)), 'crashed')),
    );
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', 'a', '1') }), (text) =>
        assert.notEqual(codeOf(text), 'crashed'),
      ),
    );
  });
});

describe('a form', () => {
  it('has each field once', () => {
    assert.deepEqual(parseForm(Buffer.from('a=1&b=%20')), { a: '1', b: ' ' });
    assert.throws(() => parseForm(Buffer.from('a=1&a=2')), AppError);
    assert.throws(() => parseForm(Buffer.from('__proto__=1')), AppError);
  });
});
