import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from './log.ts';
import { createShutdown } from './shutdown.ts';

test('what was started last stops first, and a failing or hanging one does not keep the rest', async () => {
  const order: string[] = [];
  const shutdown = createShutdown(silentLog(), 5);
  shutdown.add('database', () => void order.push('database'));
  shutdown.add('broken', () => {
    order.push('broken');
    throw new Error('cannot');
  });
  shutdown.add('hanging', () => {
    order.push('hanging');
    return new Promise<void>(() => {});
  });
  shutdown.add('http', () => void order.push('http'));
  await Promise.all([shutdown.run('test'), shutdown.run('again')]);
  assert.deepEqual(order, ['http', 'hanging', 'broken', 'database']);
  assert.ok(shutdown.signal.aborted);
});
