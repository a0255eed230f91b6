import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase } from '../../../test/database.ts';
import { readRun, scripted, start, timeline, workerOf } from '../../../test/scripted-workflow.ts';
import { until } from '../../../test/until.ts';
import { passTime } from '../../../test/workflow-faults.ts';
import { PLATFORM } from '../../db/client.ts';
import type { WorkflowRunRow } from '../../db/workflow-run.ts';
import { done, next } from './outcome.ts';
import { retryRun } from './run.ts';
import { type FailPoint, WorkerDied } from './worker.ts';

test('a run that kills its workers is isolated and becomes stuck; the runs taken with it go on', async (t) => {
  const { database } = await testDatabase(t);
  let isDying = false;
  const noting = scripted({
    one: async (_, id) => {
      isDying = id === 'deadly';
      return done();
    },
  });
  const other = scripted({ one: async () => done() }, { name: 'other' });
  const run = await start(database, noting, 'deadly');
  const neighbors = [await start(database, noting), await start(database, noting)];
  const all = [run, ...neighbors];
  const passAll = async () => {
    for (const { id } of all) await passTime(database, id);
  };
  /** The process dies with the step of one run. `others` is what its other runs do until then. */
  const mortal = (others: Promise<void> | undefined) =>
    workerOf(database, [noting], {
      at: (_, { subject_id }) => {
        if (subject_id !== 'deadly') return others;
        if (isDying) throw new WorkerDied('killed');
      },
    });
  void mortal(new Promise(() => {})).tick();
  await until('all were taken together', async () => (await readRun(database, run.id)).state === 'running');
  assert.equal(await workerOf(database, [noting]).tick(), 0, 'the run leases still stand');
  const pauses = new Map<number, number>();
  for (let round = 0; round < 12; round++) {
    await passAll();
    isDying = false;
    await mortal(undefined).tick();
    // Others go on: the workers are well.
    const { id } = await start(database, other);
    await workerOf(database, [other]).tick();
    assert.equal((await readRun(database, id)).state, 'done');
    const { rows } = await database.read(PLATFORM, (reader) =>
      reader.query<{ lost: number; s: number }>(
        `select workers_lost as lost, extract(epoch from due_at - attempt_started_at)::integer as s
         from workflow_runs where id = $1 and state = 'running' and due_at > now()`,
        [run.id],
      ),
    );
    for (const { lost, s } of rows) pauses.set(lost, s);
  }
  for (const { id } of neighbors) {
    const neighbor = await readRun(database, id);
    assert.deepEqual([neighbor.state, neighbor.workers_lost], ['done', 0]);
    assert.deepEqual(await timeline(database, id), ['one error', 'one done'], 'it lost one worker, not its attempts');
  }
  const ended = await readRun(database, run.id);
  assert.deepEqual([ended.state, ended.attempt, ended.workers_lost], ['stuck', 1, 5]);
  assert.match(ended.state_reason ?? '', /^The worker process stopped 5 times while it ran step one of this run alone/);
  assert.deepEqual([...pauses.values()], [60, 120, 240, 480], 'the pauses grow');
  assert.deepEqual((await timeline(database, run.id)).at(-1), 'one stuck');
  await database.write(PLATFORM, (tx) => retryRun(tx, { run_id: run.id }));
  const retried = await readRun(database, run.id);
  assert.deepEqual([retried.state, retried.workers_lost], ['pending', 0]);
});

for (const count of [2, 30])
  test(`twenty workers in a row die for another reason: of ${count} runs all end done`, async (t) => {
    const { database } = await testDatabase(t);
    const script = scripted({ one: async () => next('two'), two: async () => done() });
    const runs: WorkflowRunRow[] = [];
    for (let index = 0; index < count; index++) runs.push(await start(database, script));
    /** As long as a worker needs to die and to be started again, and as a run is paused. */
    const passMinute = () =>
      database.write(PLATFORM, (tx) =>
        tx.query(
          `update workflow_runs set due_at = due_at - d.minute, lease_until = lease_until - d.minute,
             deadline_at = deadline_at - d.minute, attempt_started_at = attempt_started_at - d.minute
           from (select interval '61 s' as minute) d`,
        ),
      );
    const at = (point: FailPoint) => {
      if (point === 'acted') throw new WorkerDied('killed');
    };
    let deaths = 0;
    for (let minute = 0; deaths < 20; minute++) {
      assert.ok(minute < 200);
      if ((await workerOf(database, [script], { at }).tick()) > 0) deaths += 1;
      await passMinute();
    }
    const lost = await Promise.all(runs.map(async ({ id }) => (await readRun(database, id)).workers_lost));
    assert.ok(Math.max(...lost) >= (count === 2 ? 8 : 1), `${lost}`);
    const worker = workerOf(database, [script]);
    await until('all have ended', async () => {
      await worker.tick();
      await passMinute();
      const states = await Promise.all(runs.map(async ({ id }) => (await readRun(database, id)).state));
      return states.every((state) => state !== 'pending' && state !== 'running' && state !== 'waiting');
    });
    for (const { id } of runs) assert.equal((await readRun(database, id)).state, 'done');
  });

test('a busy worker finishes its runs before it takes one that lost a worker', async (t) => {
  const { database } = await testDatabase(t);
  const gate = Promise.withResolvers<void>();
  const waiting = scripted({ one: async (_, id) => (id === 'slow' ? gate.promise.then(() => done()) : done()) });
  const lost = await start(database, waiting);
  const at = () => {
    throw new WorkerDied('killed');
  };
  await workerOf(database, [waiting], { at }).tick();
  const slow = await start(database, waiting, 'slow');
  const worker = workerOf(database, [waiting]);
  const busy = worker.tick();
  await until('it holds the slow run', async () => (await readRun(database, slow.id)).state === 'running');
  await passTime(database, lost.id);
  const young = await start(database, waiting);
  assert.equal(await worker.tick(), 0, 'it takes neither the lost run nor a new one');
  gate.resolve();
  await busy;
  assert.deepEqual([await worker.tick(), (await readRun(database, young.id)).state], [1, 'pending'], 'alone');
  assert.equal((await readRun(database, lost.id)).state, 'done');
  await worker.tick();
  assert.equal((await readRun(database, young.id)).state, 'done');
});
