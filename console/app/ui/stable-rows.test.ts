import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heldRows } from './stable-rows.ts';

type Row = Readonly<{ id: string; value: number }>;
const row = (id: string, value = 0): Row => ({ id, value });
const show = (shown: readonly Row[] | null, rows: readonly Row[]) => {
  const held = heldRows(shown, rows, ({ id }) => id);
  return [held.rows.map(({ row: { id, value }, isGone }) => `${id}${value}${isGone ? ' gone' : ''}`), held.waiting];
};

test('without user focus in the table it shows the current rows', () => {
  assert.deepEqual(show(null, [row('b'), row('a', 1)]), [['b0', 'a1'], 0]);
});

test('a row keeps its position and shows its current values', () => {
  assert.deepEqual(show([row('a'), row('b')], [row('b', 2), row('a', 1)]), [['a1', 'b2'], 0]);
});

test('new rows at the top wait and are counted, and new rows at the end appear at once', () => {
  assert.deepEqual(show([row('b'), row('a')], [row('d'), row('c'), row('b'), row('a')]), [['b0', 'a0'], 2]);
  assert.deepEqual(show([row('b')], [row('b'), row('a')]), [['b0', 'a0'], 0]);
});

test('a removed row keeps its position and is marked as removed', () => {
  assert.deepEqual(show([row('a'), row('b'), row('c')], [row('a'), row('c')]), [['a0', 'b0 gone', 'c0'], 0]);
});
