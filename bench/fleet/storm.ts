/**
 * A launch storm that fills every slot of a simulated fleet, then a release storm that empties it. Server and agents
 * are processes, and all traffic uses the public API and mTLS. There is a figure only if every allocation became active
 * and was released with proof, every slot is schedulable again and the invariants hold.
 */
import { join } from 'node:path';
import { pause } from '@gpuaas/kit';
import { Client as SqlClient } from 'pg';
import { type Platform, startPlatform } from '../../e2e/sim/platform.ts';
import { cpuSeconds } from './cpu.ts';

export type Storm = Readonly<{
  nodes: number;
  allocations: number;
  onboarding_s: number;
  launch_s: number;
  release_s: number;
  /** CPU seconds of the servers and of the database during the storms. */
  server_cpu_s: number;
  database_cpu_s: number;
}>;

export type StormOptions = Readonly<{
  nodes: number;
  database_url: string;
  /** A temporary directory; the caller removes it. */
  dir: string;
  clients?: number;
  /** Aborts a storm that does not end. */
  hang_after_ms: number;
}>;

const PROCESSES = ['gpuaas-api', 'gpuaas-provisioning-worker,gpuaas-outbox-relay', 'gpuaas-node-api'];
/** The sizes that fill one node after the other. */
const MIXES: readonly (readonly number[])[] = [[8], [4, 4], [4, 2, 2], [2, 2, 2, 1, 1]];

/** Large ones first: small ones fit everywhere, large ones only on empty nodes. */
const sizesFor = (nodes: number): readonly number[] =>
  Array.from({ length: nodes }, (_, index) => MIXES[index % MIXES.length] ?? [])
    .flat()
    .toSorted((a, b) => b - a);

const inParallel = async <T>(items: readonly T[], workers: number, work: (item: T, index: number) => Promise<void>) => {
  const waiting = [...items.entries()];
  const run = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await work(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: workers }, run));
};

const whyLost = async (sql: SqlClient): Promise<string> => {
  const { rows } = await sql.query(
    `select a.id, a.state, a.state_reason, a.failure_reason,
       (select json_agg(json_build_object('kind', t.kind, 'state', t.state, 'attempt', t.attempt, 'why', t.state_reason, 'dispatched_at', t.dispatched_at, 'expires_at', t.expires_at)
        order by t.id) from node_tasks t where t.allocation_id = a.id) as tasks
     from allocations a where a.state in ('failed', 'release_failed') limit 3`,
  );
  return JSON.stringify(rows);
};

const untilAll = async (sql: SqlClient, state: string, count: number, deadline: number): Promise<void> => {
  for (;;) {
    const { rows } = await sql.query<{ state: string; n: number }>(
      'select state, count(*)::integer as n from allocations group by state',
    );
    const of = (name: string): number => rows.find((row) => row.state === name)?.n ?? 0;
    if (of(state) === count) return;
    const lost = of('failed') + of('release_failed');
    if (lost > 0) throw new Error(`${lost} of ${count} allocations failed: ${await whyLost(sql)}`);
    if (performance.now() > deadline) throw new Error(`not all are ${state} in time: ${JSON.stringify(rows)}`);
    await pause(100);
  }
};

const assertClean = async (platform: Platform, sql: SqlClient, nodes: number): Promise<void> => {
  const { rows } = await sql.query<{ n: number }>(
    `select count(*)::integer as n from node_resource_slots s where status = 'available' and last_claimed_at is not null
     and exists (select from wipe_proofs w where w.slot_id = s.id and w.is_verified)`,
  );
  if (rows[0]?.n !== nodes * 8) throw new Error(`${rows[0]?.n} of ${nodes * 8} slots were used and proven clean`);
  const { is_clean } = await platform.client.adminInvariantCheck();
  if (!is_clean) throw new Error('an invariant does not hold');
};

const databasePid = async (sql: SqlClient): Promise<number> => {
  const { rows } = await sql.query<{ pid: string }>(
    "select split_part(pg_read_file('postmaster.pid'), E'\\n', 1) as pid",
  );
  return Number(rows[0]?.pid);
};

const storm = async (platform: Platform, sql: SqlClient, options: StormOptions): Promise<Storm> => {
  const { nodes, clients = 16 } = options;
  const { client } = platform;
  const deadline = performance.now() + options.hang_after_ms;
  const seconds = async (work: () => Promise<void>): Promise<number> => {
    const began = performance.now();
    await work();
    return (performance.now() - began) / 1000;
  };
  const onboarding_s = await seconds(async () => {
    const hosts = platform.hosts(['--nodes', String(nodes), '--dir', join(options.dir, 'fleet')]);
    await platform.ready(hosts, nodes, options.hang_after_ms);
  });
  const project_id = (await client.meGet()).projects[0]?.id ?? '';
  const postmaster = await databasePid(sql);
  const cpu = () => ({
    server: platform.servers.reduce((sum, { child }) => sum + cpuSeconds(child.pid ?? 0), 0),
    database: cpuSeconds(postmaster),
  });
  const before = cpu();
  const sizes = sizesFor(nodes);
  const ids: string[] = [];
  const launch_s = await seconds(async () => {
    // One size after the other: concurrently, a small one that skips a locked node splits the set that a large one
    // needs.
    for (const [size, ofSize] of Map.groupBy(sizes, (one) => one))
      await inParallel(ofSize, clients, async (gpu_count, index) => {
        const name = `storm-${size}-${index}`;
        const body = { name, sku_name: 'h200-sxm-slice', region_name: 'us-buffalo-1', gpu_count };
        ids.push((await client.allocationCreate({ params: { project_id }, body })).id);
      });
    await untilAll(sql, 'active', sizes.length, deadline);
  });
  const release_s = await seconds(async () => {
    await inParallel(ids, clients, async (allocation_id) => {
      await client.allocationRelease({ params: { project_id, allocation_id }, body: {} });
    });
    await untilAll(sql, 'released', sizes.length, deadline);
  });
  const after = cpu();
  await assertClean(platform, sql, nodes);
  return {
    nodes,
    allocations: sizes.length,
    onboarding_s,
    launch_s,
    release_s,
    server_cpu_s: after.server - before.server,
    database_cpu_s: after.database - before.database,
  };
};

export const runStorm = async (options: StormOptions): Promise<Storm> => {
  const platform = await startPlatform({
    database_url: options.database_url,
    dir: options.dir,
    processes: PROCESSES,
    env: { GPUAAS_LOG_LEVEL: 'warn', GPUAAS_DATABASE_POOL_MAX: '20' },
  });
  const sql = new SqlClient({ connectionString: options.database_url });
  try {
    await sql.connect();
    return await storm(platform, sql, options);
  } finally {
    await sql.end();
    await platform.stop();
  }
};
