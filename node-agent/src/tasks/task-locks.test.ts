import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestHost } from '../../test/slice.ts';
import { withLocks } from './task-locks.ts';

const after = async (turns: number): Promise<void> => {
  for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
};

test('tasks on one slot run one after another, others in parallel, and crossed keys do not deadlock', async (t) => {
  const { ctx } = startTestHost(t);
  const order: string[] = [];
  const task = (name: string, keys: readonly string[]) =>
    withLocks(ctx(), keys, async () => {
      order.push(`${name} begins`);
      await after(20);
      order.push(`${name} ends`);
    });
  await Promise.all([task('a', ['1', '2']), task('b', ['2', '1']), task('c', ['3'])]);
  assert.deepEqual(
    order.filter((line) => !line.startsWith('c')),
    ['a begins', 'a ends', 'b begins', 'b ends'],
  );
  assert.ok(order.indexOf('c begins') < order.indexOf('a ends'), 'another slot does not wait');
});

test('an action that does not end keeps its lock after its task timed out', async (t) => {
  const { ctx } = startTestHost(t);
  let release = (): void => undefined;
  const hangs = new Promise<void>((resolve) => {
    release = resolve;
  });
  const giveUp = new AbortController();
  const first = withLocks(ctx({ signal: giveUp.signal }), ['slot'], (act) => act('the wipe', hangs));
  giveUp.abort();
  await assert.rejects(first, { code: 'timeout', message: 'the wipe did not end in time' });
  let isDone = false;
  const second = withLocks(ctx(), ['slot'], async () => {
    isDone = true;
  });
  const third = new AbortController();
  const refused = withLocks(ctx({ signal: third.signal }), ['slot'], async () => assert.fail('it must not begin'));
  third.abort();
  await assert.rejects(refused, { message: 'an earlier task on slot did not end in time' });
  assert.equal(isDone, false);
  release();
  await second;
  assert.equal(isDone, true);
});

test('a failed task releases its lock for the next one', async (t) => {
  const { ctx } = startTestHost(t);
  await assert.rejects(
    withLocks(ctx(), ['slot'], () => Promise.reject(new Error('no'))),
    /no/,
  );
  assert.equal(await withLocks(ctx(), ['slot'], async () => 'in'), 'in');
});
