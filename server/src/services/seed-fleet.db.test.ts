import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase } from '../../test/database.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { countFleet } from '../db/capacity.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { findNode, listNodes } from '../db/node.ts';
import { listSchedulerNodes } from '../db/placement.ts';
import { seedCatalog } from './seed.ts';
import { seedFleet } from './seed-fleet.ts';

const page = { after: null, limit: 100, name: null, region_name: null, state: null };
const nodesOf = (database: Database) => database.read(PLATFORM, (reader) => listNodes(reader, page));

test('the demo fleet is six approved hosts in mixed modes, and seeding again changes nothing', async (t) => {
  const { database } = await testDatabase(t);
  await seedCatalog(database);
  await seedFleet(database);
  const nodes = await nodesOf(database);
  assert.deepEqual(
    nodes.map((node) => [node.capacity_mode, node.free_gpus, node.largest_set, node.is_runtime_validated]),
    ['slice', 'slice', 'slice', 'flexible', 'flexible', 'baremetal'].map((mode) => [mode, 8, 8, true]),
  );
  const snapshot = () =>
    database.read(PLATFORM, async (reader) => {
      const { rows } = await reader.query(
        "select md5(string_agg(to_jsonb(s)::text, '' order by id)) as slots, (select count(*) from node_tasks) as tasks, (select count(*) from users) as users from node_resource_slots s",
      );
      return rows[0];
    });
  const before = await snapshot();
  await seedCatalog(database);
  await seedFleet(database);
  assert.deepEqual(await snapshot(), before);
  assert.deepEqual(await nodesOf(database), nodes);
  await assertInvariants(database);
});

test('a demo host has the layout of a real one: two NUMA halves and pairs that are not neighbours on the bus', async (t) => {
  const { database } = await testDatabase(t);
  await seedCatalog(database);
  await seedFleet(database);
  const [node] = await database.read(PLATFORM, (reader) =>
    listSchedulerNodes(reader, { region_name: null, gpu_model: null, organization_id: null, limit: 1 }),
  );
  assert.deepEqual(
    node?.slots.map((slot) => slot.module_id),
    [2, 4, 3, 1, 5, 7, 6, 8],
  );
  assert.deepEqual(
    node?.slots.map((slot) => slot.numa_node),
    [0, 0, 0, 0, 1, 1, 1, 1],
  );
  assert.equal(node?.partitions?.length, 15);
  assert.equal((await database.read(PLATFORM, (reader) => findNode(reader, node?.id ?? '')))?.gpu_count, 8);
  const [counted] = await database.read(PLATFORM, countFleet);
  assert.deepEqual(
    [counted?.counts.delivered_gpus, counted?.counts.gpu_slice.free_gpus, counted?.counts.baremetal.free_gpus],
    [48, 40, 24],
  );
});
