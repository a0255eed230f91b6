import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createEscape } from './escape.ts';

const typed = (...parts: string[]) => {
  const keys = createEscape();
  let sent = '';
  for (const part of parts) {
    const { send, leaves } = keys.feed(Buffer.from(part));
    sent += Buffer.from(send).toString();
    if (leaves) return { sent, leaves };
  }
  return { sent, leaves: false };
};

test('~. leaves at the start of a line only, however the keys arrive', () => {
  assert.deepEqual(typed('~.'), { sent: '', leaves: true });
  assert.deepEqual(typed('ls\r~', '.more'), { sent: 'ls\r', leaves: true });
  assert.deepEqual(typed('cd ~.\r'), { sent: 'cd ~.\r', leaves: false });
});

test('~~ sends one tilde, and another key is sent with its tilde', () => {
  assert.deepEqual(typed('~~.'), { sent: '~.', leaves: false });
  assert.deepEqual(typed('~/x\r'), { sent: '~/x\r', leaves: false });
});

test('what has no tilde at the start of a line passes untouched in any pieces', () => {
  const text = fc.string({ unit: 'binary' }).filter((value) => !/(^|[\r\n])~/.test(value));
  fc.assert(
    fc.property(fc.array(text.filter((value) => !value.startsWith('~'))), (parts) => {
      assert.deepEqual(typed(...parts), { sent: Buffer.from(parts.join('')).toString(), leaves: false });
    }),
  );
});
