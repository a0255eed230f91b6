import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase } from '../../../test/database.ts';
import { readRun, scripted, start, timeline, workerOf } from '../../../test/scripted-workflow.ts';
import { until } from '../../../test/until.ts';
import { passTime } from '../../../test/workflow-faults.ts';
import { PLATFORM } from '../../db/client.ts';
import { done } from './outcome.ts';
import { retryRun } from './run.ts';
import { WorkerDied } from './worker.ts';

test('a run that kills its workers is isolated and becomes stuck; the runs taken with it go on', async (t) => {
  const { database } = await testDatabase(t);
  let isDying = false;
  const noting = scripted({
    one: async (_, id) => {
      isDying = id === 'deadly';
      return done();
    },
  });
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
