import assert from 'node:assert/strict';
import test from 'node:test';
import { testDatabase } from '../../test/database.ts';
import { PLATFORM } from './client.ts';

test('a transaction sends one wake-up, after its commit', async (t) => {
  const seen: boolean[] = [];
  let isOver = false;
  const { database } = await testDatabase(t, { wake: () => seen.push(isOver) });
  await database.write(PLATFORM, async (tx) => {
    tx.wake();
    tx.wake();
    await tx.query('select 1 as one');
    isOver = true;
  });
  assert.deepEqual(seen, [true]);
});

test('a transaction that rolled back or requested no wake-up sends none', async (t) => {
  let count = 0;
  const { database } = await testDatabase(t, { wake: () => count++ });
  await assert.rejects(
    database.write(PLATFORM, async (tx) => {
      tx.wake();
      await tx.query('select 1 as one');
      throw new Error('refused');
    }),
    /refused/,
  );
  // Its failure is known only with the response to the commit.
  await assert.rejects(
    database.write(PLATFORM, async (tx) => {
      tx.wake();
      tx.defer(tx.query('select 1 / 0'));
    }),
  );
  await database.write(PLATFORM, (tx) => tx.query('select 1 as one'));
  assert.equal(count, 0);
});
