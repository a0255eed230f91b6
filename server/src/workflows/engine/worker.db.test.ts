import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '@gpuaas/kit';
import { testDatabase } from '../../../test/database.ts';
import { createEffects, effectsOf, noteEffect } from '../../../test/example-workflow.ts';
import { startPgProxy } from '../../../test/pg-proxy.ts';
import { readRun, scripted, start, timeline, workerOf } from '../../../test/scripted-workflow.ts';
import { until } from '../../../test/until.ts';
import { passTime } from '../../../test/workflow-faults.ts';
import { createDatabase, type Database, PLATFORM } from '../../db/client.ts';
import { AppError } from '../../errors.ts';
import { createEventHub } from '../../ports/events/hub.ts';
import { startListening } from '../../ports/events/listen.ts';
import { createWaker } from '../../ports/events/waker.ts';
import { done, next, wait } from './outcome.ts';
import { startRun } from './run.ts';

test('a failing step is retried with growing delays, then the run is stuck with its reason', async (t) => {
  const { database } = await testDatabase(t);
  const failing = scripted({ one: async () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7')) });
  const run = await start(database, failing);
  const delays: number[] = [];
  for (let attempt = 1; attempt <= 3; attempt++) {
    await workerOf(database, [failing]).tick();
    const now = await readRun(database, run.id);
    if (now.wake_at !== null) delays.push(Date.parse(now.wake_at) - Date.now());
    await passTime(database, run.id);
  }
  const ended = await readRun(database, run.id);
  assert.deepEqual([ended.state, ended.state_reason], ['stuck', 'Step one did not succeed in 3 attempts.']);
  assert.equal(ended.state_detail, 'connect ECONNREFUSED 10.0.0.7');
  assert.deepEqual(await timeline(database, run.id), ['one error', 'one error', 'one error']);
  assert.equal(delays.length, 2);
  assert.ok((delays[0] ?? 0) <= 1_000 && (delays[1] ?? 0) > 900, `${delays}`);
});

test('a worker that continues after its run lease was taken over writes nothing, not even its commit', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  await createEffects(ownerUrl);
  const noting = scripted({ one: async (_, id) => done(noteEffect(id, 'one')) });
  const run = await start(database, noting);
  const stale = workerOf(database, [noting], {
    // Between its work and its record the stale worker sleeps for longer than its run lease; another one does all of
    // it.
    at: async (point) => {
      if (point !== 'acted') return;
      await passTime(database, run.id);
      assert.equal(await workerOf(database, [noting]).tick(), 1);
    },
  });
  await stale.tick();
  assert.deepEqual(await effectsOf(database, run.subject_id), ['one']);
  assert.deepEqual(await timeline(database, run.id), ['one error', 'one done']);
});

test('heartbeats extend a run lease for as long as the step runs', async (t) => {
  const { database } = await testDatabase(t);
  const gate = Promise.withResolvers<void>();
  const slow = scripted({ one: async () => gate.promise.then(() => done()) });
  const run = await start(database, slow);
  const holder = workerOf(database, [slow], { lease_ms: 300 });
  const working = holder.tick();
  const dueAt = async () => {
    const { rows } = await database.read(PLATFORM, (reader) =>
      reader.query<{ at: string }>('select lease_until as at from workflow_runs where id = $1', [run.id]),
    );
    return Date.parse(rows[0]?.at ?? '');
  };
  await until('the run is held', async () => (await readRun(database, run.id)).state === 'running');
  const first = await dueAt();
  await until('the lease was prolonged several times over', async () => (await dueAt()) > first + 900);
  assert.equal(await workerOf(database, [slow]).tick(), 0, 'no other worker got it');
  gate.resolve();
  await working;
  assert.deepEqual(await timeline(database, run.id), ['one done']);
});

test('a worker that cannot renew its run lease for the length of it aborts its step, and another worker does it once', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  await createEffects(ownerUrl);
  let [isAway, executions] = [false, 0];
  const failing: Database = {
    ...database,
    write: (actor, work) =>
      isAway ? Promise.reject(new AppError('unavailable', 'The database is away.')) : database.write(actor, work),
  };
  const aborted = Promise.withResolvers<string>();
  const slow = scripted({
    one: async ({ signal }, id) => {
      executions += 1;
      if (executions > 1) return done(noteEffect(id, 'one'));
      isAway = true;
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      aborted.resolve(String(signal.reason));
      isAway = false;
      return done(noteEffect(id, 'late'));
    },
  });
  const run = await start(database, slow);
  await workerOf(failing, [slow], { lease_ms: 300 }).tick();
  assert.match(await aborted.promise, /run lease renewal failed/);
  assert.deepEqual(await timeline(database, run.id), [], 'nothing is recorded without the lease');
  await passTime(database, run.id);
  assert.equal(await workerOf(database, [slow]).tick(), 1);
  assert.equal((await readRun(database, run.id)).state, 'done');
  assert.deepEqual(await effectsOf(database, run.subject_id), ['one']);
});

