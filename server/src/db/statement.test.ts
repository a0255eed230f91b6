import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reader } from './client.ts';
import { statement } from './statement.ts';

type Sent = { text: string; values: readonly unknown[] };

const record = (): { reader: Reader; sent: Sent[] } => {
  const sent: Sent[] = [];
  const query: Reader['query'] = async (text, values = []) => {
    sent.push({ text, values });
    return { rows: [], rowCount: 0 };
  };
  return { reader: { query }, sent };
};

const MOVE = statement(
  { id: 'text', tags: 'jsonb', ids: 'text[]', reason: 'text | null' },
  `update things set tags = :tags, reason = :reason, at = now()::timestamptz where id = :id or id = any (:ids) or parent = :id`,
);

test('a name becomes one numbered parameter with its declared type, wherever it is used', () => {
  assert.equal(
    MOVE.text,
    'update things set tags = $2::jsonb, reason = $4::text, at = now()::timestamptz where id = $1::text or id = any ($3::text[]) or parent = $1::text',
  );
});

test('values are sent in the order of declaration, JSON as text', async () => {
  const { reader, sent } = record();
  const values = { reason: null, ids: ['b', 'c'], tags: [1, 2], id: 'a', more: 'is not sent' };
  await MOVE.query(reader, values);
  assert.deepEqual(sent, [{ text: MOVE.text, values: ['a', '[1,2]', ['b', 'c'], null] }]);
});

test('null stays null for a JSON parameter', async () => {
  const { reader, sent } = record();
  await statement({ detail: 'jsonb | null' }, 'select :detail').query(reader, { detail: null });
  assert.deepEqual(sent[0]?.values, [null]);
});

test('unknown, unused and numbered parameters are refused when the statement is defined', () => {
  assert.throws(() => statement({ id: 'text' }, 'select :id, :name'), /Undeclared parameter :name in .*select :id/);
  assert.throws(() => statement({ id: 'text', name: 'text', at: 'text' }, 'select :id'), /Unused parameter :name, :at/);
  assert.throws(() => statement({ id: 'text' }, 'select :id, $1'), /A numbered parameter/);
});

test('the compiler refuses a missing, an unknown and a mistyped value', () => {
  const { reader } = record();
  const calls = [
    // @ts-expect-error: ids is missing.
    () => MOVE.query(reader, { id: 'a', tags: {}, reason: null }),
    // @ts-expect-error: there is no parameter named kind.
    () => MOVE.query(reader, { id: 'a', tags: {}, ids: [], reason: null, kind: 'x' }),
    // @ts-expect-error: an id is not a number.
    () => MOVE.query(reader, { id: 1, tags: {}, ids: [], reason: null }),
    // @ts-expect-error: only reason may be null.
    () => MOVE.query(reader, { id: null, tags: {}, ids: [], reason: null }),
  ];
  assert.equal(calls.length, 4);
});
