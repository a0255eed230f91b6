import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { settle, truth } from '../../test/host.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, anAllocation, type TestAllocation } from '../../test/placement.ts';
import { openUserData, sealUserData } from '../../test/secrets.ts';
import { finishTask } from '../agents/end-task.ts';
import { findAllocation } from '../db/allocation.ts';
import { PLATFORM } from '../db/client.ts';
import { findSshFacts } from '../db/guest.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import { findUserData } from '../db/user-data.ts';
import { type PowerChange, powerRefusal } from '../domain/power.ts';
import { conflict } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { auditRun } from './allocation-transitions.ts';
import { cancelRun, retryRun } from './engine/run.ts';
import { requestInstall } from './install.ts';
import { startRelease } from './start-cleanup.ts';
import { startPowerChange } from './start-power-change.ts';

const IMAGE = { name: 'another', digest: `sha256:${'a'.repeat(64)}` };
type Given = { grace_s?: number; user_data?: string | null; image?: { name: string; digest: string } };

const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  await sql.query(
    "insert into os_images (name, display_name, os_family, os_version) values ($1, 'Another', 'linux', '1')",
    [IMAGE.name],
  );
  await sql.query(
    `insert into os_image_versions (image_name, digest, format, size_bytes, driver_strategy, readiness_checks, source, digest_authority)
     values ($1, $2, 'raw', 1, 'none', '{gpu}', 'x', 'x')`,
    [IMAGE.name, IMAGE.digest],
  );

  const launch = async (): Promise<TestAllocation> => {
    const node = await aNode(sql);
    const made = await anAllocation(sql, { node, gpu_count: 2, state: 'active' });
    await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
    return made;
  };
  const change = (id: string, asked: PowerChange, given: Given = {}) =>
    database.write(PLATFORM, (tx) =>
      startPowerChange(tx, {
        allocation_id: id,
        change: asked,
        grace_s: given.grace_s ?? null,
        correlation_id: mintId('cor'),
        check: (row) => {
          const refusal = powerRefusal(row, asked);
          if (refusal !== null) throw conflict(refusal);
        },
        prepare: async (row, run_id) => {
          const { image, user_data } = given;
          if (asked === 'reinstall')
            await requestInstall(tx, row, {
              run_id,
              ...(image === undefined ? {} : { image }),
              ...(user_data === undefined
                ? {}
                : { sealed_user_data: user_data === null ? null : sealUserData(id, user_data) }),
            });
        },
      }),
    );
  const release = (id: string) =>
    database.write(PLATFORM, async (tx) => {
      await startRelease(tx, { allocation_id: id, reason: 'test' });
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

/** Fails these kinds and completes the others. */
const failing =
  (...kinds: readonly string[]) =>
  (task: NodeTaskRow) =>
    kinds.includes(task.kind) ? null : truth(task);

test('a slice is stopped, started, rebooted and reinstalled, and keeps its claims and running charge', async (t) => {
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

test('a change that a host cannot make ends in a known state or in unknown, and releases nothing', async (t) => {
  const { database, launch, change, look, runs } = await world(t);
  for (const { asked, kind, power, words } of [
    { asked: 'stop', kind: 'slice.vm_stop', power: 'unknown', words: /could not be stopped/ },
    { asked: 'start', kind: 'slice.vm_start', power: 'off', words: /could not be started.*Start it again/ },
    {
      asked: 'start',
      kind: 'slice.vm_readiness',
      power: 'unknown',
      words: /did not become ready.*reboot it, or stop it/,
    },
    { asked: 'reboot', kind: 'slice.vm_reboot', power: 'unknown', words: /could not be rebooted/ },
    { asked: 'reinstall', kind: 'slice.vm_stop', power: 'unknown', words: /Nothing was wiped/ },
    { asked: 'reinstall', kind: 'slice.image_clone', power: 'off', words: /Reinstall it again/ },
    { asked: 'reinstall', kind: 'slice.vm_start', power: 'off', words: /could not be started/ },
  ] as const) {
    const { id } = await launch();
    await change(id, asked);
    await settle(database, { answer: failing(kind) });
    const row = await look(id);
    assert.deepEqual([row.state, row.power_state, row.power_run_id], ['active', power, null], `${asked} ${kind}`);
    assert.match(row.power_reason ?? '', words);
    assert.deepEqual(await runs(id), [`${asked}-slice stuck`]);
    // In every case the tenant can recover without an operator.
    await change(id, asked === 'reinstall' ? 'reinstall' : 'start');
    await settle(database);
    assert.deepEqual([(await look(id)).power_state, (await look(id)).power_reason], ['on', null]);
  }
  await assertInvariants(database);
});

/** The install that a start would boot, and whether another one is requested. */
const made = async ({ database, sql, look }: Awaited<ReturnType<typeof world>>, id: string) => {
  const { install_number, image_name, image_digest, ssh_key_ids } = await look(id);
  const user_data = openUserData(id, await database.read(PLATFORM, (reader) => findUserData(reader, id)));
  const { rows } = await sql.query('select from allocation_installs where allocation_id = $1', [id]);
  return { install_number, image_name, image_digest, ssh_key_ids, user_data, wanted: rows.length };
};
const NEW = { user_data: '#!/bin/sh\nmkfs.ext4 /dev/vdb\n', image: IMAGE };

test('a refused or failed reinstallation leaves the installed system, and a later start boots it', async (t) => {
  const here = await world(t);
  const { database, launch, change, look } = here;
  for (const { kind, output, power, words } of [
    { kind: 'slice.vm_stop', output: null, power: 'unknown', words: /Nothing was wiped/ },
    { kind: 'slice.image_clone', output: null, power: 'off', words: /may not boot/ },
    {
      kind: 'slice.image_clone',
      output: { is_disk_written: false },
      power: 'off',
      words: /nothing was wiped\. Start it/,
    },
    {
      kind: 'slice.image_clone',
      output: { is_disk_written: false, is_user_data_refused: true },
      power: 'off',
      words: /user data was refused.*nothing was wiped/,
    },
    {
      kind: 'slice.image_clone',
      output: { is_disk_written: true },
      power: 'off',
      words: /holds no system\. Reinstall/,
    },
  ] as const) {
    const { id } = await launch();
    await change(id, 'reinstall', { user_data: '#!/bin/sh\necho old\n' });
    await settle(database);
    const before = await made(here, id);
    assert.deepEqual([before.install_number, before.user_data, before.wanted], [1, '#!/bin/sh\necho old\n', 0]);

    const tasks: NodeTaskRow[] = [];
    const seen = (task: NodeTaskRow) => {
      tasks.push(task);
      return truth(task);
    };
    await change(id, 'reinstall', NEW);
    assert.deepEqual(await made(here, id), { ...before, wanted: 1 }, 'asked for is not made');
    await settle(database, { answer: (task) => (task.kind === kind ? null : seen(task)), refusal: output });
    const row = await look(id);
    assert.equal(row.power_state, power);
    assert.match(row.power_reason ?? '', words);
    assert.deepEqual(await made(here, id), before);

    tasks.length = 0;
    await change(id, 'start');
    await settle(database, { answer: seen });
    const [start] = tasks;
    assert.deepEqual(
      [start?.kind, start?.params['install'], start?.params['user_data']],
      ['slice.vm_start', 1, '#!/bin/sh\necho old\n'],
    );
    assert.deepEqual(await made(here, id), before);
  }
  await assertInvariants(database);
});

test('a host gets the wanted install, and the install it wrote is recorded even after the run timed out', async (t) => {
  const here = await world(t);
  const { database, sql, launch, change, look } = here;
  for (const isLate of [false, true]) {
    const { id } = await launch();
    const { ssh_key_ids } = await look(id);
    await change(id, 'reinstall', NEW);
    await settle(database, { rounds: 1 });
    await settle(database, { host: async () => 0, rounds: 3 });
    const { rows } = await sql.query(
      "update node_tasks set state = 'running' where allocation_id = $1 and kind = 'slice.image_clone' returning id, attempt, params, sealed_user_data",
      [id],
    );
    const { install, image } = rows[0]?.params ?? {};
    const user_data = openUserData(id, rows[0]?.sealed_user_data ?? null);
    assert.deepEqual([install, user_data, image], [1, NEW.user_data, IMAGE]);
    if (isLate) {
      await database.write(PLATFORM, async (tx) => cancelRun(tx, { run_id: (await look(id)).power_run_id ?? '' }));
      await settle(database, { host: async () => 0, rounds: 3 });
      assert.equal((await look(id)).power_state, 'unknown');
      assert.match((await look(id)).power_reason ?? '', /may not boot. Reinstall the VM/);
    }
    assert.deepEqual([(await made(here, id)).install_number, (await made(here, id)).wanted], [0, 1]);
    const answer = {
      id: rows[0]?.id,
      attempt: rows[0]?.attempt,
      state: 'completed',
      reason: null,
      output: {},
    } as const;
    const ended = await database.write(PLATFORM, (tx) => finishTask(tx, answer, { now: new Date() }));
    assert.equal(ended.is_accepted, true);
    const now = { install_number: 1, image_name: IMAGE.name, image_digest: IMAGE.digest, ssh_key_ids, wanted: 0 };
    assert.deepEqual(await made(here, id), { ...now, user_data: NEW.user_data });
    const kept = await sql.query('select from node_tasks where id = $1 and sealed_user_data is not null', [
      rows[0]?.id,
    ]);
    assert.equal(kept.rowCount, 0, 'what was judged is not kept');
    await settle(database);
  }
  await assertInvariants(database);
});

test('the wanted install is deleted with the release, also from tasks that no host has started', async (t) => {
  const here = await world(t);
  const { database, sql } = here;
  const { id } = await here.launch();
  await here.change(id, 'reinstall', NEW);
  await settle(database, { rounds: 1 });
  await settle(database, { host: async () => 0, rounds: 3 });
  const carrying = () =>
    sql.query('select from node_tasks where allocation_id = $1 and sealed_user_data is not null', [id]);
  assert.equal((await carrying()).rowCount, 1);
  await here.release(id);
  assert.equal((await made(here, id)).wanted, 0);
  await settle(database);
  assert.equal((await carrying()).rowCount, 0);
});

test('a reinstallation whose host disconnected needs another one; a start or stop does not resolve it', async (t) => {
  const { database, sql, launch, change, look } = await world(t);
  const { id } = await launch();
  await change(id, 'reinstall', NEW);
  await settle(database, { rounds: 1 });
  await settle(database, { host: async () => 0, rounds: 3 });
  await sql.query(
    `update node_tasks set state = 'unknown', finished_at = clock_timestamp(), state_reason = 'late'
     where allocation_id = $1 and kind = 'slice.image_clone'`,
    [id],
  );
  await settle(database, { host: async () => 0 });
  const { power_state, power_reason } = await look(id);
  assert.equal(power_state, 'unknown');
  assert.match(power_reason ?? '', /may not boot. Reinstall the VM/);
  assert.doesNotMatch(power_reason ?? '', /Start or stop/);
});

test('a host key is shown only for the system that is on the disk now', async (t) => {
  const { database, launch, change } = await world(t);
  const { id } = await launch();
  const ready = (ssh_host_key: string) => (task: NodeTaskRow) =>
    task.kind === 'slice.vm_readiness' ? { ...truth(task), actual_ip: '10.0.0.2', ssh_host_key } : truth(task);
  const key = async () => (await database.read(PLATFORM, (reader) => findSshFacts(reader, id)))?.host_key;
  await change(id, 'reboot');
  await settle(database, { answer: ready('first') });
  assert.equal(await key(), 'first');
  await change(id, 'reinstall');
  await settle(database, { answer: failing('slice.vm_stop') });
  assert.equal(await key(), 'first', 'the old system is still there');
  await change(id, 'reinstall');
  await settle(database, { answer: failing('slice.vm_readiness') });
  assert.equal(await key(), undefined, 'no agent has seen the new one');
  await change(id, 'reboot');
  await settle(database, { answer: ready('second') });
  assert.equal(await key(), 'second');
});

test('a host that does not respond leaves the state unknown, and its unstarted tasks stay unstarted', async (t) => {
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
    [(await look(id)).power_state, /did not respond/.test((await look(id)).power_reason ?? '')],
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

test('a release wins at every point of every change, and the change ends without effect', async (t) => {
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

test('a release waits for the task that a host has started for a change, and only then stops and wipes', async (t) => {
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

test('of simultaneous changes one is made and the others are refused', async (t) => {
  const { database, launch, change, look, runs } = await world(t);
  const { id } = await launch();
  const asked = await Promise.allSettled(
    (['stop', 'reboot', 'reinstall', 'stop'] as const).map((one) => change(id, one)),
  );
  assert.equal(asked.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const refused of asked)
    if (refused.status === 'rejected') assert.match(String(refused.reason), /Wait until that completes/);
  assert.equal((await runs(id)).length, 1);
  await settle(database);
  assert.equal((await look(id)).power_run_id, null);
  await assertInvariants(database);
});

test('a failed change retried by an operator after another change has no effect', async (t) => {
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

test('a change never joins a run retried by an operator: it is refused until that run has ended', async (t) => {
  const { database, launch, change, look, runs, sql } = await world(t);
  const { id } = await launch();
  await change(id, 'stop');
  await settle(database, { answer: failing('slice.vm_stop') });
  const { rows } = await sql.query('select id from workflow_runs where subject_id = $1', [id]);
  await database.write(PLATFORM, (tx) => retryRun(tx, { run_id: rows[0]?.id }));
  await assert.rejects(change(id, 'stop'), /Retry shortly/);
  assert.equal((await look(id)).power_state, 'unknown');
  await settle(database);
  await change(id, 'stop');
  await settle(database);
  assert.deepEqual([(await look(id)).power_state, await runs(id)], ['off', ['stop-slice done', 'stop-slice done']]);
  await assertInvariants(database);
});

test('the schema allows power only for active slices, and a power change only with a run', async (t) => {
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

test('a whole node has no managed power', async (t) => {
  const { sql, look } = await world(t);
  const node = await aNode(sql);
  const { id } = await anAllocation(sql, { node, shape: 'baremetal', state: 'active' });
  assert.equal((await look(id)).power_state, null);
});
