import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AppError } from '../errors.ts';
import { assertStorable, asUnstorable } from './storable.ts';

describe('validation of agent messages before storage', () => {
  it('a NUL character, an unpaired surrogate or a number past 2^53 is refused anywhere, with its path', () => {
    const cases: readonly (readonly [unknown, string])[] = [
      [{ report: { successes: ['ok', 'a\0'] } }, '/body/report/successes/1'],
      [{ output: { deep: [{ text: '\ud800' }] } }, '/body/output/deep/0/text'],
      [{ output: { 'k\0': 1 } }, '/body/output'],
      [{ first_number: 1e300 }, '/body/first_number'],
      [{ size: JSON.parse('1e400') }, '/body/size'],
    ];
    for (const [body, pointer] of cases)
      assert.throws(
        () => assertStorable(body),
        (err) =>
          err instanceof AppError && err.code === 'invalid_request' && err.details.errors?.[0]?.pointer === pointer,
        pointer,
      );
  });

  it('ordinary text, surrogate pairs, fractions and null pass', () => {
    assertStorable({ a: ['\u{1f600}', 'é', '\\u0000'], b: 0.5, c: null, d: true, e: -(2 ** 53 - 1) });
  });

  it('a value that a column refuses is the agent’s error; a broken statement is ours', () => {
    const of = (code: string) => asUnstorable(Object.assign(new Error('x'), { code }));
    for (const code of ['22003', '22007', '22008', '22009', '22P05'])
      assert.equal((of(code) as AppError).code, 'invalid_request', code);
    for (const code of ['42601', '23505', '40001']) assert.ok(!(of(code) instanceof AppError), code);
  });
});
