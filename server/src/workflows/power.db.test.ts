import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { settle, truth } from '../../test/host.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, anAllocation, type TestAllocation } from '../../test/placement.ts';
import { findAllocation } from '../db/allocation.ts';
import { PLATFORM } from '../db/client.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import { beginInstall } from '../db/power.ts';
import { putUserData } from '../db/user-data.ts';
import { type PowerChange, powerRefusal } from '../domain/power.ts';
import { conflict } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { beginPower } from './begin-power.ts';
import { beginRelease } from './begin-release.ts';
import { auditRun } from './custody.ts';
import { cancelRun, retryRun } from './engine/run.ts';

const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);

  const launch = async (): Promise<TestAllocation> => {
    const node = await aNode(sql);
    const made = await anAllocation(sql, { node, gpu_count: 2, state: 'active' });
    await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
    return made;
  };
  const change = (id: string, asked: PowerChange, given: { grace_s?: number; user_data?: string } = {}) =>
    database.write(PLATFORM, (tx) =>
      beginPower(tx, {
        allocation_id: id,
        change: asked,
        grace_s: given.grace_s ?? null,
        correlation_id: mintId('cor'),
        check: (row) => {
          const refusal = powerRefusal(row, asked);
          if (refusal !== null) throw conflict(refusal);
        },
        prepare: async ({ organization_id, project_id }) => {
          if (asked === 'reinstall') await beginInstall(tx, { id, image: null, ssh_key_ids: null });
          if (given.user_data !== undefined)
            await putUserData(tx, { allocation_id: id, organization_id, project_id, user_data: given.user_data });
        },
      }),
    );
  const release = (id: string) =>
    database.write(PLATFORM, async (tx) => {
      await beginRelease(tx, { allocation_id: id, reason: 'test' });
      const row = await findAllocation(tx, id);
      assert.ok(row);
      auditRun(tx, row, 'release', 'test');
    });
  const look = async (id: string) => {
    const row = await database.read(PLATFORM, (reader) => findAllocation(reader, id));
    assert.ok(row);
    return row;
  };
  const runs = async (id: string) =>
    (await sql.query('select workflow, state from workflow_runs where subject_id = $1 order by id', [id])).rows.map(
      (row) => `${row.workflow} ${row.state}`,
    );
  return { database, sql, launch, change, release, look, runs };
};

/** Fails these kinds and does the others. */
const failing =
  (...kinds: readonly string[]) =>
  (task: NodeTaskRow) =>
    kinds.includes(task.kind) ? null : truth(task);

test('a slice is stopped, started, rebooted and reinstalled, and keeps its claims, generations and running charge', async (t) => {
  const { database, sql, launch, change, look } = await world(t);
  const { id } = await launch();
  const held = () =>
    sql
      .query(
        `select c.id, c.slot_generation, u.id as usage, u.ended_at from allocation_resource_claims c
         join usage_records u on u.allocation_id = c.allocation_id where c.allocation_id = $1 and c.released_at is null order by c.id`,
        [id],
      )
      .then(({ rows }) => rows);
  const before = await held();
  const asked: NodeTaskRow[] = [];
  const settled = async (expected: readonly string[]) => {
    const kinds = await settle(database, {
      answer: (task) => {
        asked.push(task);
        return truth(task);
      },
    });
    assert.deepEqual(kinds, expected);
    const { power_state, power_reason, power_run_id, state } = await look(id);
    assert.deepEqual([power_reason, power_run_id, state], [null, null, 'active']);
    return power_state;
  };

  await change(id, 'stop', { grace_s: 120 });
  assert.equal((await look(id)).power_state, 'stopping');
  assert.equal(await settled(['slice.vm_stop']), 'off');
  await change(id, 'start');
  assert.equal(await settled(['slice.vm_start', 'slice.vm_readiness']), 'on');
  await change(id, 'reboot', { grace_s: 0 });
  assert.equal(await settled(['slice.vm_reboot', 'slice.vm_readiness']), 'on');
  await change(id, 'reinstall', { grace_s: 60, user_data: '#!/bin/sh\n' });
  assert.equal(await settled(['slice.vm_stop', 'slice.image_clone', 'slice.vm_start', 'slice.vm_readiness']), 'on');
  const given = (index: number, ...names: readonly string[]) => names.map((name) => asked[index]?.params[name]);
  assert.deepEqual(given(0, 'grace_s', 'will_start_again'), [120, true]);
  assert.deepEqual(given(1, 'install', 'user_data'), [0, null]);
  assert.deepEqual(given(3, 'is_hard'), [true]);
  assert.deepEqual(given(6, 'install'), [1]);
  assert.deepEqual(given(7, 'install', 'user_data'), [1, '#!/bin/sh\n']);
  assert.deepEqual(await held(), before);
  assert.ok(before.every((row) => row.ended_at === null));
  await assertInvariants(database);
});

