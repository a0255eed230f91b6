/** A node is allocated as a whole only where its release wipes every disk that discovery shows and no operator excluded. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { candidate, DISK_BYTES } from '../../test/candidate.ts';
import { anEnrolledNode, discover, discovery, eight, proveFirstWipes } from '../../test/discovered.ts';
import { assertInvariants } from '../../test/invariants.ts';
import type { NodeFacts } from '../../test/placement.ts';
import { must, type User } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';
import { cleanedUp, provenDisk } from '../../test/wipe-evidence.ts';
import { finishTask } from '../agents/end-task.ts';
import { countFleet } from '../db/capacity.ts';
import { PLATFORM } from '../db/client.ts';
import { loadSchedulerNode } from '../db/placement.ts';
import { refreshSummary } from '../placement/summary.ts';

/** Of the eight disks that the tests' discovery finds, the host boots from the last. */
const [DISKS, FIRST] = [7, 0];
let app: TestApp;
let root: User;
let ada: User;
let hosts = 700;
const closers: (() => Promise<void>)[] = [];
before(async () => {
  app = await startTestApp({ after: (fn) => void closers.unshift(fn) });
  root = await app.admin();
  ada = await app.user('ada');
});
after(async () => {
  await assertInvariants(app.db.database);
  for (const close of closers) await close();
});

const sql = (text: string, values: unknown[] = []) =>
  app.db.database.write(PLATFORM, (tx) => tx.query<Record<string, unknown>>(text, values));
const at = (id: string, rest: string): string => `/api/v1/admin/nodes/${id}/${rest}`;
const nodeOf = async (id: string) => must(await root.get(`/api/v1/admin/nodes/${id}`), 200).body;
const serialOf = (index: number): string => candidate(index, {}, hosts).nvme_serial ?? '';
const looseOf = async (id: string): Promise<string[]> =>
  (await nodeOf(id)).unapproved_disks.map(({ serial }: { serial: string }) => serial);
const keyOf = async (id: string) =>
  (await sql('select key_node, key_1 from node_placement_summary where node_id = $1', [id])).rows[0];

/** A host of its own that was discovered, and has no data disk yet. */
const host = async (facts: NodeFacts = {}) => {
  const values = { region_name: 'us-buffalo-1', capacity_mode: 'baremetal' as const, data_disks: [], ...facts };
  const id = await anEnrolledNode(app.db.database, { query: sql }, values);
  hosts += 1;
  await discover(app.db.database, id, discovery(eight(hosts)));
  return id;
};
const drain = async (id: string, is_draining: boolean) =>
  must(await root.post(at(id, 'drain'), { is_draining, reason: 'Disks' }), 200);
const exclude = (id: string, serial: string) => root.post(at(id, 'disks/exclude'), { serial, reason: 'A mirror' });

type Task = { id: string; attempt: number; params: { disks: { serial: string }[] } };
const nextTask = async (nodeId: string, kind: string): Promise<Task> => {
  let found: Task | undefined;
  await until(`a ${kind} is asked of the host`, async () => {
    const { rows } = await sql(
      "select id, attempt, params from node_tasks where node_id = $1 and kind = $2 and state = 'queued'",
      [nodeId, kind],
    );
    found = rows[0] as Task | undefined;
    return found !== undefined;
  });
  return found as Task;
};
const answer = (task: Task, output: object) =>
  app.db.database.write(PLATFORM, async (tx) => {
    await tx.query("update node_tasks set state = 'running' where id = $1", [task.id]);
    const result = { id: task.id, attempt: task.attempt, state: 'completed' as const, reason: null };
    await finishTask(tx, { ...result, output: output as Record<string, unknown> }, { now: new Date() });
  });
const wiped = (serials: readonly string[]) =>
  cleanedUp(
    serials.map((serial) => provenDisk({ slot_id: null, serial, generation: null }, { size_bytes: DISK_BYTES })),
  );
