/** A region that requires a stronger wipe than the disk supports. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { settle, truth } from '../../test/host.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { PLATFORM } from '../db/client.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import { refreshSummary } from '../placement/summary.ts';
import { verifyProofs } from '../services/wipe-verify.ts';
import { startRelease } from './start-cleanup.ts';

const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const node = await aNode(sql);
  const made = await anAllocation(sql, { node, gpu_count: 2, state: 'active' });
  await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  await sql.query("update regions set wipe_minimum = 'purge'");
  await database.write(PLATFORM, (tx) => startRelease(tx, { allocation_id: made.id, reason: 'It was released.' }));
  const slots = async () =>
    (
      await sql.query(
        'select s.status, s.status_reason from node_resource_slots s where s.id = any ($1) order by s.slot_index',
        [made.slot_ids],
      )
    ).rows;
  return { database, sql, made, slots };
};

/** A host of an earlier version, which ignores the region's requirement. */
const byDiscard = (task: NodeTaskRow) => {
  const told = truth(task);
  const disks = (told['disks'] ?? []) as readonly object[];
  return {
    ...told,
    ...(disks.length === 0
      ? {}
      : { disks: disks.map((disk) => ({ ...disk, method: 'blkdiscard', erase: 'discard' })) }),
  };
};

test('the host receives the minimum wipe level, and a wipe below it never frees a slot', async (t) => {
  const { database, sql, made, slots } = await world(t);
  await settle(database, { answer: byDiscard });
  const { rows } = await sql.query(
    "select params ->> 'wipe_minimum' as minimum from node_tasks where allocation_id = $1 and kind = 'slice.cleanup'",
    [made.id],
  );
  assert.deepEqual(
    rows.map((row) => row.minimum),
    ['purge', 'purge', 'purge'],
    'three tries and no more',
  );
  for (const slot of await slots()) {
    assert.equal(slot.status, 'cleanup_blocked');
    assert.match(
      slot.status_reason,
      /requires at least wipe level purge, which blkdiscard does not reach\. Next: .+force-cleanup alc_/,
    );
  }
  const allocation = await sql.query('select state, state_reason from allocations where id = $1', [made.id]);
  assert.deepEqual(allocation.rows, [
    { state: 'release_failed', state_reason: 'The disk wipe could not be verified.' },
  ]);
  // The unverified wipe is stored, in its chain.
  assert.deepEqual(await verifyProofs(database), { intact: true, proofs: 14, chains: 8, findings: [] });

  await database.write(PLATFORM, (tx) =>
    startRelease(tx, { allocation_id: made.id, reason: 'The drive was replaced.' }),
  );
  await settle(database);
  assert.deepEqual(
    (await slots()).map(({ status }) => status),
    ['available', 'available'],
  );
});

test('a disk that a host refuses to wipe blocks cleanup with the host’s own reason', async (t) => {
  const { database, made, slots } = await world(t);
  const refused = 'the site’s minimum is purge, but the drive supports blkdiscard';
  await settle(database, {
    answer: (task) => {
      const told = truth(task);
      if (told['disks'] === undefined) return told;
      const serials = (task.params['slots'] as readonly { nvme_serial: string }[]).map((slot) => slot.nvme_serial);
      return { ...told, disks: [], blocked: serials.map((serial) => ({ serial, reason: refused })) };
    },
  });
  for (const slot of await slots()) assert.ok(slot.status_reason.includes(refused), slot.status_reason);
  assert.equal(made.slot_ids.length, 2);
});
