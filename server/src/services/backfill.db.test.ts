import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { assertInvariants, findViolations } from '../../test/invariants.ts';
import { aNode, anAllocation, BAREMETAL_SKU, REGION, SLICE_SKU, type TestNode } from '../../test/placement.ts';
import { must, type User } from '../../test/tenants.ts';
import { PLATFORM } from '../db/client.ts';
import { insertBackfilledClaim, listUnclaimed } from '../db/statements/backfill.ts';
import { refreshSummary } from '../placement/summary.ts';

let app: TestApp;
let root: User;
let ada: User;
let sql: Client;
const closers: (() => Promise<void>)[] = [];
before(async () => {
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  app = await startTestApp(t, { roles: ['gpuaas-api'] });
  [root, ada] = [await app.admin(), await app.user('ada')];
  sql = new Client({ connectionString: app.db.ownerUrl });
  await sql.connect();
  t.after(() => sql.end());
});
after(async () => {
  for (const close of closers) await close();
});

const newNode = async (): Promise<TestNode> => {
  const node = await aNode(sql, { capacity_mode: 'baremetal' });
  await app.db.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  return node;
};

/** An allocation from before claims: it only names its node. */
const oldAllocation = async (id: string, node_id: string, facts: { state?: string; shape?: string } = {}) => {
  const state = facts.state ?? 'active';
  const shape = facts.shape ?? 'baremetal';
  await sql.query(
    `insert into allocations (id, organization_id, project_id, name, capacity_shape, sku_name, region_name, gpu_count, node_id, state,
       requested_by, activated_at, release_requested_at, correlation_id, created_at, state_since)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'usr_old', now() - interval '1 hour',
       case when $10 <> 'active' then now() - interval '1 minute' end, 'old', now() - interval '2 hours', now() - interval '2 hours')`,
    [
      id,
      ada.organization_id,
      ada.project_id,
      id.slice(4).replaceAll('_', '-'),
      shape,
      shape === 'baremetal' ? BAREMETAL_SKU : SLICE_SKU,
      REGION,
      shape === 'baremetal' ? 8 : 1,
      node_id,
      state,
    ],
  );
  await sql.query(
    `insert into usage_records (id, allocation_id, organization_id, project_id, sku_name, gpu_count, gpu_hourly_price_minor, currency, started_at,
       ended_at, cost_minor, correlation_id)
     select replace(id, 'alc_', 'usg_'), id, organization_id, project_id, sku_name, gpu_count, 450, 'USD', activated_at, release_requested_at,
       round(gpu_count * 450 * extract(epoch from release_requested_at - activated_at)::numeric / 3600), 'old' from allocations where id = $1`,
    [id],
  );
};
const idOf = (number: number): string => `alc_${String(number).padStart(26, '0')}`;
const idIn = ({ allocation_id }: { allocation_id: string }): string => allocation_id;
const backfill = async (is_dry_run: boolean) =>
  must(await root.post('/api/v1/admin/claims/backfill', { is_dry_run }), 200).body;

