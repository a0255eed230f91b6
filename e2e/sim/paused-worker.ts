/**
 * `gpuaas-provisioning-worker` as shipped, with one difference: a run named in the plan is held at its boundary, and
 * reached boundaries are appended to a file, so that the test can kill the process exactly there. Other runs are not
 * affected.
 *
 *   node paused-worker.ts PLAN_FILE REACHED_FILE
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { createLog, createShutdown, pause, stopOnSignals } from '@gpuaas/kit';
import { Client } from 'pg';
import { readConfig } from '../../server/src/config.ts';
import type { LeasedRun } from '../../server/src/db/workflow-run.ts';
import { startProcess } from '../../server/src/roles/process.ts';
import type { FailPoint } from '../../server/src/workflows/engine/worker.ts';
import type { Execution } from '../../server/test/executions.ts';

/**
 * A step with a host task is executed at least twice: to queue the task, and to continue when it is done. Polls in
 * between are not boundaries. Other steps are executed once. A launch whose host failed moves in the execution that
 * finds the failed task. A step that repeats until nothing is left to do has released its task by then.
 */
export type Boundary = Readonly<{
  subject_id: string;
  workflow: string;
  step: string;
  execution: Execution['execution'] | 'again' | 'move';
  /** The host task of the step; null if it needs no host. */
  kind: string | null;
  point: FailPoint;
}>;

/** Shorter than in production, so that the next worker need not wait long for the run leases of the dead one. */
export const LEASE_MS = 5_000;
const CONCURRENCY = 100;
const LOOK_AGAIN_MS = 20;

const forever = (): Promise<never> => new Promise(() => {});

const hold = (plan: readonly Boundary[], reachedFile: string, sql: Client) => {
  const bySubject = new Map(plan.map((boundary) => [`${boundary.workflow} ${boundary.subject_id}`, boundary]));
  const held = new Set<string>();
  /** The current execution number of each run's step. */
  const executions = new Map<string, Boundary['execution'] | 'look'>();

  const executionOf = async (run: LeasedRun, boundary: Boundary): Promise<Boundary['execution'] | 'look'> => {
    if (boundary.kind === null) return 'only';
    const { rows } = await sql.query<{ state: string }>(
      'select state from node_tasks where workflow_run_id = $1 and kind = $2',
      [run.id, boundary.kind],
    );
    if (rows.length === 0) return executions.get(run.id) === 'go_on' ? 'again' : 'ask';
    if (rows.every(({ state }) => state === 'completed')) return 'go_on';
    if (rows.some(({ state }) => state === 'failed')) return 'move';
    if (boundary.execution === 'ask') return 'look';
    // The task may end between this read and that of the step, which would then pass its boundary unnoticed.
    await pause(LOOK_AGAIN_MS);
    return executionOf(run, boundary);
  };

  return async (point: FailPoint, run: LeasedRun): Promise<void> => {
    const boundary = bySubject.get(`${run.workflow} ${run.subject_id}`);
    if (boundary === undefined) return;
    // A waiting run may be claimed again while its last transition is held: it must not continue unnoticed.
    if (held.has(run.id)) return forever();
    if (run.step !== boundary.step) return;
    if (point === 'claimed') executions.set(run.id, await executionOf(run, boundary));
    if (held.has(run.id)) return forever();
    if (point !== boundary.point || executions.get(run.id) !== boundary.execution) return;
    held.add(run.id);
    appendFileSync(reachedFile, `${JSON.stringify(boundary)}\n`);
    return forever();
  };
};

if (import.meta.main) {
  const [planFile = '', reachedFile = ''] = process.argv.slice(2);
  const config = readConfig(process.env, 'gpuaas-provisioning-worker');
  const log = createLog({ service: 'gpuaas-provisioning-worker', host_role: 'platform_control', level: 'warn' });
  const shutdown = createShutdown(log);
  stopOnSignals(shutdown);
  const sql = new Client({ connectionString: config.database_url });
  await sql.connect();
  shutdown.add('plan', () => sql.end());
  const plan: Boundary[] = JSON.parse(readFileSync(planFile, 'utf8'));
  const workflows = { at: hold(plan, reachedFile, sql), concurrency: CONCURRENCY, lease_ms: LEASE_MS };
  await startProcess({ config, log, shutdown, dev_password: 'unused', workflows });
}
