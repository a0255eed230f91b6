import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { prove, stayOn } from '../../test/proven-cleanup.ts';
import { PLATFORM } from '../db/client.ts';
import { refreshSummary } from '../placement/summary.ts';
import { proveCleanup } from './prove-cleanup.ts';

const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  return { database, sql };
};

type World = Awaited<ReturnType<typeof world>>;

const indexRow = async ({ sql }: World, nodeId: string): Promise<unknown> =>
  (
    await sql.query("select to_jsonb(s) - 'updated_at' as row from node_placement_summary s where node_id = $1", [
      nodeId,
    ])
  ).rows[0].row;

test('the index row written with the proof equals a freshly computed one', async (t) => {
  const w = await world(t);
  const node = await aNode(w.sql);
  const made = await anAllocation(w.sql, { node, gpu_count: 2, state: 'releasing' });
  const other = await anAllocation(w.sql, { node, gpu_count: 2, state: 'releasing' });
  await w.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  await w.sql.query("update node_resource_slots set health = 'unhealthy' where id = $1", [other.slot_ids[0]]);
  for (const released of [made, other]) {
    await prove(w.database, released);
    const written = await indexRow(w, node.id);
    await w.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
    assert.deepEqual(written, await indexRow(w, node.id));
  }
  const { rows } = await w.sql.query('select occupancy from nodes where id = $1', [node.id]);
  assert.deepEqual(rows, [{ occupancy: 'free' }]);
});

test('a proof about an older generation of a slot frees nothing and stores nothing', async (t) => {
  const w = await world(t);
  const node = await aNode(w.sql);
  const made = await anAllocation(w.sql, { node, gpu_count: 2, state: 'releasing' });
  await w.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  await assert.rejects(prove(w.database, made, 1), /slots/);
  const { rows } = await w.sql.query(
    `select a.state, (select count(*)::int from allocation_resource_claims c where c.allocation_id = a.id and c.released_at is null) as live,
       (select count(*)::int from wipe_proofs p where p.allocation_id = a.id) as proofs,
       (select min(q.gpu_used)::int from quotas q where q.organization_id = a.organization_id) as used from allocations a where a.id = $1`,
    [made.id],
  );
  assert.deepEqual(rows, [{ state: 'releasing', live: 2, proofs: 0, used: 2 }]);
});

test('a repeated proof finds no claims and changes nothing', async (t) => {
  const w = await world(t);
  const node = await aNode(w.sql);
  const made = await anAllocation(w.sql, { node, gpu_count: 2, state: 'releasing' });
  await w.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  await prove(w.database, made);
  const again = {
    task_id: 'tsk_test',
    node_id: made.node_id,
    verdict: { is_verified: true, reason: null, disks: [] },
    may_try_again: false,
  };
  await w.database.write(PLATFORM, (tx) => proveCleanup(tx, stayOn(made), again));
  const { rows } = await w.sql.query(
    `select (select count(*)::int from outbox_events where subject = $1 and data ->> 'state' = 'released') as told,
       (select array_agg(gpu_used) from quotas where organization_id = $2) as used`,
    [made.id, made.organization_id],
  );
  assert.deepEqual(rows, [{ told: 1, used: [0, 0] }]);
});
