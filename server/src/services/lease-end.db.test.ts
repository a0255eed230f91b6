import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, anAllocation, type TestNode } from '../../test/placement.ts';
import { must } from '../../test/tenants.ts';
import { PLATFORM } from '../db/client.ts';
import { refreshSummary } from '../placement/summary.ts';

const UNKNOWN = 'alc_01k9zv3m8q4t6w2x5y7r0s1nzz';
const because = { reason: 'The backup does not know it' };

describe('a bundle lease of a host without a claim', () => {
  let test: TestApp;
  let sql: Client;
  const closers: (() => Promise<void>)[] = [];
  before(async () => {
    test = await startTestApp({ after: (fn) => void closers.unshift(fn) }, { roles: ['gpuaas-api'] });
    sql = new Client({ connectionString: test.db.ownerUrl });
    await sql.connect();
  });
  after(async () => {
    await assertInvariants(test.db.database);
    await sql.end();
    for (const close of closers) await close();
  });

  const newNode = async (): Promise<TestNode> => {
    const node = await aNode(sql);
    await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
    return node;
  };
  const tell = async (node: TestNode, ...leases: readonly { allocation_id: string; slot_ids: readonly string[] }[]) => {
    const content = { machines: [], leases, drift: [], leftovers: [], repaired: [], images: { value: [] } };
    await sql.query(
      `insert into node_inventories (node_id, observed_at, boot_id, content) values ($1, clock_timestamp(), 'boot-1', $2)`,
      [node.id, JSON.stringify(content)],
    );
  };
  const end = async (node: TestNode, allocationId: string) =>
    (await test.admin()).post(`/api/v1/admin/nodes/${node.id}/bundle-leases/${allocationId}/end`, because);
  const slotsOf = async (node: TestNode) =>
    (
      await sql.query<{ id: string; status: string }>(
        'select id, status from node_resource_slots where node_id = $1 order by slot_index',
        [node.id],
      )
    ).rows;

  it('is ended when an operator requests it, and its slots are unschedulable until they are repaired', async () => {
    const [node, other] = [await newNode(), await newNode()];
    const [mine, strange] = [(await slotsOf(node))[2]?.id ?? '', (await slotsOf(other))[0]?.id ?? ''];
    await tell(node, { allocation_id: UNKNOWN, slot_ids: [mine, strange] });
    const task = must(await end(node, UNKNOWN), 202).body;
    const asked = await sql.query('select kind, params from node_tasks where id = $1', [task.id]);
    assert.deepEqual(asked.rows, [
      { kind: 'slice.orphan_remove', params: { allocation_id: UNKNOWN, end_lease: true } },
    ]);
    const apart = (await slotsOf(node)).filter(({ status }) => status === 'quarantined');
    assert.deepEqual(
      apart.map(({ id }) => id),
      [mine],
    );
    assert.ok(
      (await slotsOf(other)).every(({ status }) => status === 'available'),
      'a host speaks for its own slots',
    );
    const { rows } = await sql.query(
      "select metadata ->> 'reason' as reason from audit_logs where action = 'node.bundle_lease.end' and target_id = $1 and result = 'success'",
      [node.id],
    );
    assert.deepEqual(rows, [because]);
    must(await end(node, UNKNOWN), 409);
  });

  it('is not ended while a claim holds the allocation, nor when the host has none', async () => {
    const node = await newNode();
    const held = await anAllocation(sql, { node, state: 'active' });
    await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
    await tell(node, { allocation_id: held.id, slot_ids: held.slot_ids });
    assert.match(must(await end(node, held.id), 409).body.detail, /Release it instead/);
    must(await end(node, UNKNOWN), 404);
    const { rows } = await sql.query('select from node_tasks where node_id = $1', [node.id]);
    assert.equal(rows.length, 0);
  });
});