test('node-bound allocations from before claims get theirs once, after a dry run that changed nothing', async () => {
  const nodes = [await newNode(), await newNode(), await newNode(), await newNode()] as const;
  const [running, leaving, taken, slice] = nodes;
  await oldAllocation(idOf(1), running.id);
  await oldAllocation(idOf(2), leaving.id, { state: 'releasing' });
  const holder = await anAllocation(sql, { node: taken, shape: 'baremetal', state: 'active' });
  await app.db.database.write(PLATFORM, (tx) => refreshSummary(tx, taken.id));
  await oldAllocation(idOf(3), taken.id);
  await oldAllocation(idOf(4), slice.id, { shape: 'gpu_slice' });
  await oldAllocation(idOf(5), running.id, { state: 'releasing' });

  const skipped = [
    { allocation_id: idOf(3), reason: `The node is claimed by ${holder.id}.` },
    { allocation_id: idOf(4), reason: 'The slots of a slice cannot be determined without claims.' },
    { allocation_id: idOf(5), reason: `The node is also bound to ${idOf(1)}.` },
  ];
  const claimed = [
    { allocation_id: idOf(1), node_id: running.id },
    { allocation_id: idOf(2), node_id: leaving.id },
  ];
  const claims = async () => (await sql.query('select count(*)::int as n from allocation_resource_claims')).rows[0].n;
  const before = await claims();
  assert.deepEqual(await backfill(true), { is_dry_run: true, claimed, skipped, next_after_id: null });
  assert.equal(await claims(), before);

  assert.deepEqual(await backfill(false), { is_dry_run: false, claimed, skipped, next_after_id: null });
  const { rows } = await sql.query(
    `select c.allocation_id, c.claim_kind, c.gpu_count, n.occupancy, m.is_schedulable,
       (select array_agg(distinct s.status) from node_resource_slots s where s.node_id = n.id) as slots
     from allocation_resource_claims c join nodes n on n.id = c.node_id join node_placement_summary m on m.node_id = n.id
     where c.allocation_id = any ($1) order by 1`,
    [[idOf(1), idOf(2)]],
  );
  const claim = { claim_kind: 'node_exclusive', gpu_count: 8, is_schedulable: false };
  assert.deepEqual(rows, [
    { allocation_id: idOf(1), ...claim, occupancy: 'exclusive', slots: ['in_use'] },
    { allocation_id: idOf(2), ...claim, occupancy: 'cleaning', slots: ['cleaning'] },
  ]);
  const runs = await sql.query('select subject_id, workflow, state from workflow_runs where subject_id = any ($1)', [
    [idOf(1), idOf(2)],
  ]);
  assert.deepEqual(
    runs.rows,
    [{ subject_id: idOf(2), workflow: 'release-allocation', state: 'pending' }],
    'the release without a run is taken up',
  );

  const again = await backfill(false);
  assert.deepEqual(again.claimed, []);
  assert.equal(again.skipped.length, 3);
  assert.equal(await claims(), before + 2);
  // The two completed ones are like any other; the three skipped ones are still reported.
  const told = await findViolations(app.db.database);
  assert.deepEqual(
    told.map(({ invariant, subject_id }) => [invariant, subject_id]),
    [
      ...[idOf(3), idOf(4), idOf(5)].map((id) => ['allocation_is_whole', id]),
      ['change_has_deadline_and_owner', idOf(5)],
    ],
  );
  for (const number of [3, 4, 5]) {
    await sql.query('delete from usage_records where allocation_id = $1', [idOf(number)]);
    await sql.query('delete from allocations where id = $1', [idOf(number)]);
  }
  await assertInvariants(app.db.database);
});

test('batches commit one by one, continue after skipped rows, and resume where they were interrupted', async () => {
  const ids = [11, 12, 13, 14, 15].map(idOf);
  const held = await newNode();
  await oldAllocation(idOf(11), held.id, { shape: 'gpu_slice' });
  for (const id of ids.slice(1, 4)) await oldAllocation(id, (await newNode()).id);
  await oldAllocation(idOf(15), (await newNode()).id, { state: 'release_failed' });
  const batch = async (after_id?: string) =>
    must(
      await root.post('/api/v1/admin/claims/backfill', {
        is_dry_run: false,
        limit: 2,
        ...(after_id ? { after_id } : {}),
      }),
      200,
    ).body;
  const first = await batch();
  assert.deepEqual(
    [first.skipped.map(idIn), first.claimed.map(idIn), first.next_after_id],
    [[idOf(11)], [idOf(12)], idOf(12)],
  );
  // Interrupted here and started again: skipped rows are skipped again, claimed ones are not found again.
  const anew = await batch();
  assert.deepEqual([anew.claimed.map(idIn), anew.next_after_id], [[idOf(13)], idOf(13)]);
  const rest = await batch(anew.next_after_id);
  assert.deepEqual([rest.claimed.map(idIn), rest.next_after_id], [[idOf(14), idOf(15)], idOf(15)]);
  assert.deepEqual(await batch(rest.next_after_id), {
    is_dry_run: false,
    claimed: [],
    skipped: [],
    next_after_id: null,
  });
  const { rows } = await sql.query(
    `select n.occupancy, (select array_agg(distinct s.status) from node_resource_slots s where s.node_id = n.id) as slots
     from nodes n join allocations a on a.node_id = n.id where a.id = $1`,
    [idOf(15)],
  );
  assert.deepEqual(rows, [{ occupancy: 'cleanup_blocked', slots: ['cleanup_blocked'] }], 'blocked stays blocked');
  await sql.query('delete from usage_records where allocation_id = $1', [idOf(11)]);
  await sql.query('delete from allocations where id = $1', [idOf(11)]);
});

test('an allocation that got its claim meanwhile gets no second one', async () => {
  const node = await newNode();
  await oldAllocation(idOf(21), node.id);
  const again = await app.db.database.write(PLATFORM, async (tx) => {
    const [row] = await listUnclaimed(tx, { after_id: idOf(20), limit: 1 });
    assert.equal(row?.allocation_id, idOf(21));
    const facts = { allocation_id: idOf(21), node_id: node.id };
    const once = await insertBackfilledClaim(tx, { ...facts, claim_id: mintId('clm') });
    return [once, await insertBackfilledClaim(tx, { ...facts, claim_id: mintId('clm') })];
  });
  assert.deepEqual(again, [true, false]);
});

test('a tenant may not run the backfill', async () => {
  assert.equal((await ada.post('/api/v1/admin/claims/backfill', { is_dry_run: true })).status, 403);
});
