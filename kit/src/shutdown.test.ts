import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from './log.ts';
import { createShutdown } from './shutdown.ts';

test('components stop in reverse order of start; one that fails or hangs does not block the others', async () => {
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
