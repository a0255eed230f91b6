import assert from 'node:assert/strict';
import { test } from 'node:test';
import { money } from './money.ts';
import { command, shellQuote } from './shell.ts';
import { bytes } from './size.ts';
import { stateWord } from './state.ts';
import { ago, duration, exact, span, until } from './time.ts';

test('money has the number of decimals of its currency', () => {
  assert.equal(money({ amount_minor: 3192, currency: 'USD' }), '$31.92');
  assert.equal(money({ amount_minor: 500, currency: 'JPY' }), '¥500');
});

test('durations show at most two units', () => {
  assert.deepEqual([0, 59_999, 61_000, 3_600_000, 3_720_000, 90_000_000, -5].map(span), [
    '0 s',
    '59 s',
    '1 min 1 s',
    '1 h',
    '1 h 2 min',
    '1 d 1 h',
    '0 s',
  ]);
  assert.equal(duration(12), '12 ms');
  assert.equal(duration(1_250), '1.3 s');
});

test('times are shown as relative and as exact', () => {
  const now = Date.parse('2026-11-15T12:00:00Z');
  assert.equal(ago('2026-11-15T11:59:58Z', now), 'just now');
  assert.equal(ago('2026-11-15T11:00:00Z', now), '1 h ago');
  assert.equal(until('2026-11-15T12:30:00Z', now), 'in 30 min');
  assert.equal(until('2026-11-15T11:30:00Z', now), 'now');
  assert.equal(exact('2026-11-15T12:00:00.500Z'), '2026-11-15 12:00:00 UTC');
});

test('a form value is quoted as one argument of the command, whatever it contains', () => {
  assert.equal(shellQuote('train-1'), 'train-1');
  assert.equal(shellQuote(`it's $(rm -rf)`), `'it'\\''s $(rm -rf)'`);
  assert.equal(
    command(
      ['allocation', 'create'],
      [
        ['name', 'a b'],
        ['gpus', 4],
        ['protected', true],
        ['tag', null],
      ],
    ),
    "gpuaas allocation create --name 'a b' --gpus 4 --protected",
  );
});

test('an unknown state is shown by its raw name', () => {
  assert.deepEqual(stateWord('slot', 'half_melted'), { word: 'half melted', tone: 'warn' });
  assert.equal(stateWord('allocation', 'releasing').word, 'Wiping');
});

test('sizes show at most three digits', () => {
  assert.deepEqual([0, 999, 1536, 10 * 1024 ** 3, 1023 * 1024].map(bytes), [
    '0 B',
    '999 B',
    '1.5 KiB',
    '10 GiB',
    '1 MiB',
  ]);
});
