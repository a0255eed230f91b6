/**
 * What placement costs: creates per second against one prepared call of the database that writes the same rows, and
 * the time of one create in a large fleet against a small one.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import type { Database } from '../server/src/db/client.ts';
import { removeEmbeddedPostgres, startEmbeddedPostgres } from '../server/src/ports/postgres/embedded.ts';
import { interleave, median, round } from './pairs.ts';
import { createOnce, createRate } from './placement/create.ts';
import { makeFleet } from './placement/fleet.ts';
import type { Bench } from './types.ts';

const CLIENTS = 8;
const SLICE_S = 2;
const PAIRS = 9;
const FLEET_NODES = 25_000;
const SMALL_FLEET_NODES = 250;
const GPUS = 2;

const run = promisify(execFile);

const withFleet = async <T>(nodes: number, fn: (database: Database, url: string) => Promise<T>): Promise<T> => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-bench-'));
  const dataDir = join(dir, 'pg');
  const postgres = await startEmbeddedPostgres({ dataDir, durability: 'safe' });
  try {
    const database = await makeFleet(postgres.url, nodes);
    try {
      return await fn(database, postgres.url);
    } finally {
      await database.end();
    }
  } finally {
    await postgres.stop();
    await removeEmbeddedPostgres(dataDir);
    await rm(dir, { recursive: true, force: true });
  }
};

/** Transactions per second that pgbench reports for one slice. */
const pgbench = async (url: string, script: string): Promise<number> => {
  const target = new URL(url);
  const host = target.searchParams.get('host') ?? target.hostname;
  const args = [
    '-n',
    '-M',
    'prepared',
    '-c',
    String(CLIENTS),
    '-j',
    '2',
    '-T',
    String(SLICE_S),
    '-f',
    script,
    '-h',
    host,
    '-U',
    target.username || 'gpuaas',
    target.pathname.slice(1),
  ];
  const { stdout } = await run('pgbench', args);
  const tps = /tps = ([\d.]+)/.exec(stdout)?.[1];
  if (tps === undefined) throw new Error(`pgbench said nothing about tps:\n${stdout}`);
  return Number(tps);
};

const prepareReference = async (url: string): Promise<string> => {
  const owner = new Client({ connectionString: url });
  await owner.connect();
  await owner.query(await readFile(new URL('./placement/reference.sql', import.meta.url), 'utf8'));
  await owner.end();
  const script = join(await mkdtemp(join(tmpdir(), 'gpuaas-bench-')), 'place.sql');
  await writeFile(script, `select bench_place(${FLEET_NODES});\n`);
  return script;
};

export const placementBench: Bench = {
  name: 'placement',
  run: () =>
    withFleet(FLEET_NODES, async (database, url) => {
      const script = await prepareReference(url);
      const result = await interleave(
        () => createRate(database, CLIENTS, SLICE_S, GPUS),
        () => pgbench(url, script),
        PAIRS,
      );
      return {
        name: 'placement',
        ratio: result.ratio,
        goal: '>=0.60',
        reference: `${Math.round(result.reference)} transactions/s of pgbench, one prepared call that writes the same rows`,
        ours: `${Math.round(result.ours)} creates/s in process, ${CLIENTS} clients, ${FLEET_NODES} nodes`,
        pairs: result.pairs,
      };
    }),
};

/** Milliseconds of the median create, one at a time. */
const p50 = async (database: Database, creates: number): Promise<number> => {
  const times: number[] = [];
  for (let n = 0; n < creates; n++) {
    const startedAt = performance.now();
    await createOnce(database, GPUS);
    times.push(performance.now() - startedAt);
  }
  return median(times);
};

export const placementScaleBench: Bench = {
  name: 'placement-scale',
  run: () =>
    withFleet(FLEET_NODES, (large) =>
      withFleet(SMALL_FLEET_NODES, async (small) => {
        const creates = 40;
        const result = await interleave(
          () => p50(large, creates),
          () => p50(small, creates),
          PAIRS,
        );
        return {
          name: 'placement-scale',
          ratio: result.ratio,
          goal: '<=1.3',
          reference: `${round(result.reference)} ms median create in a fleet of ${SMALL_FLEET_NODES} nodes`,
          ours: `${round(result.ours)} ms in a fleet of ${FLEET_NODES}`,
          pairs: result.pairs,
        };
      }),
    ),
};
