import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainOnly } from './trusted-text.ts';

test('text that could be markup is refused, except the text of a style sheet', () => {
  assert.equal(plainOnly(':root{--a:#fff;}'), ':root{--a:#fff;}');
  for (const text of ['<img src=x>', 'a<b', '</style><script>']) assert.equal(plainOnly(text), null);
});
