/**
 * A worker as a separate process, for tests that kill or stop it: it takes the runs of `process-example`, prints
 * `reached` at the given point of step two, and continues only on a line on its standard input.
 *
 * node workflow-worker.ts DATABASE_URL POINT LEASE_MS
 */
import { once } from 'node:events';
import { silentLog } from '@gpuaas/kit';
import { createDatabase } from '../src/db/client.ts';
import { done, next } from '../src/workflows/engine/outcome.ts';
import { createRegistry } from '../src/workflows/engine/registry.ts';
import { createWorker } from '../src/workflows/engine/worker.ts';
import { bind, workflow } from '../src/workflows/engine/workflow.ts';
import { declared } from './declared.ts';
import { noteEffect } from './example-workflow.ts';

export const processExample = workflow<null, string, 'one' | 'two' | 'three'>({
  declared: declared('process-example', ['one', 'two', 'three']),
  deadlineMs: 600_000,
  retry: { base_ms: 50, cap_ms: 100 },
  load: async (_, id) => id,
  steps: {
    one: async (_, id) => next('two', noteEffect(id, 'one')),
    two: async (_, id) => next('three', noteEffect(id, 'two')),
    three: async (_, id) => done(noteEffect(id, 'three')),
  },
});

if (import.meta.main) {
  const [url = '', stopAt, leaseMs] = process.argv.slice(2);
  const database = createDatabase({ url, log: silentLog(), poolMax: 3 });
  const worker = createWorker({
    database,
    registry: createRegistry([bind(processExample, null)]),
    log: silentLog(),
    lease_ms: Number(leaseMs),
    at: async (point, run) => {
      if (point !== stopAt || run.step !== 'two') return;
      process.stdout.write('reached\n');
      await once(process.stdin, 'data');
    },
  });
  await worker.tick();
  process.stdout.write('rests\n');
  process.stdin.destroy();
  await database.end();
}
