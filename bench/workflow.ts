/**
 * The cost of a durable step: runs of three steps per second, shared by four worker processes, divided by bare rows
 * that the same processes insert and update per second. There is a figure only if every step's effect happened exactly
 * once. Rounds alternate; the median pair counts.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { mintId, pause, silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { createDatabase, type Database, PLATFORM } from '../server/src/db/client.ts';
import { APP_ROLE, migrate } from '../server/src/db/migrate.ts';
import { CHANNEL } from '../server/src/ports/events/waker.ts';
import { removeEmbeddedPostgres, startEmbeddedPostgres } from '../server/src/ports/postgres/embedded.ts';
import { startRun } from '../server/src/workflows/engine/run.ts';
import type { Bench, Measurement } from './types.ts';
import { benchWorkflow } from './workflow/worker.ts';

const PAIRS = 5;
const RUNS = 1_000;
const STEPS = 3;
const PROCESSES = 4;
const BARE_MS = 2_000;
const LIMIT_MS = 120_000;

const WORKER = fileURLToPath(new URL('workflow/worker.ts', import.meta.url));

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

const prepare = async (url: string): Promise<void> => {
  await migrate({ url, log: silentLog() });
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('create table bench_effects (subject_id text not null, step text not null)');
  await client.query('create table bench_bare (id text primary key, state integer not null)');
  await client.query('grant select, insert, delete on bench_effects to gpuaas_app');
  await client.end();
};

type WorkerProcess = Readonly<{ child: ChildProcess; say(line: string): void; hear(): Promise<string> }>;

const startWorker = (url: string): WorkerProcess => {
  const child = spawn(process.execPath, [WORKER, url], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    say: (line) => child.stdin.write(`${line}\n`),
    hear: async () => {
      const { value, done } = await lines.next();
      if (done) throw new Error('a worker process ended early');
      return value;
    },
  };
};

/** All runs are created in one commit; the time counts from there until all have ended. */
const measureRuns = async (database: Database): Promise<number> => {
  await database.write(PLATFORM, async (tx) => {
    await tx.query('delete from bench_effects');
    const run = { workflow: benchWorkflow, organization_id: null, project_id: null, correlation_id: 'bench' };
    await Promise.all(Array.from({ length: RUNS }, () => startRun(tx, { ...run, subject_id: mintId('sub') })));
  });
  const began = performance.now();
  await database.write(PLATFORM, (tx) => tx.query(`notify ${CHANNEL}`));
  const live = "select from workflow_runs where state in ('pending', 'running', 'waiting') limit 1";
  while ((await database.read(PLATFORM, (reader) => reader.query(live))).rowCount > 0) {
    if (performance.now() - began > LIMIT_MS) throw new Error('the runs did not end in time');
    await pause(20);
  }
  const seconds = (performance.now() - began) / 1000;
  await assertOnce(database);
  return RUNS / seconds;
};

const assertOnce = async (database: Database): Promise<void> => {
  const { rows } = await database.read(PLATFORM, (reader) =>
    reader.query<{ effects: number; distinct_effects: number }>(
      'select count(*)::integer as effects, count(distinct (subject_id, step))::integer as distinct_effects from bench_effects',
    ),
  );
  const { effects, distinct_effects } = rows[0] ?? {};
  if (effects !== RUNS * STEPS || distinct_effects !== effects)
    throw new Error(`${RUNS} runs of ${STEPS} steps left ${effects} effects, ${distinct_effects} of them distinct`);
};

const measureBare = async (workers: readonly WorkerProcess[]): Promise<number> => {
  for (const worker of workers) worker.say(`bare ${BARE_MS}`);
  const counts = await Promise.all(workers.map((worker) => worker.hear()));
  return counts.reduce((sum, count) => sum + Number(count), 0) / (BARE_MS / 1000);
};

const compare = async (database: Database, workers: readonly WorkerProcess[]): Promise<Measurement> => {
  await measureRuns(database);
  await measureBare(workers);
  const pairs: { ours: number; reference: number }[] = [];
  for (let n = 0; n < PAIRS; n++)
    pairs.push({ ours: await measureRuns(database), reference: await measureBare(workers) });
  const rate = (kind: 'ours' | 'reference') => Math.round(median(pairs.map((pair) => pair[kind])));
  return {
    name: 'workflow',
    ratio: Math.round(median(pairs.map((pair) => pair.ours / pair.reference)) * 1000) / 1000,
    goal: null,
    reference: `${rate('reference')} bare INSERT and UPDATE pairs/s, each statement committed`,
    ours: `${rate('ours')} runs/s of ${STEPS} steps over ${PROCESSES} processes, each effect once`,
    pairs: PAIRS,
  };
};

export const workflowBench: Bench = {
  name: 'workflow',
  run: async () => {
    const dir = await mkdtemp(join(tmpdir(), 'gpuaas-bench-'));
    const postgres = await startEmbeddedPostgres({ dataDir: join(dir, 'pg') });
    const workers: WorkerProcess[] = [];
    try {
      await prepare(postgres.url);
      const database = createDatabase({ url: postgres.url, log: silentLog(), role: APP_ROLE, poolMax: 2 });
      for (let n = 0; n < PROCESSES; n++) workers.push(startWorker(postgres.url));
      for (const worker of workers) await worker.hear();
      const measurement = await compare(database, workers);
      await database.end();
      return measurement;
    } finally {
      for (const { child } of workers) {
        if (child.exitCode !== null) continue;
        child.stdin?.end();
        await once(child, 'exit');
      }
      await postgres.stop();
      await removeEmbeddedPostgres(join(dir, 'pg'));
      await rm(dir, { recursive: true, force: true });
    }
  },
};
