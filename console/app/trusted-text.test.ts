import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainOnly } from './trusted-text.ts';

test('text that could be markup is refused, and that of a style sheet is not', () => {
  assert.equal(plainOnly(':root{--a:#fff;}'), ':root{--a:#fff;}');
  for (const text of ['<img src=x>', 'a<b', '</style><script>']) assert.equal(plainOnly(text), null);
});
