/**
 * Stands in for the agents of the demo's hosts: takes their queued tasks, has a simulated host do them, and answers as
 * an agent will. An answer counts only for the attempt it was given for. Several executors may run; each task is taken
 * by one.
 */
import { appendFileSync } from 'node:fs';
import { createLog, type Log, pause } from '@gpuaas/kit';
import { createDatabase, type Database, PLATFORM } from '../../server/src/db/client.ts';
import { APP_ROLE } from '../../server/src/db/migrate.ts';
import { type NodeTaskRow, takeTasks } from '../../server/src/db/node-task.ts';
import { CHANNEL } from '../../server/src/ports/events/waker.ts';
import { finishTask } from '../../server/src/workflows/finish-task.ts';
import { createHost, type SimulatedHost } from './host-tasks.ts';
import { rotate, type StatePaths } from './state.ts';

export type ExecutorOptions = Readonly<{
  database: Database;
  /** Where the simulated disks are. */
  dir: string;
  node_name_prefix: string;
  /** How long each task takes at least. */
  task_ms: number;
}>;

const TASKS_AT_ONCE = 32;
const POLL_MS = 250;

const faultOf = async (database: Database, allocationId: string | null): Promise<string | null> => {
  const { rows } = await database.read(PLATFORM, (reader) =>
    reader.query<{ fault: string | null }>("select tags ->> 'lab.fault' as fault from allocations where id = $1", [
      allocationId,
    ]),
  );
  return rows[0]?.fault ?? null;
};

const execute = async (options: ExecutorOptions, host: SimulatedHost, task: NodeTaskRow): Promise<void> => {
  const { database } = options;
  const [fault] = await Promise.all([faultOf(database, task.allocation_id), pause(options.task_ms)]);
  const answer = await host
    .perform({ kind: task.kind, params: task.params, fault })
    .catch((err: unknown) => ({ failed: err instanceof Error ? err.message : String(err) }));
  await database.write(PLATFORM, async (tx) => {
    await finishTask(tx, {
      id: task.id,
      attempt: task.attempt,
      state: 'failed' in answer ? 'failed' : 'completed',
      reason: 'failed' in answer ? answer.failed : null,
      output: 'failed' in answer ? null : answer.output,
    });
    // The run goes on at once instead of at its next look.
    await tx.query('select pg_notify($1, $2)', [CHANNEL, '']);
  });
};

/** Takes what is queued and does it. How many tasks that were. */
export const executeOnce = async (options: ExecutorOptions, host: SimulatedHost): Promise<number> => {
  const tasks = await options.database.write(PLATFORM, (tx) =>
    takeTasks(tx, { node_name_prefix: options.node_name_prefix, limit: TASKS_AT_ONCE }),
  );
  await Promise.all(tasks.map((task) => execute(options, host, task)));
  return tasks.length;
};

export type Executor = Readonly<{ stop(): Promise<void> }>;

/** What an executor had in hand when it was killed is done again: every task may be done twice. */
const requeue = (options: ExecutorOptions): Promise<unknown> =>
  options.database.write(PLATFORM, (tx) =>
    tx.query(
      `update node_tasks t set state = 'queued' from nodes n
       where n.id = t.node_id and starts_with(n.name, $1) and t.state in ('dispatched', 'running')`,
      [options.node_name_prefix],
    ),
  );

const logTo = (file: string): Log =>
  createLog({
    service: 'lab-executor',
    host_role: 'worker_compute',
    destination: { write: (line: string) => appendFileSync(file, line, { mode: 0o600 }) },
  });

/** One per lab: whoever holds the state folder. */
export const startExecutor = (given: Readonly<{ url: string; paths: StatePaths }>): Executor => {
  rotate(given.paths.executorLog);
  const log = logTo(given.paths.executorLog);
  const database = createDatabase({ url: given.url, role: APP_ROLE, log, poolMax: 4 });
  const options = { database, dir: given.paths.disksDir, node_name_prefix: 'demo-', task_ms: 200 };
  const host = createHost(options.dir);
  const stopping = new AbortController();
  const loop = async (): Promise<void> => {
    await requeue(options).catch((err: unknown) => log.warn({ err }, 'tasks left behind could not be queued again'));
    while (!stopping.signal.aborted) {
      // While the database is away there is nothing to do; it is asked again.
      const done = await executeOnce(options, host).catch((err: unknown) => {
        if (!stopping.signal.aborted) log.warn({ err }, 'tasks could not be taken or answered');
        return 0;
      });
      if (done === 0) await pause(POLL_MS, stopping.signal);
    }
  };
  const running = loop();
  return {
    stop: async () => {
      stopping.abort();
      await running;
      await database.end();
    },
  };
};