/** As an operator does it; the host wipes each. */
const approveDisks = async (id: string, serials: readonly string[]) => {
  await drain(id, true);
  for (const serial of serials) {
    must(await root.post(at(id, 'disks'), { serial, reason: 'As data disk' }), 202);
    await answer(await nextTask(id, 'node.cleanup'), wiped([serial]));
    await until('it is wiped', async () => {
      const { items } = must(await root.get(at(id, 'disks')), 200).body;
      return items.some((one: { serial: string; state: string }) => one.serial === serial && one.state === 'owned');
    });
  }
  await drain(id, false);
};
const launch = (over: object = {}) =>
  ada.post(`/api/v1/projects/${ada.project_id}/allocations`, {
    ...{ name: `w-${Math.random().toString(36).slice(2)}`, sku_name: 'h200-sxm-baremetal-8g' },
    ...{ region_name: 'us-buffalo-1', gpu_count: 8, ...over },
  });
const unapprovedGpus = async (): Promise<number | undefined> => {
  const fleets = await app.db.database.read(PLATFORM, countFleet);
  return fleets.find((one) => one.region_name === 'us-buffalo-1')?.counts.baremetal.unavailable_gpus.unapproved;
};

test('with one of its disks approved it is not launched, and operators see which others are left', async () => {
  const id = await host();
  await approveDisks(id, [serialOf(FIRST)]);
  const refused = await launch();
  assert.equal(refused.status, 409, JSON.stringify(refused.body));
  assert.ok(refused.body.reasons.some(({ code }: { code: string }) => code === 'unapproved'));
  const others = Array.from({ length: DISKS - 1 }, (_, index) => serialOf(index + 1));
  assert.deepEqual(await looseOf(id), others);
  assert.equal((await nodeOf(id)).free_gpus, 0);
  const row = must(await root.get('/api/v1/admin/slot-map?limit=200'), 200).body.items.find(
    (one: { node_id: string }) => one.node_id === id,
  );
  assert.equal(row.unapproved_disks.length, DISKS - 1);
  const seen = await app.db.database.read(PLATFORM, (reader) => loadSchedulerNode(reader, id));
  assert.equal(seen?.node.unapproved_disks, DISKS - 1);
  assert.equal(await unapprovedGpus(), 8);

  await approveDisks(id, others.slice(1));
  assert.equal((await launch()).status, 409);
  must(await exclude(id, others[0] ?? ''), 201);
  assert.deepEqual(await looseOf(id), []);
  assert.equal(await unapprovedGpus(), 0);

  const launched = must(await launch(), 202).body;
  const named = await nextTask(id, 'allocation.provision_user');
  const mine = [serialOf(FIRST), ...others.slice(1)].toSorted();
  assert.deepEqual(named.params.disks.map(({ serial }) => serial).toSorted(), mine);
  const allocation = `/api/v1/projects/${ada.project_id}/allocations/${launched.id}`;
  await answer(named, { username: 'a', ssh_host_key: null });
  await until('it is active', async () => must(await ada.get(allocation), 200).body.state === 'active');
  must(await ada.post(`${allocation}/release`, {}), 202);
  await answer(await nextTask(id, 'allocation.deprovision_user'), { sessions_ended: 0, was_present: true });
  const cleanup = await nextTask(id, 'node.cleanup');
  assert.deepEqual(cleanup.params.disks.map(({ serial }) => serial).toSorted(), mine, 'all but the excluded one');
  await answer(cleanup, wiped(mine));
  await until('it is released', async () => must(await ada.get(allocation), 200).body.state === 'released');
  const { certificate } = must(await ada.get(`${allocation}/wipe-certificate`), 200).body;
  assert.deepEqual([certificate.disks.length, certificate.unwiped_disks], [mine.length, 1], 'the tenant learns of it');
  assert.ok(!JSON.stringify(certificate).includes(others[0] ?? '-'));
  await drain(id, true);
});

