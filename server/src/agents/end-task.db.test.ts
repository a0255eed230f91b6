import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { mintId, systemClock } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { settle, takeQueued, truth } from '../../test/host.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { sealUserData } from '../../test/secrets.ts';
import { PLATFORM } from '../db/client.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import { REASONS } from '../domain/reasons.ts';
import { refreshSummary } from '../placement/summary.ts';
import { expireTasks } from '../reconcilers/expire-tasks.ts';
import { startRun } from '../workflows/engine/run.ts';
import { provisionBaremetal } from '../workflows/provision-baremetal.ts';
import { provisionSlice } from '../workflows/provision-slice.ts';
import { startRelease } from '../workflows/start-cleanup.ts';
import { finishTask } from './end-task.ts';
import { finish } from './task-result.ts';

const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t, { poolMax: 10 });
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const node = await aNode(sql);
  const made = await anAllocation(sql, { node });
  await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  await database.write(PLATFORM, (tx) =>
    startRun(tx, {
      workflow: provisionSlice,
      subject_id: made.id,
      organization_id: made.organization_id,
      project_id: made.project_id,
      correlation_id: mintId('cor'),
    }),
  );
  const take = () => takeQueued(database);
  const finish = async (task: NodeTaskRow, attempt = task.attempt): Promise<boolean> => {
    const result = { id: task.id, attempt, state: 'completed', reason: null, output: truth(task) } as const;
    return (await database.write(PLATFORM, (tx) => finishTask(tx, result, { now: new Date() }))).is_accepted;
  };
  const stateOf = async () =>
    (await sql.query<{ state: string }>('select state from allocations where id = $1', [made.id])).rows[0]?.state;
  /** Workers go on; no host does. */
  const work = () => settle(database, { host: async () => 0 });
  return { database, sql, made, take, finish, stateOf, work };
};

test('a task is taken by one, and its answer counts once and only for its attempt', async (t) => {
  const w = await world(t);
  await w.work();
  const taken = (await Promise.all([w.take(), w.take(), w.take()])).flat();
  assert.equal(taken.length, 1);
  const [task] = taken;
  assert.ok(task);
  assert.equal(await w.finish(task, 2), false, 'another attempt');
  const both = await Promise.all([w.finish(task), w.finish(task)]);
  assert.equal(both.filter(Boolean).length, 1);
});

test('a task that is not done in time expires: provisioning fails, and a late answer changes nothing', async (t) => {
  const w = await world(t);
  await w.work();
  const [task] = await w.take();
  assert.ok(task);
  await w.sql.query("update node_tasks set expires_at = now() - interval '1 second'");
  assert.equal(await w.finish(task), false, 'too late, though no loop has noticed yet');
  assert.equal(await expireTasks(w), 1);
  assert.equal(await w.finish(task), false);
  await w.work();
  assert.equal(await w.stateOf(), 'failed');
});

test('a task that does not open fails, and the others are sent', async (t) => {
  const w = await world(t);
  const other = await anAllocation(w.sql, { node: await aNode(w.sql) });
  await w.work();
  const { rows: queued } = await w.sql.query('select id from node_tasks');
  await w.database.write(PLATFORM, (tx) =>
    startRun(tx, {
      ...{ workflow: provisionSlice, subject_id: other.id, correlation_id: mintId('cor') },
      ...{ organization_id: other.organization_id, project_id: other.project_id },
    }),
  );
  await w.work();
  const broken = queued[0].id;
  await w.sql.query('update node_tasks set sealed_user_data = $2 where id = $1', [broken, Buffer.alloc(64, 1)]);
  assert.deepEqual(
    (await w.take()).map((task) => task.allocation_id),
    [other.id],
  );
  const { rows } = await w.sql.query(
    `select t.state, t.state_reason, t.finished_at is null as is_open, n.launch_failures
     from node_tasks t join nodes n on n.id = t.node_id where t.id = $1`,
    [broken],
  );
  const ended = { state: 'failed', state_reason: REASONS.task_unopened, is_open: false, launch_failures: 0 };
  assert.deepEqual(rows, [ended]);
});

test('what an earlier build left in the clear waits until it is sealed', async (t) => {
  const w = await world(t);
  await w.work();
  await w.sql.query('update node_tasks set sealed_user_data = $1', [
    Buffer.concat([Buffer.alloc(2), Buffer.from('#!')]),
  ]);
  assert.deepEqual(await w.take(), []);
  await w.sql.query('update node_tasks set sealed_user_data = $1', [sealUserData(w.made.id, '#!')]);
  assert.deepEqual(
    (await w.take()).map((task) => task.params['user_data']),
    ['#!'],
  );
});

/** What became of the slots, after the cleanup that follows. */
const slotsAfterCleanup = async (w: Awaited<ReturnType<typeof world>>) => {
  await settle(w.database);
  const { rows } = await w.sql.query<{ status: string; status_reason: string | null }>(
    `select s.status, s.status_reason from node_resource_slots s where s.id in (
       select slot_id from allocation_resource_claims where allocation_id = $1 and released_at is not null)`,
    [w.made.id],
  );
  assert.notEqual(rows.length, 0, 'the wipe is proven and the claims are released');
  return rows;
};

