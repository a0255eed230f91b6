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

test('~. disconnects only at the start of a line, however the bytes are split', () => {
  assert.deepEqual(typed('~.'), { sent: '', leaves: true });
  assert.deepEqual(typed('ls\r~', '.more'), { sent: 'ls\r', leaves: true });
  assert.deepEqual(typed('cd ~.\r'), { sent: 'cd ~.\r', leaves: false });
});

test('~~ sends one tilde, and any other key is sent together with its tilde', () => {
  assert.deepEqual(typed('~~.'), { sent: '~.', leaves: false });
  assert.deepEqual(typed('~/x\r'), { sent: '~/x\r', leaves: false });
});

test('input without a tilde at the start of a line passes unchanged in any chunks', () => {
  const text = fc.string({ unit: 'binary' }).filter((value) => !/(^|[\r\n])~/.test(value));
  fc.assert(
    fc.property(fc.array(text.filter((value) => !value.startsWith('~'))), (parts) => {
      assert.deepEqual(typed(...parts), { sent: Buffer.from(parts.join('')).toString(), leaves: false });
    }),
  );
});