test('a step that takes too long is aborted and counted as an attempt, and its late result is dropped', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  await createEffects(ownerUrl);
  const gate = Promise.withResolvers<void>();
  let aborted = 0;
  const slow = scripted(
    {
      one: async ({ signal, run }, id) => {
        if (run.attempt > 1) return done();
        signal.addEventListener('abort', () => aborted++);
        await gate.promise;
        return done(noteEffect(id, 'late'));
      },
    },
    { stepTimeoutMs: 30 },
  );
  const run = await start(database, slow);
  await workerOf(database, [slow]).tick();
  assert.equal(aborted, 1);
  assert.match((await readRun(database, run.id)).state_reason ?? '', /took longer than 1 s/);
  gate.resolve();
  await passTime(database, run.id);
  await workerOf(database, [slow]).tick();
  assert.deepEqual(await timeline(database, run.id), ['one timeout', 'one done']);
  assert.deepEqual(await effectsOf(database, run.subject_id), []);
});

test('the deadline ends a waiting run, or sends it to its deadline step with time to clean up', async (t) => {
  const { database } = await testDatabase(t);
  const plain = scripted({ one: async () => wait(7_200_000, 'Waiting.') });
  const run = await start(database, plain);
  await workerOf(database, [plain]).tick();
  await passTime(database, run.id);
  assert.equal(await workerOf(database, [plain]).tick(), 1, 'the deadline wakes it before its timer');
  const ended = await readRun(database, run.id);
  assert.deepEqual([ended.state, ended.state_reason], ['stuck', 'The deadline passed at step one.']);

  const tidy = scripted(
    { one: async () => wait(7_200_000, 'Waiting.'), cleanUp: async () => done() },
    { name: 'tidy', onDeadline: 'cleanUp' },
  );
  const cleaned = await start(database, tidy);
  await workerOf(database, [tidy]).tick();
  await passTime(database, cleaned.id);
  await workerOf(database, [tidy]).tick();
  assert.deepEqual(await timeline(database, cleaned.id), ['one wait', 'one timeout', 'cleanUp done']);
  const after = await readRun(database, cleaned.id);
  assert.deepEqual([after.state, after.state_reason], ['done', 'Cleaned up after its deadline.']);
});

test('runs of two versions execute side by side, each with its own steps', async (t) => {
  const { database } = await testDatabase(t);
  const v1 = scripted({ one: async () => done() });
  const v2 = scripted({ one: async () => next('two'), two: async () => done() }, { version: 2 });
  const [old, young] = [await start(database, v1), await start(database, v2)];
  await workerOf(database, [v1, v2]).tick();
  assert.deepEqual(await timeline(database, old.id), ['one done']);
  assert.deepEqual(await timeline(database, young.id), ['one next', 'two done']);
});