test('an exclusion ends with its revocation, and needs a disk without a slot, approval or boot system', async () => {
  const id = await host();
  await approveDisks(
    id,
    Array.from({ length: DISKS - 1 }, (_, index) => serialOf(index)),
  );
  const serial = serialOf(DISKS - 1);
  const { id: exclusion, state } = must(await exclude(id, serial), 201).body;
  assert.equal(state, 'excluded');
  assert.notEqual((await keyOf(id))?.['key_node'], null);
  assert.equal((await exclude(id, serial)).status, 409);
  await drain(id, true);
  const approved = await root.post(at(id, 'disks'), { serial, reason: 'After all' });
  assert.deepEqual([approved.status, /Revoke its exclusion first/.test(approved.body.detail)], [409, true]);
  await drain(id, false);
  assert.match((await exclude(id, serialOf(7))).body.detail, /boots from this disk/);
  assert.match((await exclude(id, 'NONE')).body.detail, /found no disk with this serial/);
  must(await root.post(at(id, `disks/${exclusion}/revoke`), { reason: 'Now it is a data disk' }), 200);
  assert.equal((await keyOf(id))?.['key_node'], null);
  assert.deepEqual(await looseOf(id), [serial]);
  assert.equal((await launch()).status, 409);

  const isPending = async (): Promise<unknown> => (await nodeOf(id)).unapproved_disks[0].is_wipe_pending;
  assert.equal(await isPending(), false);
  await drain(id, true);
  must(await root.post(at(id, 'disks'), { serial, reason: 'As data disk' }), 202);
  assert.equal(await isPending(), true, 'until the wipe is proven');
});

test('slots cover their own disks, and a new disk or one without a serial keeps the node from bare metal, not from slices', async () => {
  const id = await host({ capacity_mode: 'flexible' });
  const { map } = must(await root.get(at(id, 'slice-topology/discovery')), 200).body;
  must(await root.post(at(id, 'resource-slots/approve'), { map_hash: map.map_hash }), 200);
  await proveFirstWipes(app.db.database, id);
  assert.match((await exclude(id, serialOf(0))).body.detail, /belongs to slot 0/);
  assert.deepEqual(await looseOf(id), []);
  assert.notEqual((await keyOf(id))?.['key_node'], null);

  const found = discovery(eight(hosts));
  const [first] = 'value' in found.facts.disks ? found.facts.disks.value : [];
  assert.ok(first);
  const finds = (...more: readonly (typeof first)[]) => {
    const value = [...('value' in found.facts.disks ? found.facts.disks.value : []), ...more];
    return discover(app.db.database, id, { ...found, facts: { ...found.facts, disks: { value } } });
  };
  await finds({ ...first, name: 'nvme8n1', serial: 'NEW' }, { ...first, name: 'nvme9n1', serial: null });
  assert.deepEqual((await nodeOf(id)).unapproved_disks, [
    { name: 'nvme8n1', serial: 'NEW', is_wipe_pending: false },
    { name: 'nvme9n1', serial: null, is_wipe_pending: false },
  ]);
  const { key_node, key_1 } = (await keyOf(id)) ?? {};
  assert.deepEqual([key_node, key_1 === null], [null, false]);
  const unreadable = { ...found, facts: { ...found.facts, disks: { unreadable: 'No permission.' } } };
  await discover(app.db.database, id, unreadable);
  assert.equal((await looseOf(id)).length, 2, 'what cannot be read again stays known');
  await finds();
  assert.notEqual((await keyOf(id))?.['key_node'], null);
  const loose = JSON.stringify([{ name: 'nvme8n1', serial: null }]);
  await sql("update nodes set capacity_mode = 'slice', disks_found = $2 where id = $1", [id, loose]);
  await app.db.database.write(PLATFORM, (tx) => refreshSummary(tx, id));
  assert.deepEqual(await looseOf(id), [], 'no tenant of a slice reaches it');
});
