import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { PLATFORM } from '../../server/src/db/client.ts';
import { refreshSummary } from '../../server/src/placement/summary.ts';
import { beginRelease } from '../../server/src/workflows/begin-release.ts';
import { startRun } from '../../server/src/workflows/engine/run.ts';
import { provisionSlice } from '../../server/src/workflows/provision-slice.ts';
import { testDatabase } from '../../server/test/database.ts';
import { settle } from '../../server/test/host.ts';
import { aNode, anAllocation } from '../../server/test/placement.ts';
import { executeOnce } from './executor.ts';
import { createHost } from './host-tasks.ts';

const world = async (t: TestContext, tags: Record<string, string> = {}) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-disks-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const node = await aNode(sql, { gpu_count: 2, partitions: false });
  const made = await anAllocation(sql, { node, tags });
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
  const host = createHost(dir);
  const goOn = () =>
    settle(database, { host: () => executeOnce({ database, dir, node_name_prefix: 'node-', task_ms: 0 }, host) });
  const look = async () => {
    const { rows } = await sql.query(
      `select a.state, s.status, s.nvme_serial, (select jsonb_agg(w.evidence) from wipe_proofs w where w.allocation_id = a.id) as proofs
       from allocations a join allocation_resource_claims c on c.allocation_id = a.id join node_resource_slots s on s.id = c.slot_id
       where a.id = $1`,
      [made.id],
    );
    return rows[0];
  };
  const disk = async () => readFile(join(dir, `${(await look()).nvme_serial}.img`));
  return { database, sql, made, goOn, look, disk };
};

test('the image is on the disk while the allocation lives, and the proof is what was read back after the wipe', async (t) => {
  const w = await world(t);
  await w.goOn();
  assert.equal((await w.look()).state, 'active');
  assert.ok(
    (await w.disk()).some((byte) => byte !== 0),
    'a tenant has data',
  );
  await w.database.write(PLATFORM, (tx) => beginRelease(tx, { allocation_id: w.made.id, reason: 'test' }));
  await w.goOn();
  const ended = await w.look();
  assert.deepEqual([ended.state, ended.status], ['released', 'available']);
  const disk = await w.disk();
  assert.ok(!disk.some((byte) => byte !== 0), 'nothing is left');
  assert.equal(ended.proofs[0].bytes_read_back, disk.length);
  assert.equal(ended.proofs[0].bytes_not_erased, 0);
});

test('a wipe that does not erase is found by reading back, and frees the slot only once it is done right', async (t) => {
  const w = await world(t, { 'lab.fault': 'wipe' });
  await w.goOn();
  await w.database.write(PLATFORM, (tx) => beginRelease(tx, { allocation_id: w.made.id, reason: 'test' }));
  await w.goOn();
  const blocked = await w.look();
  assert.deepEqual([blocked.state, blocked.status], ['release_failed', 'cleanup_blocked']);
  assert.ok(blocked.proofs.every((proof: { bytes_not_erased: number }) => proof.bytes_not_erased > 0));
  await w.sql.query("update allocations set tags = '{}' where id = $1", [w.made.id]);
  await w.database.write(PLATFORM, (tx) => beginRelease(tx, { allocation_id: w.made.id, reason: 'test' }));
  await w.goOn();
  assert.deepEqual([(await w.look()).state, (await w.look()).status], ['released', 'available']);
});

for (const fault of ['lease', 'clone', 'start', 'readiness'])
  test(`a host that fails at ${fault} leaves a failed allocation whose slot was wiped`, async (t) => {
    const w = await world(t, { 'lab.fault': fault });
    await w.goOn();
    const ended = await w.look();
    assert.deepEqual([ended.state, ended.status], ['failed', 'available']);
    assert.ok(!(await w.disk()).some((byte) => byte !== 0));
  });

test('a host refuses a task of an older generation and a task it does not know', async () => {
  const host = createHost('/nonexistent');
  const lease = (generation: number) =>
    host.perform({ kind: 'slice.bundle_lease', params: { slots: [{ slot_id: 'slt_a', generation }] }, fault: null });
  assert.deepEqual(await lease(2), { output: {} });
  assert.ok('failed' in (await lease(1)));
  assert.ok('failed' in (await host.perform({ kind: 'slice.dance', params: {}, fault: null })));
});
