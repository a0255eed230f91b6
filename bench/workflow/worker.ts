/**
 * One worker process of the workflow benchmark. It executes the runs that appear, and on `bare MS` on its standard
 * input it writes bare rows instead for that long: an INSERT and an UPDATE, each with its own commit.
 *
 * node worker.ts OWNER_URL
 */
import { createInterface } from 'node:readline';
import { mintId, silentLog } from '@gpuaas/kit';
import { Pool } from 'pg';
import { createDatabase } from '../../server/src/db/client.ts';
import { APP_ROLE } from '../../server/src/db/migrate.ts';
import { createEventHub } from '../../server/src/ports/events/hub.ts';
import { startListening } from '../../server/src/ports/events/listen.ts';
import { type Commit, done, next } from '../../server/src/workflows/engine/outcome.ts';
import { createRegistry } from '../../server/src/workflows/engine/registry.ts';
import { createWorker } from '../../server/src/workflows/engine/worker.ts';
import { bind, workflow } from '../../server/src/workflows/engine/workflow.ts';
import { declared } from '../../server/test/declared.ts';

const CONNECTIONS = 6;

const note =
  (id: string, step: string): Commit =>
  async (tx) => {
    tx.defer(tx.query('insert into bench_effects (subject_id, step) values ($1, $2)', [id, step]));
  };

export const benchWorkflow = workflow<null, string, 'one' | 'two' | 'three'>({
  declared: declared('bench', ['one', 'two', 'three']),
  deadlineMs: 600_000,
  load: async (_, id) => id,
  steps: {
    one: async (_, id) => next('two', note(id, 'one')),
    two: async (_, id) => next('three', note(id, 'two')),
    three: async (_, id) => done(note(id, 'three')),
  },
});

const writeBare = async (pool: Pool, ms: number): Promise<number> => {
  const end = performance.now() + ms;
  let pairs = 0;
  const insert = { name: 'insert', text: 'insert into bench_bare (id, state) values ($1, 0)' };
  const update = { name: 'update', text: 'update bench_bare set state = 1 where id = $1' };
  const writer = async () => {
    for (; performance.now() < end; pairs++) {
      const id = mintId('row');
      await pool.query({ ...insert, values: [id] });
      await pool.query({ ...update, values: [id] });
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, writer));
  return pairs;
};

if (import.meta.main) {
  const url = process.argv[2] ?? '';
  const log = silentLog();
  const database = createDatabase({ url, log, role: APP_ROLE, poolMax: CONNECTIONS + 2 });
  const pool = new Pool({ connectionString: url, max: CONNECTIONS });
  const hub = createEventHub();
  const listener = startListening({ database, hub, log, signal: new AbortController().signal });
  await listener.ready;
  const registry = createRegistry([bind(benchWorkflow, null)]);
  const worker = createWorker({ database, registry, log, hub, concurrency: CONNECTIONS });
  worker.start();
  process.stdout.write('ready\n');
  for await (const line of createInterface({ input: process.stdin })) {
    const [, ms] = line.split(' ');
    process.stdout.write(`${await writeBare(pool, Number(ms))}\n`);
  }
  await worker.stop();
  await listener.stop();
  await Promise.all([database.end(), pool.end()]);
}
