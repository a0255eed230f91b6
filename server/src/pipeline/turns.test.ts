import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createTurns } from './turns.ts';

/** Calls that end on request, and the order in which they began. */
const calls = () => {
  const began: string[] = [];
  const ends: (() => void)[] = [];
  return {
    began,
    call: (name: string) => () => {
      began.push(name);
      return new Promise<void>((resolve) => void ends.push(resolve));
    },
    endFirst: async () => {
      ends.shift()?.();
      for (let n = 0; n < 5; n++) await Promise.resolve();
    },
  };
};

it('one key has one turn at a time, and a key that just had one goes behind the others', async () => {
  const { began, call, endFirst } = calls();
  const turn = createTurns(2);
  const all = [turn('a', call('a1')), turn('a', call('a2')), turn('a', call('a3'))];
  all.push(turn('b', call('b1')), turn('c', call('c1')));
  await Promise.resolve();
  assert.deepEqual(began, ['a1', 'b1']);
  await endFirst();
  assert.deepEqual(began, ['a1', 'b1', 'c1'], 'c waited before a came again');
  while (began.length < 5) await endFirst();
  await endFirst();
  await endFirst();
  await Promise.all(all);
  assert.deepEqual(began, ['a1', 'b1', 'c1', 'a2', 'a3']);
});

it('a failed turn ends like any other', async () => {
  const turn = createTurns(1);
  await assert.rejects(turn('a', () => Promise.reject(new Error('failed'))));
  assert.equal(await turn('a', () => Promise.resolve(1)), 1);
  assert.equal(await turn('b', () => Promise.resolve(2)), 2);
});
