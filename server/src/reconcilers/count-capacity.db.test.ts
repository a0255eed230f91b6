import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, anAllocation, aSlot, REGION } from '../../test/placement.ts';
import type { ReadCtx } from '../context.ts';
import { type CapacityCounts, countFleet } from '../db/capacity.ts';
import { type Database, PLATFORM, type Reader } from '../db/client.ts';
import { refreshSummary } from '../placement/summary.ts';
import { fleetList } from '../services/capacity.ts';
import { countCapacity, createCapacityCounter } from './count-capacity.ts';

type TestLike = Readonly<{ after(fn: () => Promise<void>): void }>;

const start = async (t: TestLike) => {
  const { database, ownerUrl, drop } = await testDatabase();
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  t.after(async () => {
    await sql.end();
    await drop();
  });
  return { database, sql };
};
const refresh = (database: Database, id: string) => database.write(PLATFORM, (tx) => refreshSummary(tx, id));

const readCounters = (database: Database) =>
  database.read(PLATFORM, async (reader) => {
    const { rows } = await reader.query<{ counts: CapacityCounts; counted_at: string; region_name: string }>(
      'select * from capacity_counters order by region_name, pool_organization_id',
    );
    return rows;
  });

const held = (counts: CapacityCounts['gpu_slice']) =>
  Object.fromEntries(Object.entries(counts.unavailable_gpus).filter(([, gpus]) => gpus > 0));

test('each GPU is counted once per shape, under its unavailable reason', async (t) => {
  const { database, sql } = await start(t);
  const nodes = {
    mixed: await aNode(sql, { capacity_mode: 'slice' }),
    held: await aNode(sql),
    sliced: await aNode(sql),
    metal: await aNode(sql, { capacity_mode: 'baremetal' }),
    draining: await aNode(sql, { capacity_mode: 'slice', state: 'draining' }),
    unchecked: await aNode(sql, { capacity_mode: 'slice', is_runtime_passed: false }),
    sick: await aNode(sql, { health: 'unhealthy' }),
    enrolling: await aNode(sql, { state: 'enrolling' }),
  };
  const change = (index: number, columns: string) =>
    sql.query(`update node_resource_slots set ${columns} where id = $1`, [nodes.mixed.slot_ids[index]]);
  await change(7, "status = 'quarantined'");
  await change(6, "approval = 'needs_reapproval'");
  await change(5, "health = 'unhealthy'");
  await anAllocation(sql, { node: nodes.mixed, gpu_count: 1, state: 'active' });
  await anAllocation(sql, { node: nodes.mixed, gpu_count: 1, state: 'releasing' });
  await sql.query("update nodes set is_held = true, held_reason = 'kept' where id = $1", [nodes.held.id]);
  await anAllocation(sql, { node: nodes.sliced, gpu_count: 4, state: 'requested' });
  await anAllocation(sql, { node: nodes.metal, shape: 'baremetal', state: 'active' });
  for (const node of Object.values(nodes)) await refresh(database, node.id);

  const [counted, ...others] = await database.read(PLATFORM, countFleet);
  assert.deepEqual(others, []);
  const { gpu_slice, baremetal, ...all } = counted?.counts ?? assert.fail('nothing was counted');
  assert.deepEqual(all, {
    nodes: 7,
    delivered_gpus: 56,
    healthy_gpus: 47,
    reserved_gpus: 1 + 4 + 8,
    active_gpus: 9,
    free_gpus: 3 + 8 + 4,
    unapproved_gpus: 0,
    // A draining node, one whose runtime was not checked, an unhealthy one, and four slots of the mixed one.
    blocked_gpus: 8 + 8 + 8 + 4,
    largest_set: 8,
    empty_nodes: 2,
  });
  assert.deepEqual(held(gpu_slice), {
    claimed: 5,
    cleaning: 1,
    quarantined: 1,
    hardware_changed: 1,
    unhealthy: 9,
    held: 8,
    not_ready: 16,
  });
  assert.deepEqual([gpu_slice.gpus_total, gpu_slice.free_gpus, gpu_slice.largest_set], [48, 7, 4]);
  assert.deepEqual(gpu_slice.nodes_that_fit, { '1': 2, '2': 2, '4': 1, '8': 0 });
  assert.deepEqual(held(baremetal), { claimed: 12, unhealthy: 8, fragmented: 4 });
  assert.deepEqual([baremetal.gpus_total, baremetal.free_gpus, baremetal.largest_set], [32, 8, 8]);
  assert.equal(baremetal.nodes_that_fit['8'], 1);
  const sums = ({ healthy_gpus, reserved_gpus, active_gpus }: CapacityCounts['gpu_slice']) => [
    healthy_gpus,
    reserved_gpus,
    active_gpus,
  ];
  assert.deepEqual(sums(gpu_slice), [39, 1 + 4, 1], 'a whole node counts for bare metal only');
  assert.deepEqual(sums(baremetal), [24, 8, 8], 'and a slice for slices only');
  for (const shape of [gpu_slice, baremetal])
    assert.equal(
      Object.values(shape.unavailable_gpus).reduce((sum, gpus) => sum + gpus, shape.free_gpus),
      shape.gpus_total,
    );
  await assertInvariants(database);
});

