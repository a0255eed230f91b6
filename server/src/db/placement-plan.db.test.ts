/**
 * The statements of placement under the plans that made others reserve a whole table: `where id in (select … limit n
 * for update skip locked)` runs its subselect once per row when the planner takes a nested loop.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { type TestDatabase, testDatabase } from '../../test/database.ts';
import { aNode, aTenant, REGION, SLICE_SKU, type Tenant, type TestNode } from '../../test/placement.ts';
import { refreshSummary } from '../placement/summary.ts';
import { PLATFORM, type Tx } from './client.ts';
import { type CandidateQuery, lockBestNode } from './placement-index.ts';
import { claimRefusal, insertClaimSet } from './statements/claim.ts';

const CLAIMS = 'allocation_resource_claims';

describe('the statements of placement under the worst plan', () => {
  const closers: (() => Promise<void>)[] = [];
  let db: TestDatabase;
  let owner: Client;
  let tenant: Tenant;
  const nodes: TestNode[] = [];
  before(async () => {
    const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
    db = await testDatabase(t);
    owner = new Client({ connectionString: db.ownerUrl });
    await owner.connect();
    t.after(() => owner.end());
    for (let n = 0; n < 8; n++) nodes.push(await aNode(owner));
    tenant = await aTenant(owner);
    for (const { id } of nodes) await db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
  });
  after(async () => {
    for (const close of closers) await close();
  });

  /** What made a subselect with a limit run once per row elsewhere: a nested loop that keeps nothing it computed. */
  const forceNestedLoops = (tx: Tx) =>
    Promise.all(
      ['hashjoin', 'mergejoin', 'material', 'sort', 'hashagg', 'memoize'].map((knob) =>
        tx.query(`set local enable_${knob} = off`),
      ),
    );
  const query = (): CandidateQuery => ({
    region_name: REGION,
    organization_id: tenant.organization_id,
    key: 'key_2',
    depth: 16,
    sku_name: SLICE_SKU,
    except: [],
    is_patient: false,
  });
  const unlocked = async (): Promise<number> => {
    await owner.query('begin');
    const { rowCount } = await owner.query('select from node_placement_summary for update skip locked');
    await owner.query('rollback');
    return rowCount ?? 0;
  };

  it('the plan makes a subselect with a limit return more rows than its limit', async () => {
    const attempt = db.database.write(PLATFORM, async (tx) => {
      await forceNestedLoops(tx);
      const { rowCount } = await tx.query(
        `update node_resource_slots set version = version + 1 where id in
           (select id from node_resource_slots where status = 'available' limit 2 for update skip locked)`,
      );
      assert.ok(rowCount > 2, `${rowCount} rows`);
      throw new Error('nothing of it is kept');
    });
    await assert.rejects(attempt, /nothing of it is kept/);
  });

  it('choosing a node locks one node and leaves the others to concurrent requests', async () => {
    await db.database.write(PLATFORM, async (tx) => {
      await forceNestedLoops(tx);
      const chosen = await lockBestNode(tx, query());
      assert.equal(await unlocked(), nodes.length - 1);
      const next = await db.database.write(PLATFORM, (other) => lockBestNode(other, query()));
      assert.ok(chosen !== undefined && next !== undefined);
      assert.notEqual(next.id, chosen.id);
    });
  });

  it('a claim set takes the slots it names and no others', async () => {
    await db.database.write(PLATFORM, async (tx) => {
      await forceNestedLoops(tx);
      const node = await lockBestNode(tx, query());
      assert.ok(node);
      const slotIds = node.slots.slice(0, 2).map((slot) => slot.id);
      await insertClaimSet(tx, aClaimSet(tenant, node.id, slotIds));
    });
    const { rows } = await owner.query(
      `select (select count(*)::int from node_resource_slots where status <> 'available') as taken,
         (select count(*)::int from ${CLAIMS} where released_at is null) as claims,
         (select count(*)::int from nodes where occupancy <> 'free') as occupied`,
    );
    assert.deepEqual(rows, [{ taken: 2, claims: 2, occupied: 1 }]);
  });

  it('a claim set with one claimed slot is refused as a whole', async () => {
    const { rows } = await owner.query<{ node_id: string; slot_id: string }>(
      `select node_id, slot_id from ${CLAIMS} limit 1`,
    );
    const [taken] = rows;
    assert.ok(taken);
    const free = nodes.find(({ id }) => id === taken.node_id)?.slot_ids.at(-1) ?? '';
    await assert.rejects(
      db.database.write(PLATFORM, (tx) => insertClaimSet(tx, aClaimSet(tenant, taken.node_id, [taken.slot_id, free]))),
      (err) => claimRefusal(err) === 'capacity',
    );
    const { rowCount } = await owner.query(`select from ${CLAIMS} where slot_id = $1`, [free]);
    assert.equal(rowCount, 0);
  });
});

const aClaimSet = (
  tenant: Tenant,
  nodeId: string,
  slotIds: readonly string[],
): Parameters<typeof insertClaimSet>[1] => ({
  allocation: {
    id: mintId('alc'),
    ...tenant,
    name: mintId('x').slice(2),
    capacity_shape: 'gpu_slice',
    sku_name: SLICE_SKU,
    region_name: REGION,
    image_name: null,
    image_digest: null,
    gpu_count: slotIds.length,
    storage: 'raw',
    network: 'private_nat',
    requested_by: 'usr_00000000000000000000000000',
    ssh_key_ids: [],
    tags: {},
    is_protected: false,
    max_duration_s: null,
    correlation_id: 'cor_test',
    created_at: new Date().toISOString(),
    deadline_s: 60,
  },
  node_id: nodeId,
  is_node_taken: false,
  slot_ids: slotIds,
  claim_ids: slotIds.map(() => mintId('clm')),
  partition_id: null,
  scores: {},
  vm_profile_name: null,
  vcpu_count: null,
  memory_mib: null,
  hugepages: null,
  numa_policy: null,
  gpu_hourly_price_minor: 450,
  currency: 'USD',
  summary: {
    node_id: nodeId,
    region_name: REGION,
    gpu_model: 'h200',
    pool_organization_id: '',
    capacity_mode: 'flexible',
    occupancy: 'sliced',
    is_schedulable: true,
    free_mask: 0,
    free_count: 6,
    largest_set: 4,
    key_1: null,
    key_2: null,
    key_4: null,
    key_8: null,
    key_node: null,
  },
  run: {
    id: mintId('wfr'),
    workflow: 'provision-slice',
    workflow_version: 1,
    steps: ['a'],
    step: 'a',
    deadline_ms: 1000,
  },
});