test('a version unknown to a process is left to others, and after its deadline it shows as stuck', async (t) => {
  const { database } = await testDatabase(t);
  const v1 = scripted({ one: async () => done() });
  const v2 = scripted({ one: async () => done() }, { version: 2, deadlineMs: 1 });
  const run = await start(database, v1);
  const orphan = await start(database, v2);
  const elsewhere = workerOf(database, [scripted({}, { version: 3 })], { unknown_grace_ms: 0 });
  assert.equal(await elsewhere.tick(), 0);
  await until('the deadline of version 2 is over', async () => (await elsewhere.sweep()) === 1);
  const stuckRun = await readRun(database, orphan.id);
  const reason = 'The deadline passed, and no worker runs version 2 of scripted.';
  assert.deepEqual([stuckRun.state, stuckRun.state_reason], ['stuck', reason]);
  assert.deepEqual(await timeline(database, orphan.id), ['one stuck']);
  assert.equal((await readRun(database, run.id)).state, 'pending');
  await workerOf(database, [v1]).tick();
  assert.equal((await readRun(database, run.id)).state, 'done');
});

test('a process never touches runs of workflows that it has not registered, even long after their deadline', async (t) => {
  const { database } = await testDatabase(t);
  const foreign = scripted({ one: async () => done() }, { name: 'foreign', deadlineMs: 1 });
  const run = await start(database, foreign);
  const other = workerOf(database, [scripted({})], { unknown_grace_ms: 0 });
  await until(
    'its deadline is over',
    async () => Date.parse((await readRun(database, run.id)).deadline_at) < Date.now(),
  );
  assert.deepEqual([await other.tick(), await other.sweep()], [0, 0]);
  assert.equal((await readRun(database, run.id)).state, 'pending');
});

test('a commit whose reply is lost costs neither a lease nor an attempt: the run goes on where it is', async (t) => {
  const { database, ownerUrl, url } = await testDatabase(t);
  await createEffects(ownerUrl);
  const proxy = await startPgProxy(t, url);
  const through = createDatabase({ url: proxy.url, log: silentLog(), role: 'gpuaas_app' });
  t.after(() => through.end());
  const noting = scripted({
    one: async (_, id) => next('two', noteEffect(id, 'one')),
    two: async (_, id) => done(noteEffect(id, 'two')),
  });
  for (const marker of ['one', 'two']) {
    const subject = `lost-reply-${marker}`;
    const run = await start(database, noting, subject);
    let cut: Promise<void> | undefined;
    const worker = workerOf(through, [noting], {
      at: (point, { step }) => {
        if (point === 'acted' && step === marker) cut = proxy.cut(subject, 'after the commit succeeded');
      },
    });
    await worker.tick();
    await cut;
    const ended = await readRun(database, run.id);
    assert.deepEqual([ended.state, ended.workers_lost], ['done', 0], marker);
    assert.deepEqual(await timeline(database, run.id), ['one next', 'two done'], marker);
    assert.deepEqual(await effectsOf(database, subject), ['one', 'two'], marker);
  }
});

test('a commit that fails is an error of its step and leaves nothing behind', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  await createEffects(ownerUrl);
  let failing = true;
  const writing = scripted({
    one: async (_, id) =>
      done(async (tx, run) => {
        await noteEffect(id, 'one')(tx, run);
        if (failing) await tx.query('select 1 / 0');
      }),
  });
  const run = await start(database, writing);
  await workerOf(database, [writing]).tick();
  assert.deepEqual(
    [(await readRun(database, run.id)).state, await effectsOf(database, run.subject_id)],
    ['waiting', []],
  );
  failing = false;
  await passTime(database, run.id);
  await workerOf(database, [writing]).tick();
  assert.deepEqual(await effectsOf(database, run.subject_id), ['one']);
});

test('several workers share many runs and every effect happens once', async (t) => {
  const { database, ownerUrl } = await testDatabase(t, { poolMax: 12 });
  await createEffects(ownerUrl);
  const noting = scripted({
    one: async (_, id) => next('two', noteEffect(id, 'one')),
    two: async (_, id) => done(noteEffect(id, 'two')),
  });
  const runs = await Promise.all(Array.from({ length: 60 }, () => start(database, noting)));
  const workers = Array.from({ length: 4 }, () => workerOf(database, [noting], { concurrency: 3, poll_ms: 20 }));
  for (const worker of workers) worker.start();
  const open = () =>
    database.read(PLATFORM, (reader) => reader.query("select from workflow_runs where state <> 'done'"));
  await until('all runs are done', async () => (await open()).rowCount === 0);
  await Promise.all(workers.map((worker) => worker.stop()));
  for (const run of runs) assert.deepEqual(await effectsOf(database, run.subject_id), ['one', 'two']);
});

