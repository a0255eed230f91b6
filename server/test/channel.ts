/** The whole control plane with a listener for agents, for tests of the channel. */
import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import { mintId } from '@gpuaas/kit';
import type { Config } from '../src/config.ts';
import { ROLES } from '../src/config.ts';
import { PLATFORM } from '../src/db/client.ts';
import { addNode, enrollAgent, type TestAgent } from './agent.ts';
import { startTestApp, type TestApp, type TestAppOptions } from './app.ts';
import { assertInvariants } from './invariants.ts';

export type Channel = Readonly<{
  test: TestApp;
  url: string;
  rows<R extends object>(text: string, values?: readonly unknown[]): Promise<R[]>;
  change(text: string, values?: readonly unknown[]): Promise<void>;
  /** As after a commit with new work: waiting agents are checked again. */
  wake(): Promise<void>;
  /** A node with an enrolled agent. */
  join(): Promise<TestAgent>;
  /** A task for a node; the process is woken as by a workflow. */
  ask(nodeId: string, task?: Readonly<{ kind?: string; params?: object; expires_in_s?: number }>): Promise<string>;
  stateOf(
    taskId: string,
  ): Promise<
    Readonly<{ state: string; state_reason: string | null; error_code: string | null; output: object | null }>
  >;
}>;

/** Started before the tests of a file or suite, and closed after them with the invariants checked. */
export const useChannel = (overrides: Partial<Config> = {}, options: TestAppOptions = {}): (() => Channel) => {
  let channel: Channel;
  const closers: (() => Promise<void>)[] = [];
  before(async () => {
    const test = await startTestApp(
      { after: (fn) => void closers.unshift(fn) },
      { roles: ROLES, ...overrides },
      options,
    );
    channel = openChannel(test);
  });
  after(async () => {
    try {
      await assertInvariants(channel.test.db.database);
    } finally {
      // In every case: a running server keeps the file from ending.
      for (const close of closers) await close();
    }
  });
  return () => channel;
};

export const openChannel = (test: TestApp, url: string = test.app.node_api?.url ?? ''): Channel => {
  const { database } = test.db;
  const change: Channel['change'] = async (text, values = []) => {
    await database.write(PLATFORM, (tx) => tx.query(text, values));
  };
  const rows: Channel['rows'] = <R extends object>(text: string, values: readonly unknown[] = []) =>
    database.read(PLATFORM, async (reader) => (await reader.query<R>(text, values)).rows);
  const wake: Channel['wake'] = () => test.app.deps.database.write(PLATFORM, async (tx) => tx.wake());
  return {
    test,
    url,
    rows,
    change,
    wake,
    join: async () => enrollAgent(url, (await addNode(test)).enrollment),
    ask: async (nodeId, { kind = 'diag.health_probe', params = {}, expires_in_s = 600 } = {}) => {
      const id = mintId('tsk');
      await change(
        `insert into node_tasks (id, node_id, kind, params, correlation_id, expires_at)
         values ($1, $2, $3, $4, $5, clock_timestamp() + make_interval(secs => $6))`,
        [id, nodeId, kind, JSON.stringify(params), `c-${randomUUID()}`, expires_in_s],
      );
      await wake();
      return id;
    },
    stateOf: async (taskId) => {
      const [row] = await rows<Awaited<ReturnType<Channel['stateOf']>>>(
        'select state, state_reason, error_code, output from node_tasks where id = $1',
        [taskId],
      );
      if (row === undefined) throw new Error(`no task ${taskId}`);
      return row;
    },
  };
};
