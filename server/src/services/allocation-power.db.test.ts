import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { settle } from '../../test/host.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { type AllocationFacts, aNode, anAllocation, SLICE_SKU } from '../../test/placement.ts';
import { openUserData } from '../../test/secrets.ts';
import { must, newSshKey } from '../../test/tenants.ts';
import { PLATFORM } from '../db/client.ts';
import { findUserData } from '../db/user-data.ts';
import { refreshSummary } from '../placement/summary.ts';
import { purgeExpired } from '../reconcilers/purge-expired.ts';

/** The API alone: workers run when a test starts them. */
const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const test: TestApp = await startTestApp(t, { roles: ['gpuaas-api'] });
  const { database } = test.db;
  const sql = new Client({ connectionString: test.db.ownerUrl });
  await sql.connect();
  open.push(sql);
  const owner = await test.user('owner');
  const tenant = { organization_id: owner.organization_id, project_id: owner.project_id };
  const make = async (facts: Omit<AllocationFacts, 'node'> = {}) => {
    const node = await aNode(sql);
    const { id } = await anAllocation(sql, { node, tenant, state: 'active', ...facts });
    await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
    return { id, path: `/api/v1/projects/${tenant.project_id}/allocations/${id}` };
  };
  const get = async (path: string) => must(await owner.get(path), 200).body;
  const refused = async (path: string, body: object = {}) => must(await owner.post(path, body), 409).body.detail;
  return { test, database, sql, owner, make, get, refused };
};

describe('power through the API', () => {
  it('is changed with a response that names the run and states that it is charged', async (t) => {
    const { database, owner, make, get } = await world(t);
    const { path } = await make({ gpu_count: 2 });
    const before = await get(path);
    assert.deepEqual([before.power.state, before.power.is_charged, before.power.workflow_run_id], ['on', true, null]);

    const key = { 'idempotency-key': randomUUID() };
    const stopping = must(await owner.post(`${path}/stop`, { grace_s: 5 }, key), 202).body;
    assert.deepEqual(
      [stopping.state, stopping.power.state, stopping.power.is_charged, stopping.placement],
      ['active', 'stopping', true, before.placement],
    );
    assert.match(stopping.power.workflow_run_id, /^wfr_/);
    assert.equal(stopping.version, before.version + 1);
    assert.deepEqual(must(await owner.post(`${path}/stop`, { grace_s: 5 }, key), 202).body, stopping);

    const { progress } = await get(path);
    assert.deepEqual([progress.workflow, progress.label, progress.step_count], ['stop-slice', 'Stop VM', 2]);
    const run = await get(`${path.replace(/\/allocations.*/, '')}/workflow-runs/${stopping.power.workflow_run_id}`);
    assert.equal(run.workflow, 'stop-slice');
    await settle(database);
    const off = await get(path);
    assert.deepEqual([off.state, off.power.state, off.progress], ['active', 'off', null]);
    assert.equal(off.release_requested_at, null);
    assert.ok(off.cost_so_far.amount_minor > 0);

    must(await owner.post(`${path}/start`, {}), 202);
    const [listed] = (await get(path.replace(/\/[^/]+$/, ''))).items;
    assert.deepEqual([listed.power.state, listed.progress.label], ['starting', 'Start VM']);
    await settle(database);
    must(await owner.post(`${path}/reboot`, { is_hard: true }), 202);
    await settle(database);
    assert.equal((await get(path)).power.state, 'on');
    const labels = (await get(`${path}/timeline`)).items.map((entry: { label: string }) => entry.label);
    assert.deepEqual(
      [...new Set(labels)],
      [...['Stop VM', 'Mark as stopped', 'Start VM', 'Wait for SSH', 'Mark as running', 'Reboot VM']],
    );
    await assertInvariants(database);
  });

  it('emits an event and writes an audit row for every change', async (t) => {
    const { database, sql, owner, make } = await world(t);
    const { id, path } = await make();
    must(await owner.post(`${path}/stop`, { is_hard: true }), 202);
    await settle(database);
    const told = await sql.query(
      "select data ->> 'power_state' as to from outbox_events where subject = $1 and event_type = 'allocation.power_changed' order by id",
      [id],
    );
    assert.deepEqual(
      told.rows.map((row) => row.to),
      ['stopping', 'off'],
    );
    const audited = await sql.query(
      `select action, actor_kind, correlation_id = first_value(correlation_id) over (order by id) as same,
         metadata -> 'grace_s' as grace_s from audit_logs where target_id = $1 and policy <> 'test' order by id`,
      [id],
    );
    assert.deepEqual(audited.rows, [
      { action: 'allocation.stop', actor_kind: 'user', same: true, grace_s: 0 },
      { action: 'allocation.power_off', actor_kind: 'system', same: true, grace_s: null },
    ]);
  });

  it('is refused with the next action: whole nodes, other states, changes in progress, protection', async (t) => {
    const { sql, owner, make, refused, get } = await world(t);
    const metal = await make({ shape: 'baremetal' });
    assert.match(await refused(`${metal.path}/stop`), /bare-metal.*release it/);
    assert.equal((await get(metal.path)).power, null);
    const early = await make({ state: 'provisioning' });
    assert.match(await refused(`${early.path}/reboot`), /Wait until it is active/);
    const late = await make({ state: 'releasing' });
    assert.match(await refused(`${late.path}/start`), /Launch another/);

    const kept = await make({ is_protected: true });
    assert.match(await refused(`${kept.path}/reinstall`), /Remove the protection first/);
    must(await owner.post(`${kept.path}/stop`, {}), 202);
    assert.match(await refused(`${kept.path}/start`), /stopping\. Wait until that completes/);
    const { actions } = await get(kept.path);
    const powers = actions.filter(({ name }: { name: string }) =>
      ['stop', 'start', 'reboot', 'reinstall'].includes(name),
    );
    assert.equal(powers.length, 4);
    assert.ok(
      powers.every(({ allowed, reason }: { allowed: boolean; reason: string }) => !allowed && reason.length > 10),
    );

    const off = await make();
    await sql.query("update allocations set power_state = 'off' where id = $1", [off.id]);
    assert.match(await refused(`${off.path}/reboot`), /Start it instead/);
    const wrong = must(await owner.post(`${off.path}/stop`, { grace_s: 5, is_hard: true }), 400).body;
    assert.equal(wrong.errors[0].pointer, '/body/grace_s');
    must(await owner.post(`${off.path.replace(off.id, `alc_${'0'.repeat(26)}`)}/stop`, {}), 404);
  });
});

