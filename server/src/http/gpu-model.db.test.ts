import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Candidate } from '@gpuaas/contract/node';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { anEnrolledNode, discover, discovery, eight, proveFirstWipes } from '../../test/discovered.ts';
import { assertInvariants } from '../../test/invariants.ts';
import type { NodeFacts } from '../../test/placement.ts';
import { must, type User } from '../../test/tenants.ts';
import { countFleet } from '../db/capacity.ts';
import { PLATFORM } from '../db/client.ts';
import { loadSchedulerNode } from '../db/placement.ts';

let app: TestApp;
let root: User;
let hosts = 900;
const closers: (() => Promise<void>)[] = [];
before(async () => {
  app = await startTestApp({ after: (fn) => void closers.unshift(fn) });
  root = await app.admin();
});
after(async () => {
  await assertInvariants(app.db.database);
  for (const close of closers) await close();
});

const sql = (text: string, values: unknown[] = []) =>
  app.db.database.write(PLATFORM, (tx) => tx.query<Record<string, unknown>>(text, values));
const at = (id: string, rest: string): string => `/api/v1/admin/nodes/${id}/${rest}`;
const nodeOf = async (id: string) => must(await root.get(`/api/v1/admin/nodes/${id}`), 200).body;

/** A node, and its discoveries: every slot is changed by `over`, or by its index. */
const host = async (facts: NodeFacts = {}) => {
  const values = { region_name: 'us-buffalo-1', capacity_mode: 'flexible' as const, ...facts };
  const id = await anEnrolledNode(app.db.database, { query: sql }, values);
  const number = ++hosts;
  const finds = (over: Partial<Candidate> | Readonly<Record<number, Partial<Candidate>>>) =>
    discover(
      app.db.database,
      id,
      discovery(eight(number).map((slot, index) => ({ ...slot, ...(index in over ? over[index as never] : over) }))),
    );
  const approve = async () => {
    const { map } = must(await root.get(at(id, 'slice-topology/discovery')), 200).body;
    const approved = await root.post(at(id, 'resource-slots/approve'), { map_hash: map.map_hash });
    if (approved.status === 200) await proveFirstWipes(app.db.database, id);
    return approved;
  };
  return { id, finds, approve };
};
const H100 = { gpu_vendor_device: '10de:2330', gpu_model: null };
const placeable = async (id: string) =>
  (
    await sql('select is_schedulable, key_1, key_8, key_node from node_placement_summary where node_id = $1', [id])
  ).rows.map((row) => [row.is_schedulable, row.key_1 !== null, row.key_8 !== null, row.key_node !== null])[0];

test('a host with the GPUs of its model is approved and placed, also where VFIO hides their name', async () => {
  const { id, finds, approve } = await host();
  await finds({ gpu_model: null });
  must(await approve(), 200);
  const { gpus_found, gpu_model_conflict } = await nodeOf(id);
  assert.deepEqual(
    [gpus_found, gpu_model_conflict],
    [[{ vendor_device: '10de:2335', driver_name: null, gpu_model: 'H200 SXM', gpu_count: 8 }], null],
  );
  assert.deepEqual(await placeable(id), [true, true, true, true]);
});

test('no slot and no disk of a host with other GPUs is approved, and the refusal names both models', async () => {
  const { id, finds, approve } = await host();
  await finds(H100);
  const sentence = /was added as H200 SXM, but discovery found 8 H100 SXM \(10de:2330\)\. .*--gpu-model "H100 SXM"/;
  const refused = await approve();
  assert.equal(refused.status, 409);
  assert.match(refused.body.detail, sentence);
  const disk = await root.post(at(id, 'disks'), { serial: `S${hosts}N0`, reason: 'As data disk' });
  assert.equal(disk.status, 409);
  assert.match(disk.body.detail, sentence);
  const { actions } = await nodeOf(id);
  const { allowed, reason } = actions.find(({ name }: { name: string }) => name === 'approve');
  assert.equal(allowed, false);
  assert.match(reason, sentence);
});

