/**
 * A thousand simulated nodes with eight slots each: filled and emptied until all allocations have ended and nothing is
 * left. The figure is the processor time of the control plane, database included, for one allocation's life.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeEmbeddedPostgres, startEmbeddedPostgres } from '../server/src/ports/postgres/embedded.ts';
import { runStorm } from './fleet/storm.ts';
import { round } from './pairs.ts';
import type { Bench } from './types.ts';

const NODES = Number(process.env['GPUAAS_BENCH_NODES'] ?? 1_000);
const HANG_AFTER_MS = 60 * 60_000;
/** CPU seconds. */
const GOAL = '<=0.20';

export const fleetBench: Bench = {
  name: 'fleet',
  run: async () => {
    const dir = await mkdtemp(join(tmpdir(), 'gpuaas-bench-'));
    const postgres = await startEmbeddedPostgres({ dataDir: join(dir, 'pg') });
    try {
      const done = await runStorm({ nodes: NODES, database_url: postgres.url, dir, hang_after_ms: HANG_AFTER_MS });
      const { allocations, launch_s, release_s, server_cpu_s, database_cpu_s } = done;
      const perMinute = (seconds: number): number => Math.round((allocations * 60) / seconds);
      const each = (seconds: number): number => round(seconds / allocations);
      const spent = each(server_cpu_s + database_cpu_s);
      return {
        name: 'fleet',
        ratio: spent,
        goal: GOAL,
        reference: `${NODES} simulated nodes x 8 slots with real agents over mTLS, enrolled and approved in ${Math.round(done.onboarding_s)} s`,
        ours:
          `${perMinute(launch_s + release_s)} allocations/min launched and released (${perMinute(launch_s)} to active, ` +
          `${perMinute(release_s)} to released); ${spent} CPU s of the control plane per ` +
          `allocation, ${each(database_cpu_s)} of them the database; all ${allocations} ended, every slot proven clean, invariants hold`,
        pairs: 1,
      };
    } finally {
      await postgres.stop();
      await removeEmbeddedPostgres(join(dir, 'pg'));
      await rm(dir, { recursive: true, force: true });
    }
  },
};
