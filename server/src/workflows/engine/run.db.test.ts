import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { testDatabase } from '../../../test/database.ts';
import { readRun, scripted, start, timeline, workerOf } from '../../../test/scripted-workflow.ts';
import { passTime } from '../../../test/workflow-faults.ts';
import { PLATFORM } from '../../db/client.ts';
import { countRunsByState, findRun } from '../../db/workflow-run-view.ts';
import { done, next, stuck, wait, waitForSignal } from './outcome.ts';
import { cancelRun, retryRun, signalRun, startRun } from './run.ts';

const straight = scripted({ one: async () => next('two'), two: async () => done() });
const inTx = { organization_id: null, project_id: null, correlation_id: 'cor-1' } as const;

test('a run starts in the transaction that needs it: a rollback leaves none', async (t) => {
  const { database } = await testDatabase(t);
  const id = mintId('sub');
  const failing = database.write(PLATFORM, async (tx) => {
    await startRun(tx, { workflow: straight, subject_id: id, ...inTx });
    throw new Error('the change fails');
  });
  await assert.rejects(failing, /the change fails/);
  const { rows } = await database.read(PLATFORM, (reader) => reader.query('select from workflow_runs'));
  assert.equal(rows.length, 0);
});

test('starting a run for a subject with a live one returns the live one, also when simultaneous', async (t) => {
  const { database } = await testDatabase(t);
  const id = mintId('sub');
  const runs = await Promise.all(Array.from({ length: 5 }, () => start(database, straight, id)));
  assert.equal(new Set(runs.map((run) => run.id)).size, 1);
  await workerOf(database, [straight]).tick();
  assert.equal((await readRun(database, runs[0]?.id ?? '')).state, 'done');
  assert.notEqual((await start(database, straight, id)).id, runs[0]?.id, 'an ended run makes room for a new one');
});

test('every transition leaves a timeline line and an event, in the same order', async (t) => {
  const { database } = await testDatabase(t);
  const run = await start(database, straight);
  await workerOf(database, [straight]).tick();
  assert.deepEqual(await timeline(database, run.id), ['one next', 'two done']);
  const { rows } = await database.read(PLATFORM, (reader) =>
    reader.query<{ data: { step: string; state: string }; correlation_id: string }>(
      "select data, correlation_id from outbox_events where subject = $1 and event_type = 'workflow_run.changed' order by xid, id",
      [run.id],
    ),
  );
  assert.deepEqual(
    rows.map(({ data }) => `${data.step} ${data.state}`),
    ['one pending', 'two running', 'two done'],
  );
  assert.ok(rows.every((row) => row.correlation_id === run.correlation_id));
});

test('a timer is durable and a repeated wait is one line of the timeline', async (t) => {
  const { database } = await testDatabase(t);
  let polls = 0;
  const polling = scripted({ one: async () => (++polls < 4 ? wait(60_000, 'The host is booting.') : done()) });
  const run = await start(database, polling);
  await workerOf(database, [polling]).tick();
  const waiting = await readRun(database, run.id);
  assert.deepEqual([waiting.state, waiting.state_reason, waiting.attempt], ['waiting', 'The host is booting.', 0]);
  assert.ok(Date.parse(waiting.wake_at ?? '') - Date.now() > 50_000);
  assert.equal(await workerOf(database, [polling]).tick(), 0, 'it is not due yet');
  for (let round = 0; round < 3; round++) {
    await passTime(database, run.id);
    await workerOf(database, [polling]).tick();
  }
  assert.equal(polls, 4);
  assert.deepEqual(await timeline(database, run.id), ['one wait', 'one done']);
});

const approval = scripted({
  one: async ({ signals }) => {
    const approved = signals.take('approved');
    if (approved !== undefined) return approved['by'] === 'ada' ? done() : stuck('The wrong person approved.');
    return signals.timedOut('approved') ? stuck('No approval came.') : waitForSignal('approved', 60_000, 'Waiting.');
  },
});

test('a signal wakes the run that waits for it, and only for its name', async (t) => {
  const { database } = await testDatabase(t);
  const run = await start(database, approval);
  const worker = workerOf(database, [approval]);
  await worker.tick();
  await database.write(PLATFORM, (tx) => signalRun(tx, { run_id: run.id, name: 'other' }));
  assert.equal(await worker.tick(), 0, 'another name does not wake it');
  await database.write(PLATFORM, (tx) => signalRun(tx, { run_id: run.id, name: 'approved', payload: { by: 'ada' } }));
  assert.equal(await worker.tick(), 1);
  assert.equal((await readRun(database, run.id)).state, 'done');
  const late = await database.write(PLATFORM, (tx) => signalRun(tx, { run_id: run.id, name: 'approved' }));
  assert.equal(late, false, 'an ended run hears nothing');
});