for (const [what, over] of [
  ['other GPUs', H100],
  ['one other GPU', { 5: H100 }],
] as const)
  test(`a node that is found with ${what} takes no launch, as slices or whole, until they are of its model again`, async () => {
    const { id, finds, approve } = await host({ region_name: 'us-buffalo-1' });
    await finds({});
    must(await approve(), 200);
    // A GPU of another kind in a known place is also a change of the slot; here the kind alone has to block.
    await finds(over);
    await sql("update node_resource_slots set approval = 'approved', drift = null where node_id = $1", [id]);
    assert.deepEqual(await placeable(id), [false, false, false, false]);
    const found = await app.db.database.read(PLATFORM, (reader) => loadSchedulerNode(reader, id));
    assert.equal(found?.node.has_other_gpus, true);
    assert.match((await nodeOf(id)).gpu_model_conflict, /discovery found .*H100 SXM/);
    await finds({});
    await sql("update node_resource_slots set approval = 'approved', drift = null where node_id = $1", [id]);
    assert.equal((await nodeOf(id)).gpu_model_conflict, null);
    assert.equal((await placeable(id))?.[3], true);
  });

test('the GPUs of such a node count as not ready for both shapes', async () => {
  const sku = { name: 'h100-slice', display_name: 'H100', vendor: 'NVIDIA', gpu_model: 'H100 SXM', gpus_per_node: 8 };
  must(await root.post('/api/v1/admin/skus', { ...sku, capacity_shape: 'gpu_slice', allowed_gpu_counts: [1] }), 201);
  const { id, finds, approve } = await host({ gpu_model: 'H100 SXM' });
  await finds(H100);
  must(await approve(), 200);
  const counted = async () => {
    const fleets = await app.db.database.read(PLATFORM, countFleet);
    const { counts } = fleets.find(({ gpu_model }) => gpu_model === 'H100 SXM') ?? assert.fail('not counted');
    const shapes = [counts.gpu_slice, counts.baremetal];
    return shapes.map(({ free_gpus, unavailable_gpus }) => [free_gpus, unavailable_gpus.not_ready]);
  };
  assert.deepEqual(await counted(), [
    [8, 0],
    [8, 0],
  ]);
  await sql("update nodes set gpu_model_conflict = 'Other GPUs.' where id = $1", [id]);
  assert.deepEqual(await counted(), [
    [0, 8],
    [0, 8],
  ]);
  await sql('update nodes set gpu_model_conflict = null where id = $1', [id]);
});

test('an unknown GPU blocks its node until a SKU names its ID, and again when the name ends', async () => {
  const model = 'Future 9';
  const { id, finds, approve } = await host({ gpu_model: model });
  await finds({ gpu_vendor_device: 'abcd:0001', gpu_model: null });
  assert.match((await nodeOf(id)).gpu_model_conflict, /found 8 abcd:0001\. If abcd:0001 is Future 9, name it/);
  assert.equal((await approve()).status, 409);
  const sku = {
    ...{ name: 'future-slice', display_name: 'Future', vendor: 'NVIDIA', gpu_model: model },
    ...{ capacity_shape: 'gpu_slice', gpus_per_node: 8, allowed_gpu_counts: [1] },
  };
  must(await root.post('/api/v1/admin/skus', { ...sku, gpu_ids: ['abcd:0001'] }), 201);
  assert.equal((await nodeOf(id)).gpu_model_conflict, null);
  must(await approve(), 200);
  assert.equal((await placeable(id))?.[0], true);
  const refused = await root.post('/api/v1/admin/skus', {
    ...{ ...sku, name: 'other-slice', gpu_model: 'Future 10', gpu_ids: ['abcd:0001'] },
  });
  assert.equal(refused.status, 400);
  assert.match(JSON.stringify(refused.body.errors), /SKU future-slice names abcd:0001 as Future 9/);
  const edit = (gpu_ids: string[], version: number) =>
    root.call('PATCH', '/api/v1/admin/skus/future-slice', { gpu_ids }, { 'if-match': `"v${version}"` });
  must(await edit([], 1), 200);
  assert.deepEqual(await placeable(id), [false, false, false, false]);
  must(await edit(['abcd:0001'], 2), 200);
  assert.equal((await placeable(id))?.[0], true);
});
