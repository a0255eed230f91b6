/** Wipes that take hours, as on a large disk without crypto erase. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { testClock } from '../../test/app.ts';
import { testDatabase } from '../../test/database.ts';
import { playHost, report, settle, takeQueued, truth } from '../../test/host.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { progress, type ResultDeps } from '../agents/task-result.ts';
import { PLATFORM } from '../db/client.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import { refreshSummary } from '../placement/summary.ts';
import { expireTasks } from '../reconcilers/expire-tasks.ts';
import { restartCleanup, startRelease } from '../workflows/start-cleanup.ts';

const world = async (t: TestContext, shape: 'gpu_slice' | 'baremetal') => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const node = await aNode(sql);
  const { id } = await anAllocation(sql, { node, shape, state: 'active' });
  await database.write(PLATFORM, async (tx) => {
    await refreshSummary(tx, node.id);
    await startRelease(tx, { allocation_id: id, reason: 'test' });
  });
  const deps: ResultDeps = { database, clock: testClock() };
  const work = () => settle(database, { host: async () => 0, rounds: 6 });
  /** Advances all clocks by this much, and ends what is overdue. */
  const pass = async (time: string): Promise<number> => {
    await sql.query(
      `update node_tasks set created_at = created_at - $1::interval, dispatched_at = dispatched_at - $1::interval,
         started_at = started_at - $1::interval, finished_at = finished_at - $1::interval, expires_at = expires_at - $1::interval`,
      [time],
    );
    await sql.query('update workflow_runs set deadline_at = deadline_at - $1::interval', [time]);
    const ended = await expireTasks({ database });
    await work();
    return ended;
  };
  const stateOf = async () =>
    (await sql.query<{ state: string }>('select state from allocations where id = $1', [id])).rows[0]?.state;
  const tasksOf = async () =>
    (
      await sql.query<{ kind: string; attempt: number; state: string }>(
        "select kind, attempt, state from node_tasks where allocation_id = $1 and kind like '%.cleanup' order by attempt",
        [id],
      )
    ).rows;
  /** Stopped, and the wipe started by the host as an agent does. */
  const begin = async (): Promise<NodeTaskRow> => {
    await work();
    await playHost(database);
    await work();
    const [task] = await takeQueued(database);
    assert.ok(task);
    return task;
  };
  const tell = async ({ id: task_id, node_id, attempt }: NodeTaskRow) =>
    (await progress(deps, { node_id, task_id }, { attempt, percent: 50, bytes_per_s: null, note: null })).is_open;
  const answer = (task: NodeTaskRow) => report(database, task, truth(task));
  return { id, database, work, pass, stateOf, tasksOf, begin, tell, answer };
};

for (const shape of ['gpu_slice', 'baremetal'] as const)
  test(`a wipe of ${shape} that takes hours is waited for by its task and run, and proven at the end`, async (t) => {
    const w = await world(t, shape);
    const task = await w.begin();
    for (const time of ['25 minutes', '2 hours', '9 hours']) {
      assert.equal(await w.pass(time), 0, 'nothing is overdue');
      assert.equal(await w.tell(task), true, 'the host is to go on');
      assert.equal(await w.stateOf(), 'releasing');
    }
    assert.equal(await w.answer(task), true);
    await settle(w.database);
    assert.equal(await w.stateOf(), 'released');
    assert.deepEqual(await w.tasksOf(), [{ kind: task.kind, attempt: 1, state: 'completed' }]);
  });

test('an operator who forces a cleanup in progress does not restart it', async (t) => {
  const w = await world(t, 'gpu_slice');
  const task = await w.begin();
  await w.pass('3 hours');
  await w.database.write(PLATFORM, (tx) => restartCleanup(tx, { allocation_id: w.id, runtime_verified_absent: true }));
  await w.work();
  assert.deepEqual(await w.tasksOf(), [{ kind: 'slice.cleanup', attempt: 1, state: 'running' }]);
  assert.equal(await w.tell(task), true);
  await w.answer(task);
  await settle(w.database);
  assert.equal(await w.stateOf(), 'released');
});

test('a wipe that no host starts times out within minutes, three times, and then needs an operator', async (t) => {
  const w = await world(t, 'gpu_slice');
  await w.work();
  await playHost(w.database);
  await w.work();
  for (const attempt of [1, 2, 3]) {
    assert.equal((await w.tasksOf()).length, attempt);
    assert.equal(await w.pass('21 minutes'), 1);
  }
  assert.equal(await w.stateOf(), 'release_failed');
});

test('a wipe that exceeds the agent’s own limit has an unknown effect, and is requested again', async (t) => {
  const w = await world(t, 'gpu_slice');
  const task = await w.begin();
  assert.equal(await w.pass('14 hours'), 1);
  assert.equal(await w.tell(task), false);
  assert.deepEqual(
    (await w.tasksOf()).map(({ state }) => state),
    ['unknown', 'queued'],
  );
  assert.equal(await w.answer(task), false);
});