test('a signal sent before the wait, or while the step ran, is not lost', async (t) => {
  const { database } = await testDatabase(t);
  const early = await start(database, approval);
  await database.write(PLATFORM, (tx) => signalRun(tx, { run_id: early.id, name: 'approved', payload: { by: 'ada' } }));
  await workerOf(database, [approval]).tick();
  assert.equal((await readRun(database, early.id)).state, 'done');

  const during = await start(database, approval);
  const meanwhile = workerOf(database, [approval], {
    at: async (point) => {
      if (point === 'acted')
        await database.write(PLATFORM, (tx) =>
          signalRun(tx, { run_id: during.id, name: 'approved', payload: { by: 'ada' } }),
        );
    },
  });
  await meanwhile.tick();
  assert.equal(await workerOf(database, [approval]).tick(), 1, 'it is due at once');
  assert.equal((await readRun(database, during.id)).state, 'done');
});

test('a signal is used up only when the outcome of the step that took it is recorded', async (t) => {
  const { database } = await testDatabase(t);
  let calls = 0;
  const forgetful = scripted({
    one: async ({ signals }) => {
      const payload = signals.take('approved');
      if (++calls === 1) throw new Error('after taking it');
      return payload === undefined ? stuck('The signal is gone.') : done();
    },
  });
  const run = await start(database, forgetful);
  await database.write(PLATFORM, (tx) => signalRun(tx, { run_id: run.id, name: 'approved' }));
  await workerOf(database, [forgetful]).tick();
  await passTime(database, run.id);
  await workerOf(database, [forgetful]).tick();
  assert.equal((await readRun(database, run.id)).state, 'done');
});

test('a signal that never comes notifies the step, with the step’s own reason', async (t) => {
  const { database } = await testDatabase(t);
  const run = await start(database, approval);
  await workerOf(database, [approval]).tick();
  await passTime(database, run.id);
  await workerOf(database, [approval]).tick();
  const ended = await readRun(database, run.id);
  assert.deepEqual([ended.state, ended.state_reason], ['stuck', 'No approval came.']);
});

test('cancellation wakes a waiting run, and canceling twice has the effect of once', async (t) => {
  const { database } = await testDatabase(t);
  const run = await start(database, approval);
  const worker = workerOf(database, [approval]);
  await worker.tick();
  const cancel = (reason: string) => database.write(PLATFORM, (tx) => cancelRun(tx, { run_id: run.id, reason }));
  await cancel('Not needed any more.');
  await cancel('Again.');
  assert.equal(await worker.tick(), 1);
  const ended = await readRun(database, run.id);
  assert.deepEqual([ended.state, ended.state_reason], ['cancelled', 'Not needed any more.']);
  assert.deepEqual(await timeline(database, run.id), ['one wait', 'one cancelled']);
  await assert.rejects(cancel('Late.'), { code: 'conflict' });
  const missing = database.write(PLATFORM, (tx) => cancelRun(tx, { run_id: mintId('wfr') }));
  await assert.rejects(missing, { code: 'not_found' });
});

test('a cancelled run that names a cleanup step runs it, retries it, and ends cancelled', async (t) => {
  const { database } = await testDatabase(t);
  let tries = 0;
  const tidy = scripted(
    {
      one: async () => wait(60_000, 'Waiting.'),
      cleanUp: async () => (++tries === 1 ? Promise.reject(new Error('busy')) : done()),
    },
    { onCancel: 'cleanUp' },
  );
  const run = await start(database, tidy);
  await workerOf(database, [tidy]).tick();
  await database.write(PLATFORM, (tx) => cancelRun(tx, { run_id: run.id }));
  await workerOf(database, [tidy]).tick();
  await passTime(database, run.id);
  await workerOf(database, [tidy]).tick();
  assert.equal((await readRun(database, run.id)).state, 'cancelled');
  assert.deepEqual(await timeline(database, run.id), ['one wait', 'one cancelled', 'cleanUp error', 'cleanUp done']);
});

