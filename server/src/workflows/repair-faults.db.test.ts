import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { mintId, silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { DISK_BYTES } from '../../test/candidate.ts';
import { testDatabase } from '../../test/database.ts';
import { playHost } from '../../test/host.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, REGION } from '../../test/placement.ts';
import { passTime, runFaults, undisturbedPath } from '../../test/workflow-faults.ts';
import { PLATFORM } from '../db/client.ts';
import { insertOwnership } from '../db/disk-ownership.ts';
import type { WorkflowRunRow } from '../db/workflow-run.ts';
import { refreshSummary } from '../placement/summary.ts';
import { createRegistry } from './engine/registry.ts';
import { retryRun, startRun } from './engine/run.ts';
import { createWorker } from './engine/worker.ts';
import { bind } from './engine/workflow.ts';
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
  /** An approved disk of a new node. */
  const approve = async (): Promise<string> => {
    const { id: node_id } = await node();
    await database.write(PLATFORM, (tx) => refreshSummary(tx, node_id));
    const id = mintId('dsk');
    const disk = { serial: `SN-${id}`, device: `/dev/disk/by-id/${id}`, size_bytes: DISK_BYTES };
    const facts = { id, node_id, region_name: REGION, ...disk };
    const by = { approved_by: 'usr_00000000000000000000000000', reason: 'Test.', correlation_id: mintId('cor') };
    await database.write(PLATFORM, (tx) => insertOwnership(tx, { ...facts, ...by, state: 'approved' }));
    return id;
  };
  return { database, sql, node, approve, answer: async () => void (await playHost(database)) };
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

test('wipe-disk gives up after ten failed tries with a reason, and a retry starts it again', async (t) => {
  const { database, sql, approve } = await open(t);
  const disk = await approve();
  const worker = createWorker({
    database,
    registry: createRegistry([bind(wipeDisk, createDiskDeps(database))]),
    log: silentLog(),
  });
  const of = { organization_id: null, project_id: null, correlation_id: 'cor-1' };
  const { id } = await database.write(PLATFORM, (tx) => startRun(tx, { workflow: wipeDisk, subject_id: disk, ...of }));
  /** Lets the pauses between tries pass too. */
  const play = async (rounds: number, answer?: () => null) => {
    for (let round = 0; round < rounds; round++) {
      await worker.tick();
      await playHost(database, answer === undefined ? {} : { answer });
      await sql.query(
        "update node_tasks set finished_at = finished_at - interval '1 hour' where finished_at is not null",
      );
      await passTime(database, id);
    }
  };
  const read = async () => ({
    run: (await sql.query('select state from workflow_runs where id = $1', [id])).rows[0]?.state,
    ...(await sql.query('select state, state_reason from disk_ownerships where id = $1', [disk])).rows[0],
    tasks: (await sql.query("select count(*)::int as n from node_tasks where kind = 'node.cleanup'")).rows[0].n,
  });
  await play(40, () => null);
  const reason = `The wipe did not succeed in 10 tries. The test host failed. Fix the cause, then run: gpuaas admin workflow-run retry ${id}`;
  assert.deepEqual(await read(), { run: 'stuck', state: 'blocked', state_reason: reason, tasks: 10 });
  await database.write(PLATFORM, (tx) => retryRun(tx, { run_id: id }));
  await play(4);
  assert.deepEqual(await read(), { run: 'done', state: 'owned', state_reason: null, tasks: 11 });
  await assertInvariants(database);
});

test('wipe-disk survives every fault: approved with a proof, or not approved and with a reason', async (t) => {
  const { database, sql, approve, answer } = await open(t);
  const deps = createDiskDeps(database);
  await runFaults({
    database,
    workflow: wipeDisk,
    fresh: async () => ({ deps, subject_id: await approve() }),
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