describe('reinstalling through the API', () => {
  it('accepts another image in its newest version, keys and user data, and keeps omitted values', async (t) => {
    const { database, sql, owner, make, get } = await world(t);
    const { id, path } = await make();
    const image = (await sql.query('select name from os_images order by name limit 1')).rows[0].name;
    await sql.query('insert into os_image_skus (image_name, sku_name) values ($1, $2)', [image, SLICE_SKU]);
    const key = must(await owner.post('/api/v1/ssh-keys', { name: 'k', public_key: newSshKey() }), 201).body;
    const user_data = '#cloud-config\npackages: [htop]\n';
    const body = { image_name: image, ssh_key_ids: [key.id], user_data };
    const first = must(await owner.post(`${path}/reinstall`, body), 202).body;
    assert.deepEqual(
      [first.power.state, first.power.install_number],
      ['reinstalling', 0],
      'it says what is on the disk',
    );
    const kinds = await settle(database);
    const second = await get(path);
    assert.deepEqual([second.power.install_number, second.image_name], [1, image]);
    assert.deepEqual(second.ssh_key_ids, [key.id]);
    assert.match(second.image_digest, /^sha256:/);
    assert.deepEqual(kinds, ['slice.vm_stop', 'slice.image_clone', 'slice.vm_start', 'slice.vm_readiness']);
    const start = (
      await sql.query(
        "select params, sealed_user_data from node_tasks where allocation_id = $1 and kind = 'slice.vm_start'",
        [id],
      )
    ).rows[0];
    assert.deepEqual([start.params.install, start.params.user_data, start.params.ssh_public_keys.length], [1, null, 1]);
    assert.equal(openUserData(id, start.sealed_user_data), user_data);

    must(await owner.post(`${path}/reinstall`, {}), 202);
    await settle(database);
    const kept = await get(path);
    assert.deepEqual(
      [kept.image_digest, kept.ssh_key_ids, kept.power.install_number],
      [second.image_digest, [key.id], 2],
    );
    const given = await database.read(PLATFORM, (reader) => findUserData(reader, id));
    assert.equal(openUserData(id, given), user_data);
    must(await owner.post(`${path}/reinstall`, { user_data: null }), 202);
    await settle(database);
    assert.equal(await database.read(PLATFORM, (reader) => findUserData(reader, id)), null);
    assert.equal((await get(path)).power.state, 'on');
    await assertInvariants(database);
  });

  it('deletes user data when the allocation has ended, even where it was sent to a host', async (t) => {
    const { database, sql, owner, make } = await world(t);
    const { id, path } = await make();
    must(await owner.post(`${path}/reinstall`, { user_data: '#!/bin/sh\necho secret\n' }), 202);
    await settle(database);
    const kept = async () =>
      (
        await sql.query(
          `select (select count(*) from allocation_user_data where allocation_id = $1)::int as given,
             (select count(*) from node_tasks where allocation_id = $1 and sealed_user_data is not null)::int as sent`,
          [id],
        )
      ).rows[0];
    await purgeExpired({ database, history_days: 90, certificate_years: 7 });
    assert.deepEqual(await kept(), { given: 1, sent: 1 });
    must(await owner.post(`${path}/release`, {}), 202);
    await settle(database);
    await purgeExpired({ database, history_days: 90, certificate_years: 7 });
    assert.deepEqual(await kept(), { given: 0, sent: 0 });
  });

  it('refuses requests that can never work, and then changes nothing', async (t) => {
    const { owner, make, get } = await world(t);
    const { path } = await make();
    const before = await get(path);
    const pointer = async (body: object) =>
      must(await owner.post(`${path}/reinstall`, body), 400).body.errors[0].pointer;
    assert.equal(await pointer({ image_name: 'no-such-image' }), '/body/image_name');
    assert.equal(await pointer({ user_data: `#!${'é'.repeat(40_000)}` }), '/body/user_data');
    assert.equal(await pointer({ user_data: 'echo hello' }), '/body/user_data');
    must(await owner.post(`${path}/reinstall`, { ssh_key_ids: [`key_${'0'.repeat(26)}`] }), 404);
    assert.deepEqual(await get(path), { ...before, cost_so_far: (await get(path)).cost_so_far });
  });
});
