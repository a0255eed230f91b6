import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, anAllocation, BAREMETAL_SKU, REGION, SLICE_SKU } from '../../test/placement.ts';
import { acmeStage, must } from '../../test/tenants.ts';
import { PLATFORM } from '../db/client.ts';
import { listExpected } from '../db/expected-capacity.ts';
import { expectedEntries, type HeldNode, type HoldingClaim } from '../domain/expected-capacity.ts';
import { refreshSummary } from '../placement/summary.ts';
import { countCapacity } from './count-capacity.ts';

const CLEANUP = { gpu_slice: 300, baremetal: 600 };
const SHAPES = ['gpu_slice', 'baremetal'] as const;
/** Of the end of an allocation, or the start of its cleanup; none is close to the border between known and overdue. */
const minutes = fc.constantFrom(-60, -2, 5, 20, 47, 200);

const held = fc.record({
  gpu_count: fc.integer({ min: 1, max: 3 }),
  state: fc.constantFrom('requested', 'active', 'active', 'active', 'releasing', 'release_failed'),
  is_protected: fc.constantFrom(false, false, true),
  ends: fc.option(minutes),
});
const plan = fc.record({
  capacity_mode: fc.constantFrom('slice', 'baremetal', 'flexible'),
  health: fc.constantFrom('ok', 'ok', 'unhealthy'),
  state: fc.constantFrom('active', 'active', 'active', 'draining'),
  is_held: fc.constantFrom(false, false, true),
  is_runtime_passed: fc.constantFrom(true, true, false),
  is_whole: fc.boolean(),
  sick_slot: fc.option(fc.integer({ min: 0, max: 7 })),
  claims: fc.array(held, { minLength: 1, maxLength: 2 }),
});

test('what the reconciler stores is the rule of the domain, on generated fleets', async (t) => {
  const { database, ownerUrl, drop } = await testDatabase();
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  t.after(async () => {
    await sql.end();
    await drop();
  });
  const now = Date.now();
  const at = (offset: number): string => new Date(now + offset * 60_000 + 7_000).toISOString();
  const nodes: HeldNode[] = [];
  for (const one of fc.sample(plan, { numRuns: 40, seed: Math.floor(Math.random() * 2 ** 31) })) {
    const isWhole = one.capacity_mode === 'baremetal' || (one.capacity_mode === 'flexible' && one.is_whole);
    const node = await aNode(sql, one);
    const claims: HoldingClaim[] = [];
    for (const wanted of isWhole ? one.claims.slice(0, 1) : one.claims) {
      const shape = isWhole ? 'baremetal' : 'gpu_slice';
      const { state, is_protected } = wanted;
      const made = await anAllocation(sql, {
        ...{ node, shape, gpu_count: wanted.gpu_count, is_protected },
        state: state as 'active',
      });
      const isReleasing = state === 'releasing' || state === 'release_failed';
      const release_at = wanted.ends === null || isReleasing ? null : at(wanted.ends);
      const release_requested_at = isReleasing ? at(wanted.ends ?? -60) : null;
      await sql.query('update allocations set release_at = $2, release_requested_at = $3 where id = $1', [
        made.id,
        release_at,
        release_requested_at,
      ]);
      const slots = isWhole ? null : made.slot_ids.map((id) => node.slot_ids.indexOf(id));
      claims.push({ slots, shape, state, is_protected, release_at, release_requested_at, is_left: false });
    }
    if (one.sick_slot !== null)
      await sql.query("update node_resource_slots set health = 'unhealthy' where id = $1", [
        node.slot_ids[one.sick_slot],
      ]);
    if (one.is_held) await sql.query("update nodes set is_held = true, held_reason = 'kept' where id = $1", [node.id]);
    await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
    const { rows } = await sql.query('select free_count from node_placement_summary where node_id = $1', [node.id]);
    if (one.health === 'ok' && one.state === 'active')
      nodes.push({
        gpu_count: 8,
        capacity_mode: one.capacity_mode as HeldNode['capacity_mode'],
        is_held: one.is_held,
        is_validated: one.is_runtime_passed,
        free_gpus: rows[0]?.free_count ?? 0,
        fit_slots: [0, 1, 2, 3, 4, 5, 6, 7].filter((slot) => slot !== one.sick_slot),
        claims,
      });
  }
  const found = await database.read(PLATFORM, (reader) => listExpected(reader, CLEANUP));
  for (const shape of SHAPES)
    assert.deepEqual(
      found.find((row) => row.shape === shape)?.entries ?? [],
      expectedEntries(nodes, shape, now, CLEANUP),
      shape,
    );
});

test('a tenant reads when more GPUs are expected of others, without a word about them, and so does its refused launch', async (t) => {
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers) await close();
  });
  const { tenants, owner, project } = await acmeStage({ after: (fn) => void closers.unshift(fn) });
  const { sql, rival, test: app } = tenants;
  const { database } = app.db;
  const node = await aNode(sql);
  const tenant = { organization_id: rival.organization_id, project_id: rival.ids.project_id };
  const whole = await anAllocation(sql, { node, tenant, shape: 'baremetal', state: 'active', name: 'secret-name' });
  const other = await aNode(sql, { capacity_mode: 'slice' });
  const cleaned = await anAllocation(sql, { node: other, tenant, gpu_count: 4, state: 'releasing' });
  await sql.query("update allocations set release_at = '2099-01-01T10:00:01Z' where id = $1", [whole.id]);
  for (const { id } of [node, other]) await database.write(PLATFORM, (tx) => refreshSummary(tx, id));
  // Nothing else may be launched, so that the launch below is refused.
  await sql.query('update nodes set is_held = true, held_reason = $2 where id <> all ($1) and not is_held', [
    [node.id, other.id],
    'kept',
  ]);
  await countCapacity({ database });

  const rows = must(await owner.get(`${project}/capacity?limit=200`), 200).body.items;
  const of = (sku: string) =>
    rows.find((row: Record<string, unknown>) => row['region_name'] === REGION && row['sku_name'] === sku)?.expected;
  assert.deepEqual(of(BAREMETAL_SKU), { gpus: 8, at: '2099-01-01T10:15:00.000Z', kind: 'release' });
  assert.deepEqual([of(SLICE_SKU)?.gpus, of(SLICE_SKU)?.kind], [4, 'cleanup']);
  for (const id of [rival.organization_id, rival.ids.project_id, whole.id, cleaned.id, node.id, 'secret-name'])
    assert.ok(!JSON.stringify(rows).includes(id), id);

  const body = { sku_name: BAREMETAL_SKU, region_name: REGION, gpu_count: 8 };
  await sql.query('update nodes set capacity_mode = $2 where capacity_mode <> $2 and id <> $1', [node.id, 'slice']);
  for (const { rows: more } of [await sql.query('select id from nodes')])
    for (const { id } of more) await database.write(PLATFORM, (tx) => refreshSummary(tx, id));
  const estimate = must(await owner.post(`${project}/allocations:estimate`, body), 200).body;
  assert.deepEqual([estimate.fits_now, estimate.expected?.gpus], [false, 8]);
  const refused = await owner.post(`${project}/allocations`, {
    ...body,
    name: 'later',
    ssh_key_ids: [tenants.acme.ids.ssh_key_id],
  });
  assert.deepEqual([refused.status, refused.body.code], [409, 'insufficient_capacity']);
  const said = refused.body.reasons.find(({ code }: { code: string }) => code === 'expected');
  assert.equal(
    said?.detail,
    '8 more GPUs are expected by 2099-01-01 10:15 UTC, when allocations reach their maximum duration.',
  );
  await assertInvariants(database);
});
