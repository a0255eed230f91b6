import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { type TestDatabase, testDatabase } from '../../test/database.ts';
import { aNode, aTenant, GPU_MODEL, REGION, SLICE_SKU, type Tenant } from '../../test/placement.ts';
import { until } from '../../test/until.ts';
import { PLATFORM, type Tx } from '../db/client.ts';
import { chooseNode, commitClaims, lockFirst, type Placement } from './commit.ts';
import { refreshSummary } from './summary.ts';

describe('committing a placement', () => {
  const closers: (() => Promise<void>)[] = [];
  let db: TestDatabase;
  let owner: Client;
  let tenant: Tenant;
  let nodeIds: string[];
  before(async () => {
    const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
    db = await testDatabase(t);
    owner = new Client({ connectionString: db.ownerUrl });
    await owner.connect();
    t.after(() => owner.end());
    tenant = await aTenant(owner);
    nodeIds = [(await aNode(owner)).id, (await aNode(owner)).id];
    for (const id of nodeIds) await db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const sku = {
    name: SLICE_SKU,
    capacity_shape: 'gpu_slice',
    gpu_model: GPU_MODEL,
    gpus_per_node: 8,
    allowed_gpu_counts: [1, 2, 4, 8],
    gpu_hourly_price_minor: 450,
    currency: 'USD',
    enabled: true,
    disabled_reason: null,
  } as const;
  const saleOf = (name: string): Placement => ({
    launch: {
      region: { name: REGION, enabled: true, has_host: true, disabled_reason: null, fabric_isolation: 'none' },
      sku: { ...sku, allowed_gpu_counts: [...sku.allowed_gpu_counts] },
      request: {
        shape: 'gpu_slice',
        sku: SLICE_SKU,
        region: REGION,
        gpu_count: 2,
        allowed_gpu_counts: [1, 2, 4, 8],
        gpus_per_node: 8,
        tenant_id: tenant.organization_id,
        quota_gpus_remaining: null,
      },
    },
    profile: null,
    allocation: {
      id: mintId('alc'),
      ...tenant,
      name,
      capacity_shape: 'gpu_slice',
      sku_name: SLICE_SKU,
      region_name: REGION,
      image_name: null,
      image_digest: null,
      gpu_count: 2,
      storage: 'raw',
      network: 'private_nat',
      requested_by: 'usr_operator',
      ssh_key_ids: [],
      tags: {},
      is_protected: false,
      max_duration_s: null,
      correlation_id: 'cor_test',
      created_at: new Date().toISOString(),
      deadline_s: 60,
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
  const query = () => ({
    region_name: REGION,
    sku_name: SLICE_SKU,
    organization_id: tenant.organization_id,
    key: 'key_2' as const,
  });
  const first = (tx: Tx) =>
    lockFirst(
      tx,
      { ...query(), project_id: tenant.project_id, image_name: null, vm_profile: null, gpu_count: 2, ssh_key_ids: [] },
      'key_2',
    );
  /** Places normally, with an event between the decision and its commit. */
  const launch = (name: string, meanwhile: (tx: Tx, nodeId: string) => Promise<unknown> = async () => {}) =>
    db.database.write(PLATFORM, async (tx) => {
      const sale = saleOf(name);
      const choice = await chooseNode(tx, sale.launch.request, query(), (await first(tx)).node);
      assert.ok(choice);
      await meanwhile(tx, choice.node.id);
      commitClaims(tx, choice, sale);
      return choice.node.id;
    });
  const written = async (): Promise<Readonly<Record<string, number>>> =>
    (
      await owner.query(
        `select (select count(*)::int from allocations) as allocations, (select count(*)::int from allocation_resource_claims) as claims,
           (select coalesce(sum(gpu_used), 0)::int from quotas) as quota, (select count(*)::int from node_resource_slots where status <> 'available') as slots`,
      )
    ).rows[0];

  it('quota used up meanwhile refuses it, and nothing is stored', async () => {
    const before_ = await written();
    const taken = launch('quota', (tx) =>
      tx.query("update quotas set gpu_limit = 1 where organization_id = $1 and project_id = ''", [
        tenant.organization_id,
      ]),
    );
    await assert.rejects(taken, { code: 'quota_exceeded' });
    assert.deepEqual(await written(), before_);
  });

  it('a project deleted meanwhile refuses it, and nothing is stored', async () => {
    const before_ = await written();
    const taken = launch('project', (tx) =>
      tx.query('update projects set deleted_at = now() where id = $1', [tenant.project_id]),
    );
    await assert.rejects(taken, { code: 'not_found' });
    assert.deepEqual(await written(), before_);
  });

  it('a SKU retired meanwhile refuses it, and nothing is stored', async () => {
    const before_ = await written();
    const taken = launch('sku', (tx) =>
      tx.query('update sku_catalog set retired_at = now() where name = $1', [SLICE_SKU]),
    );
    await assert.rejects(taken, { code: 'not_found', message: `No SKU named "${SLICE_SKU}".` });
    assert.deepEqual(await written(), before_);
  });

  it('a slot that became unavailable meanwhile refuses it as retryable, and nothing is stored', async () => {
    const before_ = await written();
    const taken = launch('capacity', (tx, nodeId) =>
      tx.query("update node_resource_slots set status = 'quarantined' where node_id = $1", [nodeId]),
    );
    await assert.rejects(taken, { code: 'unavailable' });
    assert.deepEqual(await written(), before_);
  });

  it('a duplicate name refuses it, and any other error is passed on', async () => {
    await launch('taken');
    const before_ = await written();
    assert.deepEqual(before_, { allocations: 1, claims: 2, quota: 4, slots: 2 });
    await assert.rejects(launch('taken'), { code: 'already_exists' });
    await assert.rejects(launch('Not A Name'), { code: '23514' });
    assert.deepEqual(await written(), before_);
  });

  it('a node that no longer fits, despite its index row, is skipped for the next', async () => {
    const { node: chosen } = await db.database.write(PLATFORM, first);
    assert.ok(chosen);
    // Without an index update, as no production code does.
    await owner.query("update nodes set state = 'draining' where id = $1", [chosen.id]);
    const placed = await launch('elsewhere');
    assert.ok(nodeIds.includes(placed));
    assert.notEqual(placed, chosen.id);
  });

  it('a request waiting for a node holds no locks on skipped nodes', async () => {
    const { rows } = await owner.query<{ id: string; state: string }>('select id, state from nodes order by state');
    const [fit, unfit] = rows;
    assert.ok(fit && unfit);
    assert.deepEqual([fit.state, unfit.state], ['active', 'draining']);
    await owner.query('begin');
    await owner.query('select from node_placement_summary where node_id = $1 for update', [fit.id]);
    const waiting = db.database.write(PLATFORM, (tx) =>
      chooseNode(tx, saleOf('waits').launch.request, query(), undefined),
    );
    await until('it waits', async () => {
      // Within a transaction activity is read once and cached.
      await owner.query('select pg_stat_clear_snapshot()');
      const { rowCount } = await owner.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return rowCount === 1;
    });
    await owner.query('select from node_placement_summary where node_id = $1 for update nowait', [unfit.id]);
    await owner.query('commit');
    assert.equal((await waiting)?.node.id, fit.id);
  });

  it('with every node unfit none is chosen', async () => {
    await owner.query("update nodes set state = 'draining'");
    const choice = await db.database.write(PLATFORM, async (tx) =>
      chooseNode(tx, saleOf('none').launch.request, query(), undefined),
    );
    assert.equal(choice, null);
  });

  it('a node with a model of no SKU accepts nothing', async () => {
    const { id } = await aNode(owner, { gpu_model: 'unsold' });
    await db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
    const { rows } = await owner.query(
      'select is_schedulable, key_1, key_8, key_node from node_placement_summary where node_id = $1',
      [id],
    );
    assert.deepEqual(rows, [{ is_schedulable: false, key_1: null, key_8: null, key_node: null }]);
  });

  it('bare metal needs a slot or a data disk, whose wipe can be proven', async () => {
    const keyOf = async (facts: Parameters<typeof aNode>[1]) => {
      const { id } = await aNode(owner, { capacity_mode: 'baremetal', slots: false, ...facts });
      await db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
      const { rows } = await owner.query('select key_node from node_placement_summary where node_id = $1', [id]);
      return rows[0].key_node;
    };
    assert.equal(await keyOf({ data_disks: [] }), null);
    assert.notEqual(await keyOf({}), null);
  });

  it('the index row written by a claim equals a freshly computed one', async () => {
    const look = () =>
      owner.query('select * from node_placement_summary where node_id = any ($1) order by node_id', [nodeIds]);
    const { rows } = await look();
    for (const id of nodeIds) {
      await owner.query("update nodes set state = 'active' where id = $1", [id]);
      await db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
    }
    const fresh = await look();
    assert.equal(rows.length, 2);
    for (const [at, row] of rows.entries()) {
      assert.equal(row.free_mask, fresh.rows[at].free_mask);
      assert.deepEqual([row.key_8, row.key_node], [null, null]);
      // The age of the oldest claim is its last digit, and the claim is written a moment after the request was read.
      for (const key of ['key_1', 'key_2', 'key_4']) assert.ok(Math.abs(row[key] - fresh.rows[at][key]) <= 1, key);
    }
  });
});
