import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { readRun, scripted, start, workerOf } from '../../test/scripted-workflow.ts';
import { passTime } from '../../test/workflow-faults.ts';
import { expireTask, failUnsentTask, finishTask } from '../agents/end-task.ts';
import { PLATFORM, type Tx } from '../db/client.ts';
import { cancelNodeTasks, cancelQueuedTasks, cancelRunTasks, insertTask } from '../db/node-task.ts';
import { done, waitForSignal } from './engine/outcome.ts';
import { consumeTaskSignal, createRunHostTask, TASK_FINISHED } from './host-task.ts';

const KIND = 'slice.vm_stop';
const PARAMS = { allocation_id: `alc_${'1'.repeat(26)}`, slots: [], grace_s: 0 };

const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  return { database, sql, node: await aNode(sql) };
};

/** A task of a run, and of an allocation. */
type Given = Readonly<{ id: string; node_id: string; allocation_id: string; run_id: string }>;

const WAYS: Readonly<Record<string, Readonly<{ state: string; end(tx: Tx, given: Given): Promise<unknown> }>>> = {
  'a result': {
    state: 'running',
    end: (tx, { id }) =>
      finishTask(tx, { id, attempt: 1, state: 'completed', reason: null, output: {} }, { now: new Date() }),
  },
  'a failure or refusal': {
    state: 'dispatched',
    end: (tx, { id }) =>
      finishTask(
        tx,
        { id, attempt: 1, state: 'failed', error_code: 'wrong_node', reason: 'It is refused.', output: null },
        { now: new Date() },
      ),
  },
  'a task that cannot be sent': {
    state: 'queued',
    end: (tx, { id }) => failUnsentTask(tx, id, 'It cannot be sent.', { now: new Date() }),
  },
  expiry: {
    state: 'running',
    end: async (tx, { id }) => {
      await tx.query("update node_tasks set expires_at = now() - interval '1 s' where id = $1", [id]);
      assert.equal(await expireTask(tx, id, { now: new Date() }), true);
    },
  },
  'a withdrawal of the queued tasks of an allocation': {
    state: 'queued',
    end: (tx, given) => cancelQueuedTasks(tx, given, 'It is withdrawn.'),
  },
  'a cancellation of the tasks of a run': {
    state: 'dispatched',
    end: (tx, { run_id }) => cancelRunTasks(tx, run_id, 'The run ends.'),
  },
  'the end of the node': {
    state: 'running',
    end: (tx, { node_id }) => cancelNodeTasks(tx, node_id, 'The node is retired.'),
  },
  'any other statement': {
    state: 'queued',
    end: (tx, { id }) =>
      tx.query("update node_tasks set state = 'cancelled', finished_at = clock_timestamp() where id = $1", [id]),
  },
};

for (const [way, { state, end }] of Object.entries(WAYS))
  test(`${way} wakes the run of the task and the run that waits for its allocation, at once`, async (t) => {
    const { database, sql, node } = await world(t);
    const { id: allocation_id } = await anAllocation(sql, { node });
    let executions = 0;
    const waiting = (name: string) =>
      scripted(
        {
          one: async (ctx) => {
            executions += 1;
            consumeTaskSignal(ctx);
            return executions > 2 ? done() : waitForSignal(TASK_FINISHED, 3_600_000, 'Waiting.');
          },
        },
        { name },
      );
    const [own, other] = [waiting('own'), waiting('other')];
    const run = await start(database, own, mintId('sub'));
    const neighbor = await start(database, other, allocation_id);
    const worker = workerOf(database, [own, other]);
    await worker.tick();
    assert.equal(await worker.tick(), 0, 'both sleep');
    const { id } = await database.write(PLATFORM, (tx) =>
      insertTask(tx, {
        node_id: node.id,
        allocation_id,
        kind: KIND,
        params: PARAMS,
        sealed_user_data: null,
        attempt: 1,
        correlation_id: 'cor-1',
        workflow_run_id: run.id,
      }),
    );
    await sql.query('update node_tasks set state = $1 where workflow_run_id = $2', [state, run.id]);
    assert.equal(await worker.tick(), 0, 'the task is open');
    const task = { id, node_id: node.id, allocation_id, run_id: run.id };
    await database.write(PLATFORM, (tx) => end(tx, task));
    assert.equal(await worker.tick(), 2, 'no time has passed');
    for (const one of [run, neighbor]) assert.equal((await readRun(database, one.id)).state, 'done');
  });

test('a run that waits ten minutes for its host executes its step about ten times', async (t) => {
  const { database, node } = await world(t);
  const runTask = createRunHostTask(database);
  let executions = 0;
  const asking = scripted({
    one: async (ctx) => {
      executions += 1;
      const request = { node_id: node.id, kind: KIND, params: PARAMS, tries_max: 1, doing: 'Discovering.' } as const;
      const result = await runTask(ctx, request);
      return result.kind === 'waiting' ? result.outcome : done();
    },
  });
  const run = await start(database, asking);
  const worker = workerOf(database, [asking]);
  for (let waitedMs = 0; waitedMs < 600_000; ) {
    await worker.tick();
    const { rows } = await database.read(PLATFORM, (reader) =>
      reader.query<{ ms: number }>(
        'select (extract(epoch from due_at - clock_timestamp()) * 1000)::float8 as ms from workflow_runs where id = $1',
        [run.id],
      ),
    );
    const ms = rows[0]?.ms ?? 0;
    assert.ok(ms > 0, 'it sleeps');
    waitedMs += ms;
    await passTime(database, run.id);
  }
  assert.ok(executions <= 12, `${executions} executions`);
});
