import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { startTestApp } from '../../test/app.ts';
import { settle } from '../../test/host.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { must } from '../../test/tenants.ts';
import { PLATFORM } from '../db/client.ts';
import { usernameOf } from '../domain/host-name.ts';
import { pathOf } from '../domain/workflow-declaration.ts';
import { PROVISION_SLICE } from '../domain/workflow-steps.ts';
import { startRun } from '../workflows/engine/run.ts';
import { provisionBaremetal } from '../workflows/provision-baremetal.ts';
import { provisionSlice } from '../workflows/provision-slice.ts';

/** The API alone with one launch, and workers that continue when a test runs them. */
const world = async (t: TestContext, shape: 'gpu_slice' | 'baremetal' = 'gpu_slice') => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { db, user, admin } = await startTestApp(t, { roles: ['gpuaas-api'] });
  const sql = new Client({ connectionString: db.ownerUrl });
  await sql.connect();
  open.push(sql);
  const owner = await user('owner');
  const tenant = { organization_id: owner.organization_id, project_id: owner.project_id };
  const node = await aNode(sql, shape === 'baremetal' ? { capacity_mode: 'baremetal' } : {});
  const { id } = await anAllocation(sql, { node, tenant, shape });
  const workflow = shape === 'baremetal' ? provisionBaremetal : provisionSlice;
  const start = { workflow, subject_id: id, ...tenant, correlation_id: mintId('cor') };
  await db.database.write(PLATFORM, (tx) => startRun(tx, start));
  const path = `/api/v1/projects/${tenant.project_id}/allocations`;
  const read = async () => must(await owner.get(`${path}/${id}`), 200).body;
  return { database: db.database, sql, owner, operator: await admin(), node, id, path, read };
};

const idle = async () => 0;

test('progress shows the step, the host’s note, and the recent duration of such steps', async (t) => {
  const w = await world(t);
  const first = (await w.read()).progress;
  assert.deepEqual(
    [first.step, first.step_number, first.step_count, first.percent, first.expected_s],
    ['leaseBundle', 1, pathOf(PROVISION_SLICE).length, null, PROVISION_SLICE.steps.leaseBundle.usual_s],
  );
  assert.ok(first.overall_percent < 4);
  await w.sql.query(
    `insert into node_tasks (id, node_id, kind, params, state, correlation_id, created_at, finished_at, expires_at)
     select 'tsk_' || s, $1, 'slice.image_clone', '{}', 'completed', 'c', now() - make_interval(secs => s), now(), now()
     from unnest(array[10, 40, 90]) as s`,
    [w.node.id],
  );
  // One round creates the bundle lease; then the copy is requested, and no host responds.
  await settle(w.database, { rounds: 1 });
  await settle(w.database, { rounds: 2, host: idle });
  await w.sql.query(
    `update node_tasks set state = 'running', percent = 40, bytes_per_s = 1000, progress_note = 'half' where allocation_id = $1 and state = 'queued'`,
    [w.id],
  );
  const { progress } = await w.read();
  assert.deepEqual(
    [progress.step, progress.label, progress.percent, progress.bytes_per_s, progress.expected_s],
    ['cloneImage', 'Copy image', 40, 1000, 40],
  );
  assert.ok(progress.overall_percent > 0 && progress.overall_percent < 100);
  assert.ok(Date.parse(progress.started_at) >= Date.parse(first.started_at));

  assert.deepEqual(
    progress.steps.map(({ key, state }: { key: string; state: string }) => `${key} ${state}`),
    pathOf(PROVISION_SLICE).map(([key], index) => `${key} ${['done', 'running'][index] ?? 'pending'}`),
  );
  const [reserved, copying] = progress.steps;
  assert.ok(reserved.took_ms >= 0 && reserved.started_at <= progress.started_at);
  assert.deepEqual([copying.percent, copying.note, copying.started_at], [40, 'half', progress.started_at]);
  assert.equal(progress.note, 'half');

  const [row] = must(await w.owner.get(w.path), 200).body.items;
  assert.deepEqual(row.progress.steps, [], 'a list has no paths');
  assert.deepEqual(
    [row.progress.step, row.progress.percent, row.progress.expected_s],
    ['cloneImage', 40, PROVISION_SLICE.steps.cloneImage.usual_s],
  );
  const seen = must(await w.operator.get(`/api/v1/admin/allocations/${w.id}`), 200).body.allocation.progress;
  assert.deepEqual([seen.step, seen.expected_s], ['cloneImage', 40]);
  const { items } = must(await w.owner.get(`${w.path}/${w.id}/timeline`), 200).body;
  assert.deepEqual([items[0].workflow_label, items[0].phase, items[0].label], ['Launch', 'launch', 'Reserve GPUs']);
});

test('another node is expected to take as long as the newest tasks of all nodes', async (t) => {
  const w = await world(t);
  const other = await aNode(w.sql);
  await w.sql.query(
    `insert into node_tasks (id, node_id, kind, params, state, correlation_id, created_at, finished_at, expires_at)
     values ('tsk_1', $1, 'slice.bundle_lease', '{}', 'completed', 'c', now() - interval '7 s', now(), now()),
       ('tsk_2', $1, 'slice.bundle_lease', '{}', 'failed', 'c', now() - interval '70 s', now(), now())`,
    [other.id],
  );
  assert.equal((await w.read()).progress.expected_s, 7);
});

test('progress is null where no work is in progress', async (t) => {
  const w = await world(t);
  await settle(w.database);
  const active = await w.read();
  assert.deepEqual([active.state, active.progress], ['active', null]);
  const [row] = must(await w.owner.get(w.path), 200).body.items;
  assert.equal(row.progress, null);
});

test('a VM seen ready shows its address and host key, until it is released', async (t) => {
  const w = await world(t);
  assert.equal((await w.read()).ssh, null);
  await settle(w.database);
  assert.equal((await w.read()).ssh, null, 'no host key, no way in');
  await w.sql.query(
    `update node_tasks set output = '{"actual_ip": "10.100.0.11", "ssh_host_key": "ssh-ed25519 AAAAkey"}'
     where allocation_id = $1 and kind = 'slice.vm_readiness'`,
    [w.id],
  );
  const ssh = { username: 'ubuntu', address: '10.100.0.11', port: 22, host_key: 'ssh-ed25519 AAAAkey' };
  assert.deepEqual((await w.read()).ssh, ssh);
  await w.sql.query("update allocations set state = 'releasing', release_requested_at = now() where id = $1", [w.id]);
  assert.equal((await w.read()).ssh, null);
});

test('a whole node shows its own account and its reported host key, and no address', async (t) => {
  const w = await world(t, 'baremetal');
  await settle(w.database);
  assert.equal((await w.read()).ssh, null, 'no host key, no way in');
  await w.sql.query(
    `update node_tasks set output = output || '{"ssh_host_key": "ssh-ed25519 AAAAkey"}'
     where allocation_id = $1 and kind = 'allocation.provision_user'`,
    [w.id],
  );
  const ssh = { username: usernameOf(w.id), address: null, port: 22, host_key: 'ssh-ed25519 AAAAkey' };
  assert.deepEqual((await w.read()).ssh, ssh);
});
