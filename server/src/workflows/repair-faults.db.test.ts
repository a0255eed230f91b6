import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { DISK_BYTES } from '../../test/candidate.ts';
import { testDatabase } from '../../test/database.ts';
import { playHost } from '../../test/host.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, REGION } from '../../test/placement.ts';
import { runFaults, undisturbedPath } from '../../test/workflow-faults.ts';
import { PLATFORM } from '../db/client.ts';
import { insertOwnership } from '../db/disk-ownership.ts';
import type { WorkflowRunRow } from '../db/workflow-run.ts';
import { refreshSummary } from '../placement/summary.ts';
import { createRepairDeps, repairSlot } from './repair-slot.ts';
import { createDiskDeps, wipeDisk } from './wipe-disk.ts';

const open = async (t: TestContext) => {
  const clients: Client[] = [];
  t.after(() => Promise.all(clients.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  clients.push(sql);
  const node = () => aNode(sql, { gpu_count: 1, partitions: false, capacity_mode: 'slice' });
  return { database, sql, node, answer: async () => void (await playHost(database)) };
};

const isWhole = ({ state, state_reason }: WorkflowRunRow): boolean => state === 'done' && state_reason === null;

test('repair-slot survives every fault: available with a proof of its own disk, or still quarantined', async (t) => {
  const { database, sql, node, answer } = await open(t);
  const deps = createRepairDeps(database);
  await runFaults({
    database,
    workflow: repairSlot,
    fresh: async () => {
      const { id, slot_ids } = await node();
      const subject_id = slot_ids[0] ?? '';
      const quarantine = "update node_resource_slots set status = 'quarantined', status_reason = 'Test.' where id = $1";
      await sql.query(quarantine, [subject_id]);
      await database.write(PLATFORM, (tx) => refreshSummary(tx, id));
      return { deps, subject_id };
    },
    answer,
    check: async ({ subject_id }, run) => {
      const { rows } = await sql.query(
        `select s.status, exists (select from wipe_proofs w where w.id = s.wipe_proof_id and w.is_verified
           and w.slot_id = s.id and w.disk_serial = s.nvme_serial and w.sequence > 1) as is_proven
         from node_resource_slots s where s.id = $1`,
        [subject_id],
      );
      const is_proven = isWhole(run);
      assert.deepEqual(rows, [{ status: is_proven ? 'available' : 'quarantined', is_proven }]);
    },
    // Each execution loads and requests its host task. Two read the private network, two the minimum wipe level, one of
    // these twice.
    expected: { path: undisturbedPath(repairSlot, 'gpu_slice'), calls: 2 * 6 + 2 + 3 },
  });
  await assertInvariants(database);
});

test('wipe-disk survives every fault: approved with a proof, or not approved and with a reason', async (t) => {
  const { database, sql, node, answer } = await open(t);
  const deps = createDiskDeps(database);
  await runFaults({
    database,
    workflow: wipeDisk,
    fresh: async () => {
      const { id: node_id } = await node();
      await database.write(PLATFORM, (tx) => refreshSummary(tx, node_id));
      const id = mintId('dsk');
      const disk = { serial: `SN-${id}`, device: `/dev/disk/by-id/${id}`, size_bytes: DISK_BYTES };
      const facts = { id, node_id, region_name: REGION, ...disk };
      const by = { approved_by: 'usr_00000000000000000000000000', reason: 'Test.', correlation_id: mintId('cor') };
      await database.write(PLATFORM, (tx) => insertOwnership(tx, { ...facts, ...by }));
      return { deps, subject_id: id };
    },
    answer,
    check: async ({ subject_id }, run) => {
      const { rows } = await sql.query<{
        state: string;
        has_reason: boolean;
        is_proven: boolean;
        is_declared: boolean;
      }>(
        `select o.state, o.state_reason is not null as has_reason,
           exists (select from wipe_proofs w where w.id = o.wipe_proof_id and w.is_verified and w.disk_serial = o.serial) as is_proven,
           exists (select from jsonb_array_elements(n.data_disks) d where d ->> 'serial' = o.serial) as is_declared
         from disk_ownerships o join nodes n on n.id = o.node_id where o.id = $1`,
        [subject_id],
      );
      const [row] = rows;
      const isOwned = row?.state === 'owned';
      assert.deepEqual([row?.is_proven, row?.is_declared], [isOwned, isOwned], row?.state);
      if (isWhole(run)) assert.ok(isOwned);
      if (!isOwned) assert.deepEqual([row?.state, row?.has_reason], ['blocked', true]);
    },
    // Each execution loads. The wipe requests its host task and reads the minimum level, once more to evaluate the
    // evidence.
    expected: { path: undisturbedPath(wipeDisk, 'gpu_slice'), calls: 3 + 2 + 3 },
  });
  await assertInvariants(database);
});
