/**
 * A real agent process that dies by SIGKILL at the boundary named in CRASH_AT, if any. Each run of its handler appends
 * the task ID to a file, so that the test can count them.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent } from '../src/agent.ts';
import { plainHost, QUICK } from './agents.ts';

const state = process.argv[2] ?? '';
const url = new URL(process.argv[3] ?? '');
const crashAt = process.env['CRASH_AT'];

await createAgent({
  host: plainHost(),
  handlers: {
    'diag.health_probe': async (ctx) => {
      appendFileSync(join(state, 'acts'), `${ctx.task_id}\n`);
      return { report: { source: 'test', observed_at: '2026-01-01T00:00:00.000Z', successes: [], alerts: [] } };
    },
  },
  config: {
    url,
    state,
    version: '0.0.0-test',
    write_log: null,
    ship_logs: false,
    health: false,
    reconcile: false,
    retry: QUICK,
    wait_s: 1,
  },
  at: (boundary) => {
    if (boundary === crashAt) process.kill(process.pid, 'SIGKILL');
  },
}).start();
