import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clean, safeJson, widthOf } from './clean.ts';
import { formatDuration, parseDuration } from './command.ts';
import { type Column, layRecord, layTable, shortDuration } from './table.ts';

type Row = { id: string; name: string; note: string };
const columns: readonly Column<Row>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
  { header: 'NOTE', value: ({ note }) => note, optional: true },
];
const id = 'prj_01k9zv3m8q4t6w2x5y7r0s1n1a';

test('a table drops optional columns first, then truncates text, and never truncates an ID', () => {
  const row = { id, name: 'n'.repeat(60), note: 'extra' };
  assert.deepEqual(layTable([row], columns, 120)[0]?.split(/ +/), ['ID', 'NAME', 'NOTE']);
  const [header = '', line = ''] = layTable([row], columns, 50);
  assert.equal(header, `ID${' '.repeat(30)}NAME`);
  assert.equal(line, `${id}  ${'n'.repeat(17)}…`);
});

test('values whose end matters most are truncated at the start', () => {
  const actions: readonly Column<Row>[] = [
    { header: 'ID', value: () => id },
    { header: 'ACTION', value: ({ name }) => name, shrink: 'cut-start' },
  ];
  const lines = ['allocation.session.open', '東京.close', 'x'].map((name) => ({ id, name, note: '' }));
  assert.deepEqual(
    layTable(lines, actions, 47)
      .slice(1)
      .map((line) => line.slice(id.length + 2)),
    ['…n.session.open', '東京.close', 'x'],
  );
});

test('sentences wrap over several lines instead of being truncated', () => {
  const reasons: readonly Column<Row>[] = [
    { header: 'NAME', value: ({ name }) => name },
    { header: 'OPEN', value: ({ note }) => note, shrink: 'wrap' },
  ];
  const row = { id, name: 'eu-1', note: 'no: hosts are on order' };
  assert.deepEqual(layTable([row], reasons, 20), ['NAME  OPEN', 'eu-1  no: hosts are', '      on order']);
});

test('wide characters count as two cells', () => {
  const rows = ['東京', 'ab'].map((name) => ({ id: 'x', name, note: 'y' }));
  const lines = layTable(rows, columns, 80);
  assert.equal(widthOf('東京'), 4);
  assert.deepEqual(new Set(lines.map((line) => widthOf(line.replace(/(NOTE|y)$/, '')))), new Set([10]));
});

test('a record wraps long values between words', () => {
  assert.deepEqual(layRecord([['detail', 'one two three four five six']], 30), [
    'detail  one two three four',
    '        five six',
  ]);
});

test('text from the server cannot send control sequences to the terminal', () => {
  assert.equal(clean('a\u001b[2J\u001b]0;title\u0007b\u009b31mc\u202ed\u200be\r\nf'), 'abcde f');
  assert.equal(safeJson({ name: '\u001b[31m\u009b\u202e' }), '{"name":"\\u001b[31m\\u009b\\u202e"}');
  assert.deepEqual(JSON.parse(safeJson({ name: '\u{e0041}\u202e' })), { name: '\u{e0041}\u202e' });
});

test('a duration shows its two largest units', () => {
  const said = [0, 59_999, 60_000, 3_723_000, 90_061_000].map(shortDuration);
  assert.deepEqual(said, ['0s', '59s', '1m', '1h 2m', '1d 1h']);
});

test('a formatted duration parses back to the same value', () => {
  for (const raw of ['90s', '30m', '90m', '4h', '36h', '7d'])
    assert.equal(parseDuration(formatDuration(parseDuration(raw))), parseDuration(raw));
  assert.equal(formatDuration(parseDuration('120m')), '2h');
  for (const raw of ['4', '4 h', '4hours', '1.5h', '-4h', '0h', '4H', '1h30m'])
    assert.throws(() => parseDuration(raw), raw);
});