test('what a host cannot do ends in a state that is known, or in unknown, with a reason and nothing released', async (t) => {
  const { database, launch, change, look, runs } = await world(t);
  for (const { asked, kind, power, words } of [
    { asked: 'stop', kind: 'slice.vm_stop', power: 'unknown', words: /could not be stopped/ },
    { asked: 'start', kind: 'slice.vm_start', power: 'off', words: /could not be started.*still yours/ },
    { asked: 'start', kind: 'slice.vm_readiness', power: 'unknown', words: /did not become ready.*left as it is/ },
    { asked: 'reboot', kind: 'slice.vm_reboot', power: 'unknown', words: /could not be rebooted/ },
    { asked: 'reinstall', kind: 'slice.vm_stop', power: 'unknown', words: /Nothing was erased/ },
    { asked: 'reinstall', kind: 'slice.image_clone', power: 'off', words: /reinstall it again/ },
    { asked: 'reinstall', kind: 'slice.vm_start', power: 'off', words: /could not be started/ },
  ] as const) {
    const { id } = await launch();
    await change(id, asked);
    await settle(database, { answer: failing(kind) });
    const row = await look(id);
    assert.deepEqual([row.state, row.power_state, row.power_run_id], ['active', power, null], `${asked} ${kind}`);
    assert.match(row.power_reason ?? '', words);
    assert.deepEqual(await runs(id), [`${asked}-slice stuck`]);
    // Whatever it was, the tenant gets out of it alone.
    await change(id, asked === 'reinstall' ? 'reinstall' : 'start');
    await settle(database);
    assert.deepEqual([(await look(id)).power_state, (await look(id)).power_reason], ['on', null]);
  }
  await assertInvariants(database);
});

test('a host that does not answer leaves nothing known, and what it had not begun is not begun later', async (t) => {
  const { database, sql, launch, change, look } = await world(t);
  const { id } = await launch();
  await change(id, 'start');
  await settle(database, { host: async () => 0, rounds: 3 });
  await sql.query(
    "update node_tasks set state = 'expired', finished_at = clock_timestamp(), state_reason = 'late' where allocation_id = $1",
    [id],
  );
  await settle(database, { host: async () => 0 });
  assert.deepEqual(
    [(await look(id)).power_state, /did not answer/.test((await look(id)).power_reason ?? '')],
    ['unknown', true],
  );
  await change(id, 'stop');
  await settle(database, { host: async () => 0, rounds: 3 });
  const { power_run_id } = await look(id);
  await database.write(PLATFORM, (tx) => cancelRun(tx, { run_id: power_run_id ?? '' }));
  await settle(database, { host: async () => 0 });
  assert.deepEqual((await look(id)).power_state, 'unknown');
  const { rows } = await sql.query("select state from node_tasks where allocation_id = $1 and kind = 'slice.vm_stop'", [
    id,
  ]);
  assert.deepEqual(rows, [{ state: 'cancelled' }]);
  await assertInvariants(database);
});

test('a release wins at every moment of every change, and the change ends without a trace on the way', async (t) => {
  const { database, launch, change, release, look, runs } = await world(t);
  for (const asked of ['stop', 'start', 'reboot', 'reinstall'] as const)
    for (let rounds = 0; rounds <= (asked === 'reinstall' ? 6 : 3); rounds++) {
      const { id } = await launch();
      await change(id, asked);
      if (rounds > 0) await settle(database, { rounds });
      const was = (await look(id)).power_state;
      await release(id);
      const released = await look(id);
      assert.deepEqual([released.power_state, released.power_run_id, released.power_reason], [null, null, null]);
      await settle(database);
      const ended = await look(id);
      assert.equal(ended.state, 'released', `${asked} after ${rounds} rounds, ${was}`);
      const [power, cleanup] = await runs(id);
      assert.match(power ?? '', new RegExp(`^${asked}-slice (cancelled|done)$`));
      assert.equal(cleanup, 'release-allocation done');
    }
  await assertInvariants(database);
});