test('a stuck run is retried at its step or from a named step, with a new deadline; no other run is', async (t) => {
  const { database } = await testDatabase(t);
  let broken = true;
  const fragile = scripted({
    one: async () => next('two'),
    two: async () => (broken ? stuck('The disk is missing.') : done()),
  });
  const run = await start(database, fragile);
  const retry = (step?: string) => database.write(PLATFORM, (tx) => retryRun(tx, { run_id: run.id, step }));
  await assert.rejects(retry(), { code: 'conflict', message: /this one is pending/ });
  await workerOf(database, [fragile]).tick();
  await assert.rejects(retry('three'), { code: 'conflict', message: /no step three; its steps are one, two, cleanUp/ });
  assert.equal((await retry('one')).step, 'one');
  await workerOf(database, [fragile]).tick();
  broken = false;
  const again = await retry();
  assert.deepEqual([again.state, again.step, again.state_reason, again.finished_at], ['pending', 'two', null, null]);
  await workerOf(database, [fragile]).tick();
  assert.equal((await readRun(database, run.id)).state, 'done');
  const lines = ['one next', 'two stuck', 'one retried', 'one next', 'two stuck', 'two retried', 'two done'];
  assert.deepEqual(await timeline(database, run.id), lines);
});

test('a stuck run replaced by a later one blocks nothing and is not retried', async (t) => {
  const { database } = await testDatabase(t);
  const dead = scripted({ one: async () => stuck('No.') });
  const id = mintId('sub');
  const run = await start(database, dead, id);
  await workerOf(database, [dead]).tick();
  const later = await start(database, dead, id);
  const replaced = await readRun(database, run.id);
  assert.deepEqual([replaced.state, replaced.state_reason], ['cancelled', 'No. A later run replaced it.']);
  const retry = database.write(PLATFORM, (tx) => retryRun(tx, { run_id: run.id }));
  await assert.rejects(retry, { code: 'conflict', message: /this one is cancelled/ });
  await workerOf(database, [dead]).tick();
  assert.equal(
    (await readRun(database, later.id)).state,
    'stuck',
    'a run that is stuck now stays so until an operator acts',
  );
});

test('a tenant sees and starts runs of its own organization only', async (t) => {
  const { database } = await testDatabase(t);
  const [mine, theirs] = [mintId('org'), mintId('org')];
  await database.write(PLATFORM, async (tx) => {
    for (const id of [mine, theirs])
      await tx.query(
        `with made as (insert into organizations (id, name, display_name, kind) values ($1, $2, 'x', 'enterprise') returning id)
         insert into quotas (organization_id) select id from made`,
        [id, id.replace('_', '-')],
      );
  });
  const scope = { tenant_id: mine, principal_id: 'usr_x' };
  const startAs = (organization_id: string | null) =>
    database.write(scope, (tx) =>
      startRun(tx, { ...inTx, workflow: straight, subject_id: mintId('sub'), organization_id }),
    );
  const own = await startAs(mine);
  await assert.rejects(startAs(theirs), /row-level security/);
  await assert.rejects(startAs(null), /row-level security/);
  await workerOf(database, [straight]).tick();
  assert.equal((await database.read(scope, (reader) => findRun(reader, own.id)))?.state, 'done');
  const other = { tenant_id: theirs, principal_id: 'usr_y' };
  const seen = await database.read(other, async (reader) => [
    await findRun(reader, own.id),
    (await reader.query('select from workflow_steps')).rowCount,
    (await reader.query('select from workflow_signals')).rowCount,
  ]);
  assert.deepEqual(seen, [undefined, 0, 0]);
});

test('runs are counted by state with the age of the oldest, without ended ones', async (t) => {
  const { database } = await testDatabase(t);
  const mixed = scripted({ one: async (_, id) => (id.endsWith('x') ? stuck('No.') : wait(60_000, 'Waiting.')) });
  for (const id of ['sub_ax', 'sub_b', 'sub_c']) await start(database, mixed, id);
  await workerOf(database, [mixed]).tick();
  await start(database, mixed, 'sub_d');
  const done = await start(database, straight, 'sub_e').catch(() => undefined);
  assert.ok(done);
  const counts = await database.read(PLATFORM, countRunsByState);
  assert.deepEqual(
    counts.map(({ state, count }) => `${state} ${count}`),
    ['pending 2', 'stuck 1', 'waiting 2'],
  );
  assert.ok(counts.every((row) => row.oldest_age_s >= 0));
});
