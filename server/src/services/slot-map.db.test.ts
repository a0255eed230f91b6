import '../../test/own-cluster.ts';
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import type { ReadCtx } from '../context.ts';
import { type Database, PLATFORM, type Reader } from '../db/client.ts';
import { listSlotMap } from '../db/slot-map.ts';
import { list } from './slot-map.ts';

const contextOf = (database: Database): ReadCtx =>
  ({
    operation: 'adminSlotMapList',
    organization_id: null,
    project_id: null,
    principal: { id: 'usr_a' },
    read: <T>(fn: (reader: Reader) => Promise<T>) => database.read(PLATFORM, fn),
  }) as unknown as ReadCtx;

const page = (ctx: ReadCtx, query: { limit?: number; cursor?: string; region_name?: string }) =>
  list(ctx, { params: {}, query, body: {}, if_match: undefined, last_event_id: undefined });

const world = async (t: TestContext) => {
  // Closed before the database is dropped, by the next hook.
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  return { database, sql };
};

test('the map shows every node by name with its slots and their holders, and no deleted node', async (t) => {
  const { database, sql } = await world(t);
  const [sliced, whole, gone, bare] = [
    await aNode(sql),
    await aNode(sql),
    await aNode(sql, { state: 'deleted' }),
    await aNode(sql, { slots: false }),
  ];
  for (const [id, name] of [
    [sliced.id, 'b-sliced'],
    [whole.id, 'a-whole'],
    [gone.id, 'c-gone'],
    [bare.id, 'd-bare'],
  ])
    await sql.query('update nodes set name = $2 where id = $1', [id, name]);
  const slice = await anAllocation(sql, { node: sliced, gpu_count: 2, state: 'active' });
  const metal = await anAllocation(sql, { node: whole, shape: 'baremetal', state: 'active' });
  await sql.query(
    `update node_resource_slots set approval = 'needs_reapproval', drift = '{"mac_address": {"approved": 1, "found": 2}}' where id = $1`,
    [sliced.slot_ids[7]],
  );
  const ctx = contextOf(database);
  const { items, next_cursor } = await page(ctx, {});
  assert.equal(next_cursor, null);
  assert.deepEqual(
    items.map(({ name, slots }) => [name, slots.map(({ allocation_id }) => allocation_id)]),
    [
      ['a-whole', Array(8).fill(metal.id)],
      ['b-sliced', [slice.id, slice.id, ...Array(6).fill(null)]],
      ['d-bare', []],
    ],
  );
  const tiles = items[1]?.slots ?? [];
  assert.deepEqual(
    tiles.map(({ slot_index }) => slot_index),
    [0, 1, 2, 3, 4, 5, 6, 7],
  );
  assert.deepEqual(
    tiles.map(({ has_hardware_change }) => has_hardware_change),
    [...Array(7).fill(false), true],
  );
  for (const { status_since } of tiles) assert.match(status_since, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

  const names: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const one = await page(ctx, { limit: 1, ...(cursor === undefined ? {} : { cursor }) });
    names.push(...one.items.map(({ name }) => name));
    if (one.next_cursor === null) break;
    cursor = one.next_cursor;
  }
  assert.deepEqual(names, ['a-whole', 'b-sliced', 'd-bare']);
  assert.deepEqual((await page(ctx, { region_name: 'elsewhere' })).items, []);
});

test('a page of the map uses indexes: it reads neither all nodes, nor all slots, nor all claims', async (t) => {
  const { database, sql } = await world(t);
  const { id } = await aNode(sql);
  await sql.query(
    `insert into nodes (id, name, region_name, pool_id, gpu_model, gpu_count, host_role, state, capacity_mode)
     select 'nod_' || n, 'n-' || n, region_name, pool_id, gpu_model, gpu_count, host_role, state, capacity_mode
     from nodes cross join generate_series(1, 1000) n where id = $1`,
    [id],
  );
  await sql.query(
    `insert into node_resource_slots (id, node_id, region_name, slot_index, approval, status, network_id)
     select 'slt_' || n.id || i, n.id, n.region_name, i, 'disabled', 'quarantined', n.id
     from nodes n cross join generate_series(0, 7) i where n.id <> $1`,
    [id],
  );
  // Of a table without rows the planner cannot tell one index from another.
  await sql.query('drop index claims_live_by_project');
  await sql.query('analyze nodes, node_resource_slots, allocation_resource_claims');
  let plan = '';
  await database.read(PLATFORM, async (reader) => {
    const explaining: Reader = {
      query: async (text, values) => {
        if (!text.includes('node_resource_slots')) return reader.query(text, values);
        const { rows } = await reader.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
        plan = rows.map((row) => row['QUERY PLAN']).join('\n');
        return { rows: [], rowCount: 0 };
      },
    };
    await listSlotMap(explaining, { after: null, limit: 201, region_name: null });
  });
  assert.match(plan, /Limit.*\n.*Index Scan using nodes_live_name/);
  assert.doesNotMatch(plan, /Seq Scan|Sort/);
  // The disks of one node are elements of its own row. Besides the names, which are read in order up to the page, every index is read by one key.
  const scans = plan
    .split('\n')
    .flatMap((line, at, lines) =>
      / Scan /.test(line) && !line.includes('Function Scan') ? [[line, lines[at + 1] ?? '']] : [],
    );
  assert.ok(scans.length >= 6, plan);
  for (const [scan = '', next = ''] of scans)
    assert.ok(scan.includes('nodes_live_name') || next.includes('Index Cond'), `${scan}\n${next}`);
});