test('a task that a host started and did not report has an unknown effect: its slots are quarantined', async (t) => {
  const w = await world(t);
  await w.work();
  const [task] = await w.take();
  assert.ok(task);
  await w.sql.query("update node_tasks set expires_at = now() - interval '1 second'");
  await expireTasks(w);
  const { rows } = await w.sql.query('select state, state_reason from node_tasks where id = $1', [task.id]);
  assert.deepEqual(rows, [{ state: 'unknown', state_reason: REASONS.task_unknown }]);
  assert.equal(await w.finish(task), false, 'the late result frees nothing');
  await w.work();
  for (const slot of await slotsAfterCleanup(w))
    assert.deepEqual(slot, { status: 'quarantined', status_reason: `Reserve GPUs: ${REASONS.task_unknown}` });
});

test('the same on a whole node keeps its slots from the next tenant', async (t) => {
  const { database, sql } = await world(t);
  await sql.query("update workflow_runs set state = 'cancelled', finished_at = now() where finished_at is null");
  const node = await aNode(sql);
  const made = await anAllocation(sql, { node, shape: 'baremetal' });
  await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  await database.write(PLATFORM, (tx) =>
    startRun(tx, {
      workflow: provisionBaremetal,
      subject_id: made.id,
      organization_id: made.organization_id,
      project_id: made.project_id,
      correlation_id: mintId('cor'),
    }),
  );
  await settle(database, { host: async () => 0 });
  const [task] = await takeQueued(database);
  assert.equal(task?.kind, 'allocation.provision_user');
  await sql.query("update node_tasks set expires_at = now() - interval '1 second'");
  await expireTasks({ database });
  const { rows } = await sql.query('select distinct quarantine_reason from node_resource_slots where node_id = $1', [
    node.id,
  ]);
  assert.deepEqual(rows, [{ quarantine_reason: `Set up access: ${REASONS.task_unknown}` }]);
});

test('a task that no host started had no effect: it expired, and its slots are available after the cleanup', async (t) => {
  const w = await world(t);
  await w.work();
  await w.sql.query("update node_tasks set expires_at = now() - interval '1 second'");
  await expireTasks(w);
  const { rows } = await w.sql.query('select state from node_tasks');
  assert.deepEqual(rows, [{ state: 'expired' }]);
  await w.work();
  for (const { status } of await slotsAfterCleanup(w)) assert.equal(status, 'available');
});

test('a host that refuses a launch because of its devices has those slots quarantined, with its reason', async (t) => {
  const w = await world(t);
  await w.work();
  const [task] = await w.take();
  assert.ok(task);
  const reason = '/dev/vfio/7 is not there.';
  const at = new Date();
  const accepted = await finish(
    { database: w.database, clock: systemClock },
    { node_id: task.node_id, task_id: task.id },
    {
      ...{ attempt: task.attempt, state: 'failed', error_code: 'vfio_group_unavailable', reason, output: null },
      ...{ started_at: at.toISOString(), finished_at: at.toISOString() },
    },
  );
  assert.equal(accepted.is_accepted, true);
  await w.work();
  for (const slot of await slotsAfterCleanup(w))
    assert.deepEqual(slot, { status: 'quarantined', status_reason: `Reserve GPUs: ${reason}` });
});

test('a task that cannot be ended stays overdue and does not keep others from expiring', async (t) => {
  const w = await world(t);
  await w.work();
  const [task] = await w.take();
  assert.ok(task);
  const { rows: others } = await w.sql.query<{ id: string }>(
    `insert into node_tasks (id, node_id, kind, params, state, expires_at, correlation_id)
     select 'tsk_' || n, $1, 'diag.health_probe', '{}', 'queued', now() - n * interval '1 minute', 'cor_other'
     from generate_series(1, 2) n returning id`,
    [task.node_id],
  );
  await w.sql.query("update node_tasks set expires_at = now() - interval '90 seconds' where id = $1", [task.id]);
  // What ends this one throws: its run takes no signal.
  await w.sql.query(`create function refuse() returns trigger language plpgsql as $$ begin raise 'no signal'; end $$;
    create trigger refuse before insert on workflow_signals for each row execute function refuse()`);
  const states = async () =>
    new Map((await w.sql.query('select id, state from node_tasks')).rows.map(({ id, state }) => [id, state]));
  await assert.rejects(expireTasks(w), (err) => {
    assert.ok(err instanceof AggregateError);
    assert.equal(err.message, '1 of 3 could not be ended');
    assert.match(String(err.errors[0]), /no signal/);
    return true;
  });
  const after = await states();
  assert.deepEqual(
    others.map(({ id }) => after.get(id)),
    ['expired', 'expired'],
  );
  assert.equal(after.get(task.id), 'running', 'not without the signal to its run');
  await w.sql.query('drop trigger refuse on workflow_signals');
  assert.equal(await expireTasks(w), 1);
  assert.equal((await states()).get(task.id), 'unknown', 'a host had started it');
});

test('releases, answers and workers that meet end in one release and one wipe', async (t) => {
  const w = await world(t);
  const release = () =>
    w.database.write(PLATFORM, (tx) => startRelease(tx, { allocation_id: w.made.id, reason: 'test' }));
  await Promise.all([settle(w.database, { rounds: 12 }), release(), release(), release()]);
  await settle(w.database);
  assert.equal(await w.stateOf(), 'released');
  const { rows } = await w.sql.query(
    `select (select count(*)::int from workflow_runs where workflow = 'release-allocation') as runs,
       (select count(*)::int from node_tasks where kind = 'slice.cleanup') as wipes,
       (select count(*)::int from usage_records where ended_at is null) as open, (select max(gpu_used) from quotas) as used`,
  );
  assert.deepEqual(rows, [{ runs: 1, wipes: 1, open: 0, used: 0 }]);
});