test('a release waits for the task that a host has begun for a change, and only then stops and erases', async (t) => {
  const { database, sql, launch, change, release, look } = await world(t);
  const { id } = await launch();
  await change(id, 'reinstall');
  await settle(database, { rounds: 1 });
  await settle(database, { host: async () => 0, rounds: 3 });
  const clone = () =>
    sql.query(
      "update node_tasks set state = 'running' where allocation_id = $1 and kind = 'slice.image_clone' returning id",
      [id],
    );
  assert.equal((await clone()).rowCount, 1);
  await release(id);
  await settle(database, { host: async () => 0, rounds: 10 });
  const asked = async () =>
    (await sql.query('select kind from node_tasks where allocation_id = $1 order by id', [id])).rows.map(
      (row) => row.kind,
    );
  assert.deepEqual(await asked(), ['slice.vm_stop', 'slice.image_clone']);
  await sql.query(
    "update node_tasks set state = 'completed', output = '{}', finished_at = clock_timestamp() where allocation_id = $1 and kind = 'slice.image_clone'",
    [id],
  );
  await settle(database);
  assert.deepEqual((await asked()).slice(2), ['slice.vm_stop', 'slice.cleanup']);
  assert.equal((await look(id)).state, 'released');
  await assertInvariants(database);
});

test('of changes asked for at once one is made and the others are refused', async (t) => {
  const { database, launch, change, look, runs } = await world(t);
  const { id } = await launch();
  const asked = await Promise.allSettled(
    (['stop', 'reboot', 'reinstall', 'stop'] as const).map((one) => change(id, one)),
  );
  assert.equal(asked.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const refused of asked)
    if (refused.status === 'rejected') assert.match(String(refused.reason), /wait until that is over/);
  assert.equal((await runs(id)).length, 1);
  await settle(database);
  assert.equal((await look(id)).power_run_id, null);
  await assertInvariants(database);
});

test('a failed change that an operator takes up again after another was made changes nothing', async (t) => {
  const { database, launch, change, look, sql } = await world(t);
  const { id } = await launch();
  await change(id, 'stop');
  await settle(database, { answer: failing('slice.vm_stop') });
  await change(id, 'start');
  await settle(database);
  const { rows } = await sql.query("select id from workflow_runs where subject_id = $1 and workflow = 'stop-slice'", [
    id,
  ]);
  await database.write(PLATFORM, (tx) => retryRun(tx, { run_id: rows[0]?.id }));
  assert.deepEqual(await settle(database), []);
  assert.equal((await look(id)).power_state, 'on');
  await assertInvariants(database);
});

test('the schema keeps power to active slices, and a change of it to a run', async (t) => {
  const { sql, launch } = await world(t);
  const { id } = await launch();
  const set = (text: string) => sql.query(`update allocations set ${text} where id = $1`, [id]);
  await assert.rejects(set('power_state = null, power_since = null'), /power_while_active/);
  await assert.rejects(set("power_state = 'stopping'"), /power_changes_by_a_run/);
  await assert.rejects(set("power_run_id = 'wfr_x'"), /power_changes_by_a_run/);
  await assert.rejects(set("power_state = 'unknown'"), /power_unknown_says_why/);
  await assert.rejects(set("power_state = 'asleep'"), /power_state_check/);
  await assert.rejects(set('power_grace_s = 1'), /power_grace_is_of_a_change/);
  await set("state = 'releasing', release_requested_at = now()");
  assert.deepEqual((await sql.query('select power_state, power_since from allocations where id = $1', [id])).rows, [
    { power_state: null, power_since: null },
  ]);
  await assert.rejects(set("power_state = 'on', power_since = now()"), /power_while_active/);
});

test('a whole node has no power of ours', async (t) => {
  const { sql, look } = await world(t);
  const node = await aNode(sql);
  const { id } = await anAllocation(sql, { node, shape: 'baremetal', state: 'active' });
  assert.equal((await look(id)).power_state, null);
});