test('a stopping worker lets the step end and leaves the next one to others', async (t) => {
  const { database } = await testDatabase(t);
  const gate = Promise.withResolvers<void>();
  const slow = scripted({ one: async () => gate.promise.then(() => next('two')), two: async () => done() });
  const run = await start(database, slow);
  const worker = workerOf(database, [slow]);
  worker.start();
  await until('the run is held', async () => (await readRun(database, run.id)).state === 'running');
  const stopped = worker.stop();
  gate.resolve();
  await stopped;
  const left = await readRun(database, run.id);
  assert.deepEqual([left.state, left.step, left.lease_owner], ['pending', 'two', null]);
  await workerOf(database, [slow]).tick();
  assert.equal((await readRun(database, run.id)).state, 'done');
});

test('a worker that may not wait for its step aborts it and returns the run without an attempt', async (t) => {
  const { database } = await testDatabase(t);
  let aborted = 0;
  const endless = scripted({
    one: ({ signal }) => {
      signal.addEventListener('abort', () => aborted++);
      return new Promise(() => {});
    },
  });
  const run = await start(database, endless);
  const worker = workerOf(database, [endless]);
  worker.start();
  await until('the run is held', async () => (await readRun(database, run.id)).state === 'running');
  await worker.stop(1);
  const left = await readRun(database, run.id);
  assert.deepEqual([left.state, left.attempt, aborted], ['pending', 0, 1]);
});

test('a start in one process wakes the worker of another through the database', async (t) => {
  const { database } = await testDatabase(t, { poolMax: 8, wake: () => here.afterCommit() });
  const straight = scripted({ one: async () => done() });
  const log = silentLog();
  const here = createWaker({ database, hub: createEventHub(), log });
  const hub = createEventHub();
  const there = startListening({ database, hub, log, signal: new AbortController().signal });
  await there.ready;
  // With an hour between polls, only a notification can cause the run to be taken.
  const worker = workerOf(database, [straight], { hub, poll_ms: 3_600_000 });
  worker.start();
  try {
    const start = { workflow: straight, organization_id: null, project_id: null, correlation_id: 'cor-1' };
    for (const subject_id of ['sub_1', 'sub_2']) {
      const run = await database.write(PLATFORM, (tx) => startRun(tx, { ...start, subject_id }));
      await until('the run is done', async () => (await readRun(database, run.id)).state === 'done');
    }
  } finally {
    await worker.stop();
    await Promise.all([here.stop(), there.stop()]);
  }
});

test('claiming reads the head of its index, however many runs have ended or wait for later', async (t) => {
  const { database } = await testDatabase(t);
  const straight = scripted({ one: async () => done() });
  const fill = (state: string, n: number, more: string) =>
    database.write(PLATFORM, (tx) =>
      tx.query(
        `insert into workflow_runs (id, workflow, workflow_version, subject_id, correlation_id, steps, step, state,
           deadline_ms, deadline_at, due_at, finished_at)
         select 'wfr_${state}' || n, 'scripted', 1, '${state}' || n, 'c', '{one}', 'one', '${state}', 1000,
           now() + interval '9 hours', ${more} from generate_series(1, ${n}) n`,
      ),
    );
  await fill('done', 20_000, 'now(), now()');
  await fill('waiting', 5_000, "now() + interval '1 hour', null");
  const run = await start(database, straight);
  const buffers = async (): Promise<number> => {
    const { rows } = await database.read(PLATFORM, (reader) =>
      reader.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
        `explain (analyze, buffers, format json) select id from workflow_runs r where r.workflow = 'scripted'
           and r.workflow_version = 1 and r.due_at <= now() and r.state in ('pending', 'running', 'waiting')
         order by r.due_at limit 10`,
      ),
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan ?? {};
    return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
  };
  assert.ok((await buffers()) <= 10, 'a claim reads a handful of pages');
  await workerOf(database, [straight]).tick();
  assert.equal((await readRun(database, run.id)).state, 'done');
});