test('a node without approved slots offers no slice', async (t) => {
  const { database, sql } = await start(t);
  const bare = await aNode(sql, { capacity_mode: 'slice', slots: false });
  const either = await aNode(sql, { slots: false });
  for (const { id } of [bare, either]) await refresh(database, id);
  const [counted] = await database.read(PLATFORM, countFleet);
  const { gpu_slice, baremetal, free_gpus } = counted?.counts ?? assert.fail('nothing was counted');
  assert.deepEqual(held(gpu_slice), { unapproved: 16 });
  assert.deepEqual([gpu_slice.free_gpus, gpu_slice.largest_set], [0, 0]);
  const { unapproved_gpus, blocked_gpus } = counted?.counts ?? {};
  assert.deepEqual([unapproved_gpus, blocked_gpus], [8, 0], 'a whole node with disks can be launched without slots');
  assert.equal(free_gpus, baremetal.free_gpus + gpu_slice.free_gpus, 'what no shape gives is not free');
});

test('reserved, free, unapproved and blocked GPUs are what was delivered, in each row', async (t) => {
  const { database, sql } = await start(t);
  const one = <T>(values: readonly T[]) => fc.constantFrom(...values);
  const plan = fc.record({
    mode: one(['slice', 'baremetal', 'flexible'] as const),
    state: one(['active', 'active', 'draining', 'offline', 'enrolling']),
    health: one(['ok', 'ok', 'ok', 'unhealthy']),
    is_runtime_passed: fc.boolean(),
    has_disks: fc.boolean(),
    is_loose: one([false, false, true]),
    is_held: fc.boolean(),
    slots: fc.array(
      one([
        {},
        {},
        { approval: 'disabled' },
        { approval: 'needs_reapproval' },
        { health: 'unhealthy' },
        { status: 'quarantined' },
      ]),
      { maxLength: 8 },
    ),
    claim: one([null, null, { gpu_count: 2, state: 'active' }, { gpu_count: 1, state: 'releasing' }, 'node'] as const),
  });
  const plans = fc.sample(plan, { numRuns: 60, seed: Math.floor(Math.random() * 2 ** 31) });
  for (const { mode, state, has_disks, is_loose, slots, claim, is_held, ...facts } of plans) {
    const bare = await aNode(sql, {
      ...facts,
      state,
      capacity_mode: mode,
      slots: false,
      ...(has_disks ? {} : { data_disks: [] }),
    });
    if (is_loose)
      await sql.query('update nodes set disks_found = $2 where id = $1', [
        bare.id,
        '[{"name": "nvme9n1", "serial": null}]',
      ]);
    const slot_ids: string[] = [];
    for (const [index, slot] of slots.entries()) slot_ids.push(await aSlot(sql, bare.id, index, slot));
    const node = { ...bare, slot_ids };
    const free = slots.filter((slot) => Object.keys(slot).length === 0).length;
    if (claim === 'node' && mode !== 'slice' && free === 8)
      await anAllocation(sql, { node, shape: 'baremetal', state: 'active' });
    else if (claim !== null && claim !== 'node' && mode !== 'baremetal' && free >= claim.gpu_count)
      await anAllocation(sql, { node, ...claim });
    else if (is_held) await sql.query("update nodes set is_held = true, held_reason = 'kept' where id = $1", [node.id]);
    await refresh(database, node.id);
  }
  const counted = await database.read(PLATFORM, countFleet);
  const delivered = plans.filter(({ state }) => state !== 'enrolling').length * 8;
  assert.equal(
    counted.reduce((sum, { counts }) => sum + counts.delivered_gpus, 0),
    delivered,
  );
  await countCapacity({ database });
  const { items } = await fleetList(
    { deps: {}, read: (fn: (reader: Reader) => unknown) => database.read(PLATFORM, fn as never) } as unknown as ReadCtx,
    { params: {}, query: {}, body: {}, if_match: undefined, last_event_id: undefined },
  );
  assert.equal(items.length, 1);
  for (const row of items.flatMap((item) => [item, ...item.skus]))
    assert.equal(
      row.reserved_gpus + row.free_gpus + row.unapproved_gpus + row.blocked_gpus,
      row.delivered_gpus,
      JSON.stringify([row, plans]),
    );
});

test('it counts when the index has changed or the count is old, and not otherwise', async (t) => {
  const { database, sql } = await start(t);
  const node = await aNode(sql);
  await refresh(database, node.id);
  let now = 0;
  const counter = createCapacityCounter({ database, now: () => now });
  const countedAt = async () => (await readCounters(database))[0]?.counted_at;
  await counter.run();
  const first = await countedAt();
  assert.ok(first);
  now += 1_000;
  await counter.run();
  assert.equal(await countedAt(), first, 'nothing has changed');
  await sql.query("update node_resource_slots set status = 'quarantined' where id = $1", [node.slot_ids[0]]);
  await refresh(database, node.id);
  now += 1_000;
  await counter.run();
  const second = await countedAt();
  assert.notEqual(second, first);
  assert.equal((await readCounters(database))[0]?.counts.free_gpus, 7);
  now += 5_000;
  await counter.run();
  assert.notEqual(await countedAt(), second, 'a count is never older than five seconds');
});

test('a region without nodes has no counters', async (t) => {
  const { database, sql } = await start(t);
  const node = await aNode(sql);
  await refresh(database, node.id);
  await countCapacity({ database });
  assert.deepEqual(
    (await readCounters(database)).map((row) => row.region_name),
    [REGION],
  );
  await sql.query("update nodes set state = 'retired' where id = $1", [node.id]);
  await refresh(database, node.id);
  await countCapacity({ database });
  assert.deepEqual(await readCounters(database), []);
});
