import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Candidate } from '@gpuaas/contract/node';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { candidate, DISK_BYTES } from '../../test/candidate.ts';
import { anEnrolledNode, discover, discovery, eight, proveFirstWipes } from '../../test/discovered.ts';
import { assertInvariants } from '../../test/invariants.ts';
import type { NodeFacts } from '../../test/placement.ts';
import { must, type User } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';
import { cleanedUp, gpuReset, isolated, provenDisk } from '../../test/wipe-evidence.ts';
import { finishTask } from '../agents/end-task.ts';
import { recordHealth } from '../agents/node-health.ts';
import { PLATFORM } from '../db/client.ts';
import { isRepairable, restoreSlot } from '../db/slot-approval.ts';
import { refreshSummary } from '../placement/summary.ts';
import { signalRun } from '../workflows/engine/run.ts';

let app: TestApp;
let root: User;
let second: User;
let ada: User;
let hosts = 500;
const closers: (() => Promise<void>)[] = [];
before(async () => {
  app = await startTestApp({ after: (fn) => void closers.unshift(fn) });
  root = await app.admin();
  [second, ada] = [await app.user('second'), await app.user('ada')];
  await sql("update users set platform_role = 'ops' where id = $1", [second.me.id]);
});
after(async () => {
  await assertInvariants(app.db.database);
  for (const close of closers) await close();
});

const sql = (text: string, values: unknown[] = []) =>
  app.db.database.write(PLATFORM, (tx) => tx.query<Record<string, unknown>>(text, values));
const node = (facts: NodeFacts = {}) =>
  anEnrolledNode(app.db.database, { query: sql }, { region_name: 'us-buffalo-1', capacity_mode: 'slice', ...facts });
const at = (id: string, rest: string): string => `/api/v1/admin/nodes/${id}/${rest}`;
const mapOf = async (id: string) => must(await root.get(at(id, 'slice-topology/discovery')), 200).body.map;
const slotsOf = async (id: string) => must(await root.get(at(id, 'resource-slots')), 200).body.items;
const approveOnly = async (id: string, body: object = {}, as = root) =>
  as.post(at(id, 'resource-slots/approve'), { map_hash: (await mapOf(id)).map_hash, ...body });
/** With the first wipe of new slots proven. */
const approve: typeof approveOnly = async (id, body, as) => {
  const approved = await approveOnly(id, body, as);
  await proveFirstWipes(app.db.database, id);
  return approved;
};
const withVersion = (version: number) => ({ 'if-match': `"v${version}"` });
const onSlot = (slot: { node_id: string; id: string; version: number }, verb: string, as = root) =>
  as.post(at(slot.node_id, `resource-slots/${slot.id}/${verb}`), { reason: 'Tried' }, withVersion(slot.version));
const launch = (gpu_count = 1) =>
  ada.post(`/api/v1/projects/${ada.project_id}/allocations`, {
    name: `a-${Math.random().toString(36).slice(2)}`,
    sku_name: 'h200-sxm-slice',
    region_name: 'us-buffalo-1',
    gpu_count,
  });
/** A host of its own with what was found on it; `over` changes single slots. */
const host = async (
  over: Readonly<Record<number, Partial<Candidate>>> = {},
  also: Parameters<typeof discovery>[1] = {},
  facts: NodeFacts = {},
) => {
  const id = await node(facts);
  const number = ++hosts;
  const found = (change: typeof over) => eight(number).map((slot, index) => ({ ...slot, ...change[index] }));
  await discover(app.db.database, id, discovery(found(over), also));
  return { id, again: (change: typeof over) => discover(app.db.database, id, discovery(found(change), also)) };
};

test('a candidate is never schedulable, and approved it is', async () => {
  const { id } = await host();
  assert.deepEqual(await slotsOf(id), []);
  assert.equal((await launch()).status, 409);
  const { slots } = must(await approve(id), 200).body;
  assert.equal(slots.length, 8);
  assert.ok(slots.every((slot: { approved_by: string }) => slot.approved_by === root.me.id));
  assert.equal((await launch(8)).status, 202);
});

test('only compute hosts hold slots, and no more than they have GPUs', async () => {
  const control = await host({}, {}, { host_role: 'app_control' });
  const refused = await approve(control.id);
  assert.equal(refused.status, 409);
  assert.equal(refused.body.detail, 'The node is app_control, not a compute host.');
  assert.deepEqual(await slotsOf(control.id), []);
  const small = await host({}, {}, { gpu_count: 4 });
  const { status, body } = await approve(small.id);
  assert.deepEqual([status, body.errors[0].code], [409, 'count']);
  assert.deepEqual(await slotsOf(small.id), []);
});

test('every approved slot cites the operator and the discovery', async () => {
  const { id } = await host();
  must(await approve(id), 200);
  const { rows } = await sql(
    `select count(*) as slots from node_resource_slots s join topology_discoveries d on d.task_id = s.discovery_task_id and d.node_id = s.node_id
     where s.node_id = $1 and s.approved_by = $2`,
    [id, root.me.id],
  );
  assert.deepEqual(rows, [{ slots: 8 }]);
});

test('no slot is approved on a node that is held as a whole', async () => {
  const { id } = await host({}, {}, { capacity_mode: 'baremetal' });
  await sql("update nodes set occupancy = 'cleaning' where id = $1", [id]);
  assert.equal((await approve(id)).status, 409);
  assert.deepEqual(await slotsOf(id), []);
  await sql("update nodes set occupancy = 'free' where id = $1", [id]);
});

test('on a board without a fabric any set of GPUs is legal', async () => {
  const { id } = await host({ 0: { module_id: null } }, { partitions: [] });
  must(await approve(id), 200);
  assert.equal(must(await root.get(`/api/v1/admin/nodes/${id}`), 200).body.largest_set, 8);
});

test('some candidates can be approved without the others, and approving again changes nothing', async () => {
  const { id } = await host();
  assert.equal(must(await approve(id, { slot_indexes: [1, 3] }), 200).body.slots.length, 2);
  const before = await slotsOf(id);
  must(await approve(id, { slot_indexes: [1, 3] }), 200);
  assert.deepEqual(await slotsOf(id), before);
  assert.equal(must(await approve(id), 200).body.slots.length, 8);
});

test('every fault is named with its field at once, and nothing is written', async () => {
  const { id } = await host({
    0: { nvme_mounts: ['/mnt/share'] },
    1: { fabric_vf_pci_address: null, fabric_claim_mode: null },
    2: { mig_mode: 'enabled' },
  });
  const { status, body } = await approve(id);
  assert.equal(status, 409);
  assert.deepEqual(
    body.errors.map((error: { pointer: string; code: string }) => [error.pointer, error.code]),
    [
      ['/candidates/0/nvme_mounts', 'mounted'],
      ['/candidates/1/fabric_vf_pci_address', 'required'],
      ['/candidates/1/fabric_claim_mode', 'not_per_slot_vf'],
      ['/candidates/2/mig_mode', 'mig_enabled'],
    ],
  );
  assert.deepEqual(await slotsOf(id), []);
});

test('a serial or MAC of another node of the site is refused by name', async () => {
  const one = await host();
  must(await approve(one.id), 200);
  const [taken] = await slotsOf(one.id);
  const two = await host({ 0: { nvme_serial: taken.nvme_serial }, 1: { mac_address: taken.mac_address } });
  const { body } = await approve(two.id);
  assert.deepEqual(
    body.errors.map((error: { pointer: string; code: string }) => [error.pointer, error.code]),
    [
      ['/candidates/0/nvme_serial', 'taken'],
      ['/candidates/1/mac_address', 'taken'],
    ],
  );
});

test('two operators: who approves a discovery that is not the newest, or edits a slot that has changed, gets 412', async () => {
  const { id, again } = await host();
  const { map_hash } = await mapOf(id);
  await again({ 7: { numa_node: 5 } });
  assert.equal((await root.post(at(id, 'resource-slots/approve'), { map_hash })).status, 412);
  must(await approve(id), 200);
  const [slot] = await slotsOf(id);
  must(await onSlot(slot, 'disable'), 200);
  assert.equal((await onSlot(slot, 'quarantine', second)).status, 412);
});

test('drift makes a slot unschedulable with the difference, leaves its allocation alone, and approval brings it back', async () => {
  const { id, again } = await host();
  must(await approve(id), 200);
  await sql("update nodes set state = 'draining' where id <> $1 and state = 'active'", [id]);
  await app.db.database.write(PLATFORM, async (tx) => {
    for (const row of (await tx.query<{ id: string }>('select id from nodes', [])).rows)
      await refreshSummary(tx, row.id);
  });
  const allocation = must(await launch(1), 202).body;
  const held = (await slotsOf(id)).find(
    (slot: { allocation_id: string | null }) => slot.allocation_id === allocation.id,
  );
  const free = (await slotsOf(id)).find((slot: { allocation_id: string | null }) => slot.allocation_id === null);
  await again({ [held.slot_index]: { numa_node: 3 }, [free.slot_index]: { nvme_size_bytes: 1 } });
  const after = new Map((await slotsOf(id)).map((slot: { id: string }) => [slot.id, slot]));
  const drifted = (slot: { id: string }) =>
    after.get(slot.id) as { approval: string; status: string; drift: object; allocation_id: string };
  assert.equal(drifted(held).approval, 'needs_reapproval');
  assert.equal(drifted(held).allocation_id, allocation.id);
  assert.deepEqual(drifted(free).drift, { nvme_size_bytes: { approved: DISK_BYTES, found: 1 } });
  assert.equal(must(await root.get(`/api/v1/admin/nodes/${id}`), 200).body.has_hardware_change, true);
  const changed = (await mapOf(id)).candidates.filter(
    (row: { approval_status: string }) => row.approval_status === 'changed',
  );
  assert.equal(changed.length, 2);
  const refused = await approve(id);
  assert.deepEqual(
    refused.body.errors.map((error: { code: string }) => error.code),
    ['held'],
  );
  must(await approve(id, { slot_indexes: [free.slot_index] }), 200);
  assert.equal((await slotsOf(id)).find((slot: { id: string }) => slot.id === free.id).approval, 'approved');
});

test('a GPU that is gone is drift, and what cannot be read is not taken for unchanged', async () => {
  const { id } = await host();
  must(await approve(id), 200);
  const left = eight(hosts)
    .filter((found) => found.slot_index !== 2)
    .map((found, slot_index) => ({ ...found, slot_index }));
  await discover(app.db.database, id, discovery(left));
  const approvals = (await slotsOf(id)).map((slot: { approval: string }) => slot.approval);
  assert.deepEqual(
    approvals,
    approvals.map((_: string, index: number) => (index === 2 ? 'needs_reapproval' : 'approved')),
  );
});

test('a failed prerequisite keeps slices away until a later check passes', async () => {
  const broken = { prerequisites: [{ name: 'ovs', is_met: false, needs_reboot: false, message: 'No bridge.' }] };
  const { id } = await host({}, broken);
  must(await approve(id), 200);
  assert.equal(must(await root.get(`/api/v1/admin/nodes/${id}`), 200).body.is_runtime_validated, false);
  await discover(app.db.database, id, discovery(eight(hosts)));
  assert.equal(must(await root.get(`/api/v1/admin/nodes/${id}`), 200).body.is_runtime_validated, true);
});

test('a disabled slot comes back by enabling only while it is what was approved', async () => {
  const { id, again } = await host();
  must(await approve(id), 200);
  const [first, other] = await slotsOf(id);
  const disabled = must(await onSlot(first, 'disable'), 200).body;
  must(await onSlot(other, 'disable'), 200);
  assert.equal(must(await onSlot(disabled, 'enable'), 200).body.approval, 'approved');
  await again({ [other.slot_index]: { numa_node: 9 } });
  const changed = (await slotsOf(id)).find((slot: { id: string }) => slot.id === other.id);
  assert.equal((await onSlot(changed, 'enable')).status, 409);
});

test('vouching for a wipe takes two people', async () => {
  const { id } = await host();
  must(await approve(id), 200);
  const [slot] = await slotsOf(id);
  must(await onSlot(slot, 'quarantine'), 200);
  const vouch = (as: User) => as.post(at(id, `resource-slots/${slot.id}/mark-wiped`), { reason: 'Seen it myself' });
  assert.equal(must(await vouch(root), 200).body.override.confirmed_by, null);
  assert.equal(must(await vouch(root), 200).body.slot.status, 'quarantined');
  const done = must(await vouch(second), 200).body;
  assert.deepEqual([done.override.requested_by, done.override.confirmed_by], [root.me.id, second.me.id]);
  await assert.rejects(
    sql('update slot_overrides set confirmed_by = requested_by where id = $1', [done.override.id]),
    /override_needs_second_person/,
  );
});

test('a wipe accepted without proof is never verified, and makes a slot schedulable only where the region allows it', async () => {
  const { id } = await host();
  must(await approve(id), 200);
  const { id: slotId } = (await slotsOf(id))[0];
  const { region_name } = must(await root.get(`/api/v1/admin/nodes/${id}`), 200).body;
  const vouch = async () => {
    for (const as of [root, second])
      must(await as.post(at(id, `resource-slots/${slotId}/mark-wiped`), { reason: 'Seen it myself' }), 200);
    return slotNow(id, slotId);
  };
  const allow = async (allows_wipe_override: boolean) => {
    const { rows } = await sql('select version from regions where name = $1', [region_name]);
    const region = await root.call(
      'PATCH',
      `/api/v1/admin/regions/${region_name}`,
      { allows_wipe_override },
      withVersion(Number(rows[0]?.['version'])),
    );
    assert.equal(must(region, 200).body.allows_wipe_override, allows_wipe_override);
  };
  must(await onSlot(await slotNow(id, slotId), 'quarantine'), 200);
  const refused = await vouch();
  assert.deepEqual([refused.status, refused.wipe_outcome], ['quarantined', 'overridden']);
  assert.match(refused.status_reason, /the region does not allow/);
  await assert.rejects(
    sql("update node_resource_slots set status = 'available' where id = $1", [slotId]),
    /override_is_allowed/,
  );
  await allow(true);
  const allowed = await vouch();
  assert.deepEqual([allowed.status, allowed.wipe_outcome], ['available', 'overridden']);
  const { items } = must(await root.get(at(id, `resource-slots/${slotId}/wipe-proofs`)), 200).body;
  assert.deepEqual(items.map(({ outcome }: { outcome: string }) => outcome).slice(0, 2), ['overridden', 'overridden']);
  assert.match(
    (await app.bearer(null).get('/metrics')).body,
    /gpuaas_slots_overridden\{region="us-buffalo-1",status="available"\} 1/,
  );
  await allow(false);
  assert.equal((await slotNow(id, slotId)).status, 'quarantined');
  await assertInvariants(app.app.deps.database);
});

type Task = { id: string; kind: string; attempt: number };
const nextTask = async (nodeId: string, kind: string): Promise<Task> => {
  let found: Task | undefined;
  await until(`a ${kind} is asked of the host`, async () => {
    const { rows } = await sql(
      "select id, kind, attempt from node_tasks where node_id = $1 and kind = $2 and state = 'queued'",
      [nodeId, kind],
    );
    found = rows[0] as Task | undefined;
    return found !== undefined;
  });
  return found as Task;
};
const answer = (task: Task, output: object) =>
  app.app.deps.database.write(PLATFORM, async (tx) => {
    await tx.query("update node_tasks set state = 'running' where id = $1", [task.id]);
    await finishTask(
      tx,
      {
        id: task.id,
        attempt: task.attempt,
        state: 'completed',
        reason: null,
        output: output as Record<string, unknown>,
      },
      { now: new Date() },
    );
  });
const erased = (
  serial: string,
  slot: (Record<'id' | 'gpu_pci_address' | 'fabric_vf_pci_address', string> & { generation: number }) | null,
) =>
  cleanedUp(
    [
      provenDisk(
        { slot_id: slot?.id ?? null, serial, generation: slot?.generation ?? null },
        { method: 'nvme_format' },
      ),
    ],
    {
      gpu_resets: slot === null ? [] : [gpuReset(slot.gpu_pci_address)],
      isolation: isolated(slot === null ? [] : [slot.fabric_vf_pci_address]),
    },
  );

test('a repair binds again, discovers, wipes, and only the proof brings the slot back', async () => {
  const { id } = await host();
  must(await approve(id), 200);
  const [slot] = await slotsOf(id);
  assert.equal(must(await onSlot(slot, 'repair'), 202).body.status, 'quarantined');
  await answer(await nextTask(id, 'slice.reconcile'), { domains: [], findings: [], rebound: [] });
  await answer(await nextTask(id, 'slice.topology_discover'), discovery(eight(hosts)));
  await answer(await nextTask(id, 'node.cleanup'), erased(slot.nvme_serial, slot));
  const now = async () => must(await root.get(at(id, `resource-slots/${slot.id}`)), 200).body;
  await until('the slot is available', async () => (await now()).status === 'available');
  assert.notEqual((await now()).wipe_proof_id, null);
});

test('a disk is taken over only when the host has let go of it, with proof, and is then discovered again', async () => {
  const { id } = await host({ 3: { nvme_mounts: ['/mnt/share'], nvme_filesystems: ['xfs'] } });
  const { nvme_serial: serial } = candidate(3, {}, hosts);
  const owned = must(await root.post(at(id, 'disks'), { serial, reason: 'Ours now' }), 202).body;
  const state = async () => must(await root.get(at(id, 'disks')), 200).body.items[0];
  const first = await nextTask(id, 'node.cleanup');
  await answer(first, {
    ...erased('none', null),
    disks: [],
    blocked: [{ serial, reason: 'It is mounted at /mnt/share.' }],
  });
  await until('the disk is blocked', async () => (await state()).state === 'blocked');
  assert.equal((await state()).state_reason, 'It is mounted at /mnt/share.');
  const { rows } = await sql("select id from workflow_runs where workflow = 'wipe-disk' and subject_id = $1", [
    owned.id,
  ]);
  const runId = String(rows[0]?.['id']);
  await app.app.deps.database.write(PLATFORM, async (tx) => {
    await signalRun(tx, { run_id: runId, name: 'recheck_disk' });
  });
  await answer(await nextTask(id, 'node.cleanup'), erased(serial ?? '', null));
  await until('it is owned', async () => (await state()).state === 'owned');
  await nextTask(id, 'slice.topology_discover');
  assert.equal((await root.post(at(id, `disks/${owned.id}/revoke`), { reason: 'Too late' })).status, 409);
  assert.equal((await root.post(at(id, 'disks'), { serial, reason: 'Again' })).status, 409);
});

test('a disk of another size than was approved is not taken over', async () => {
  const { id } = await host();
  const { nvme_serial: serial } = candidate(3, {}, hosts);
  const approved = must(await root.post(at(id, 'disks'), { serial, reason: 'Ours now' }), 202).body;
  const evidence = provenDisk({ slot_id: null, serial, generation: null }, { size_bytes: 1 });
  await answer(await nextTask(id, 'node.cleanup'), cleanedUp([evidence]));
  const run = () => runOf('wipe-disk', approved.id);
  await until('the run is stuck', async () => (await run()).state === 'stuck');
  assert.match((await run()).reason, new RegExp(`approved with ${DISK_BYTES} bytes and the wipe result states 1`));
});

test('approving a disk again records the size that an earlier build did not, also while a tenant has it', async () => {
  const { id } = await host();
  const { nvme_serial: serial, nvme_device: device } = candidate(3, {}, hosts);
  const approved = must(await root.post(at(id, 'disks'), { serial, reason: 'Ours now' }), 202).body;
  await answer(await nextTask(id, 'node.cleanup'), erased(serial ?? '', null));
  const declared = async () => {
    const { rows } = await sql('select data_disks from nodes where id = $1', [id]);
    return ((rows[0]?.['data_disks'] ?? []) as { serial: string }[]).filter((disk) => disk.serial === serial);
  };
  const sized = [{ serial, device, size_bytes: DISK_BYTES }];
  await until('it is declared', async () => (await declared()).length > 0);
  assert.deepEqual(await declared(), sized);
  await sql('update disk_ownerships set size_bytes = null where id = $1', [approved.id]);
  await sql("update nodes set data_disks = $2, capacity_mode = 'flexible' where id = $1", [
    id,
    JSON.stringify([{ serial, device, size_bytes: null }]),
  ]);
  const again = must(await root.post(at(id, 'disks'), { serial, reason: 'Its size' }), 202).body;
  assert.deepEqual([again.id, again.state], [approved.id, 'owned']);
  assert.deepEqual(await declared(), sized);
  assert.equal((await root.post(at(id, 'disks'), { serial, reason: 'Once more' })).status, 409);
});

test('a disk that a slot has, or that a tenant may be given with the whole node, is not taken over', async () => {
  const { id } = await host();
  must(await approve(id, { slot_indexes: [0] }), 200);
  const own = (serial: string | null) => root.post(at(id, 'disks'), { serial, reason: 'Ours now' });
  assert.match((await own(candidate(0, {}, hosts).nvme_serial)).body.detail, /belongs to slot 0/);
  await sql("update nodes set capacity_mode = 'flexible' where id = $1", [id]);
  assert.match((await own(candidate(1, {}, hosts).nvme_serial)).body.detail, /Drain it first/);
  must(await root.post(`/api/v1/admin/nodes/${id}/drain`, { is_draining: true, reason: 'Disks' }), 200);
  must(await own(candidate(1, {}, hosts).nvme_serial), 202);
  await nextTask(id, 'node.cleanup');
  const back = await root.post(`/api/v1/admin/nodes/${id}/drain`, { is_draining: false, reason: 'Back' });
  assert.match(back.body.detail, /is being wiped/);
  assert.deepEqual(
    (await approve(id, { slot_indexes: [1] })).body.errors.map((error: { code: string }) => error.code),
    ['being_erased'],
  );
});

test('the disk a host boots from is never erased', async () => {
  const { id } = await host();
  const { body } = await root.post(at(id, 'disks'), { serial: candidate(7, {}, hosts).nvme_serial, reason: 'No' });
  assert.match(body.detail, /boots from this disk/);
});

const runOf = async (workflow: string, subject: string) => {
  const { rows } = await sql(
    'select id, state, state_reason as reason from workflow_runs where workflow = $1 and subject_id = $2 order by id desc',
    [workflow, subject],
  );
  return rows[0] as { id: string; state: string; reason: string };
};
const slotNow = async (nodeId: string, slotId: string) =>
  must(await root.get(at(nodeId, `resource-slots/${slotId}`)), 200).body;

test('a repair does not make an ill GPU well', async () => {
  const { id } = await host();
  must(await approve(id), 200);
  const [slot] = await slotsOf(id);
  const alert = {
    ...{ id: 'gpu_off_the_bus', target: slot.gpu_pci_address, since: new Date().toISOString() },
    ...{ message: 'It is gone.', tenant_message: null, classifications: ['prevent_allocations' as const] },
  };
  const report = { source: 'agent', observed_at: new Date().toISOString(), successes: [], alerts: [alert] };
  await app.db.database.write(PLATFORM, (tx) => recordHealth(tx, id, report));
  must(await onSlot(await slotNow(id, slot.id), 'repair'), 202);
  await answer(await nextTask(id, 'slice.reconcile'), { domains: [], findings: [], rebound: [] });
  await answer(await nextTask(id, 'slice.topology_discover'), discovery(eight(hosts)));
  await answer(await nextTask(id, 'node.cleanup'), erased(slot.nvme_serial, slot));
  await until('the slot is wiped', async () => (await slotNow(id, slot.id)).status === 'available');
  assert.equal((await slotNow(id, slot.id)).health, 'unhealthy');
  assert.equal(must(await root.get(`/api/v1/admin/nodes/${id}`), 200).body.free_gpus, 7);
});

test('a repair that is taken up again reaches no slot that is back in use', async () => {
  const { id } = await host();
  must(await approve(id), 200);
  const [slot] = await slotsOf(id);
  must(await onSlot(slot, 'repair'), 202);
  const vouch = await second.post(at(id, `resource-slots/${slot.id}/mark-wiped`), { reason: 'Seen it myself' });
  assert.match(vouch.body.detail, /being repaired/);
  await answer(await nextTask(id, 'slice.reconcile'), { domains: [], findings: [], rebound: [] });
  const looking = await nextTask(id, 'slice.topology_discover');
  await app.db.database.write(PLATFORM, async (tx) => {
    await tx.query("update node_resource_slots set status = 'available' where id = $1", [slot.id]);
    await refreshSummary(tx, id);
  });
  await answer(looking, discovery(eight(hosts)));
  await until('the run gives up', async () => (await runOf('repair-slot', slot.id)).state === 'stuck');
  // A worker may have asked for the first wipes before `approve` proved them; those tasks are cancelled.
  const { rows } = await sql(
    "select from node_tasks where node_id = $1 and kind = 'node.cleanup' and state <> 'cancelled'",
    [id],
  );
  assert.equal(rows.length, 0);
});

test('a slot whose GPU cannot be reset is not repaired', async () => {
  const { id } = await host();
  must(await approve(id), 200);
  const [slot] = await slotsOf(id);
  must(await onSlot(slot, 'repair'), 202);
  await answer(await nextTask(id, 'slice.reconcile'), { domains: [], findings: [], rebound: [] });
  await answer(await nextTask(id, 'slice.topology_discover'), discovery(eight(hosts)));
  await answer(await nextTask(id, 'node.cleanup'), { ...erased(slot.nvme_serial, slot), gpu_resets: [] });
  await until('the run says so', async () => (await runOf('repair-slot', slot.id)).state === 'stuck');
  assert.equal((await slotNow(id, slot.id)).status, 'quarantined');
});

test('a disk that was given up is not erased later', async () => {
  const { id } = await host();
  const { nvme_serial: serial } = candidate(2, {}, hosts);
  const owned = must(await root.post(at(id, 'disks'), { serial, reason: 'Ours now' }), 202).body;
  const task = await nextTask(id, 'node.cleanup');
  const run = await runOf('wipe-disk', owned.id);
  must(await root.post(`/api/v1/admin/workflow-runs/${run.id}/cancel`, { reason: 'No longer' }), 202);
  const state = async () => must(await root.get(at(id, 'disks')), 200).body.items[0].state;
  await until('it is given up', async () => (await state()) === 'blocked');
  const { rows } = await sql('select state from node_tasks where id = $1', [task.id]);
  assert.equal(rows[0]?.['state'], 'cancelled');
  must(await root.post(at(id, `disks/${owned.id}/revoke`), { reason: 'Keep it' }), 200);
});

test('a new slot is not available before its first wipe is proven, though discovery found nothing on its disk', async () => {
  const { id } = await host();
  const [slot] = must(await approveOnly(id, { slot_indexes: [0] }), 200).body.slots;
  assert.deepEqual([slot.approval, slot.status, slot.wipe_proof_id], ['approved', 'quarantined', null]);
  await assert.rejects(
    sql("update node_resource_slots set status = 'available' where id = $1", [slot.id]),
    /available_is_wiped/,
  );
  await answer(await nextTask(id, 'node.cleanup'), erased(slot.nvme_serial, slot));
  await until('the slot is wiped', async () => (await slotNow(id, slot.id)).status === 'available');
  const { wipe_outcome, wipe_proof_id } = await slotNow(id, slot.id);
  assert.deepEqual([wipe_outcome, wipe_proof_id === null], ['verified', false]);
  await assertInvariants(app.db.database);
});

test('a slot that an operator quarantines while it is wiped stays so after the proof, until it is repaired', async () => {
  const { id } = await host();
  const [slot] = must(await approveOnly(id, { slot_indexes: [0] }), 200).body.slots;
  const repaired = async () => answer(await nextTask(id, 'node.cleanup'), erased(slot.nvme_serial, slot));
  const ended = (at: string) => until(at, async () => (await runOf('repair-slot', slot.id)).state === 'done');
  must(await onSlot(await slotNow(id, slot.id), 'quarantine'), 200);
  await repaired();
  await ended('the first wipe is over');
  const { status, status_reason, wipe_outcome } = await slotNow(id, slot.id);
  assert.deepEqual([status, status_reason, wipe_outcome], ['quarantined', 'Tried', 'verified']);
  must(await onSlot(await slotNow(id, slot.id), 'repair'), 202);
  await answer(await nextTask(id, 'slice.reconcile'), { domains: [], findings: [], rebound: [] });
  await answer(await nextTask(id, 'slice.topology_discover'), discovery(eight(hosts)));
  await repaired();
  await ended('the repair is over');
  assert.equal((await slotNow(id, slot.id)).status, 'available');
});

test('a host that is added again keeps no slot without a wipe: neither the new one nor the one it had', async () => {
  const one = await host();
  must(await approve(one.id, { slot_indexes: [0] }), 200);
  const [before] = await slotsOf(one.id);
  assert.equal(before.status, 'available');
  must(await onSlot(before, 'disable'), 200);
  const same = candidate(0, {}, hosts);
  const two = await host({ 0: same });
  const [slot] = must(await approveOnly(two.id, { slot_indexes: [0] }), 200).body.slots;
  assert.deepEqual([slot.nvme_serial, slot.status], [before.nvme_serial, 'quarantined']);
  const old = await slotNow(one.id, before.id);
  assert.deepEqual([old.status, old.wipe_proof_id], ['quarantined', null]);
  await proveFirstWipes(app.db.database, two.id);
  assert.equal((await slotNow(two.id, slot.id)).status, 'available');
  await assertInvariants(app.db.database);
});

test('a slot with another GPU is set apart until that is wiped, and so is the slot that had it', async () => {
  const one = await host();
  const two = await host();
  for (const { id } of [one, two]) must(await approve(id, { slot_indexes: [0] }), 200);
  const gpu_uuid = candidate(0, {}, hosts - 1).gpu_uuid;
  await two.again({ 0: { gpu_uuid } });
  must(await approve(two.id, { slot_indexes: [0] }), 200);
  for (const { id } of [one, two]) {
    const [slot] = await slotsOf(id);
    assert.deepEqual([slot.approval, slot.status, slot.wipe_proof_id], ['approved', 'quarantined', null]);
  }
  assert.equal(must(await root.get(`/api/v1/admin/nodes/${one.id}`), 200).body.free_gpus, 0);
  await assertInvariants(app.db.database);
});

test('a slot with another drive is set apart until that is wiped', async () => {
  const { id, again } = await host();
  must(await approve(id), 200);
  await again({ 4: { nvme_serial: 'OTHER', nvme_device: '/dev/disk/by-id/nvme-OTHER' } });
  must(await approve(id), 200);
  const slot = (await slotsOf(id))[4];
  assert.deepEqual([slot.approval, slot.status, slot.nvme_serial], ['approved', 'quarantined', 'OTHER']);
});

const OTHERS = {
  disk: { nvme_serial: 'REPLACED', nvme_device: '/dev/disk/by-id/nvme-REPLACED' },
  GPU: { gpu_uuid: 'GPU-99999999-0000-4000-8000-000000000000' },
};
for (const [what, other] of Object.entries(OTHERS)) {
  const replaced = (from: string) => ({
    0: JSON.parse(JSON.stringify(other).replaceAll('REPLACED', `${from}-${hosts}`)),
  });

  test(`a proof that was judged before a slot got another ${what} does not make it available`, async () => {
    const { id, again } = await host();
    must(await approve(id, { slot_indexes: [0] }), 200);
    const [slot] = await slotsOf(id);
    must(await onSlot(slot, 'quarantine'), 200);
    const restored = () =>
      app.db.database.write(PLATFORM, async (tx) => [
        await isRepairable(tx, slot),
        await restoreSlot(tx, slot, { wipe_proof_id: slot.wipe_proof_id, status: 'quarantined', reason: 'Judged.' }),
      ]);
    assert.deepEqual(await restored(), [true, true]);
    await again(replaced('PROOF'));
    must(await approveOnly(id, { slot_indexes: [0] }), 200);
    assert.deepEqual(await restored(), [false, false]);
    assert.equal((await slotNow(id, slot.id)).wipe_proof_id, null);
  });

  test(`a slot does not get another ${what} while it is wiped`, async () => {
    const { id, again } = await host();
    const [slot] = must(await approveOnly(id, { slot_indexes: [0] }), 200).body.slots;
    const task = await nextTask(id, 'node.cleanup');
    await again(replaced('WIPED'));
    const refused = await approveOnly(id, { slot_indexes: [0] });
    assert.deepEqual([refused.status, refused.body.errors?.[0].code], [409, 'being_wiped']);
    await answer(task, erased(slot.nvme_serial, slot));
    await until('the slot is wiped', async () => (await slotNow(id, slot.id)).status === 'available');
    must(await approveOnly(id, { slot_indexes: [0] }), 200);
    const now = await slotNow(id, slot.id);
    assert.deepEqual([now.status, now.wipe_proof_id, now.generation], ['quarantined', null, slot.generation + 1]);
  });

  test(`an override that was requested before a slot got another ${what} cannot be confirmed`, async () => {
    const { id, again } = await host();
    must(await approve(id, { slot_indexes: [0] }), 200);
    const [slot] = await slotsOf(id);
    must(await onSlot(slot, 'quarantine'), 200);
    const vouch = async (as: User) =>
      must(await as.post(at(id, `resource-slots/${slot.id}/mark-wiped`), { reason: 'Seen it myself' }), 200).body;
    await vouch(root);
    await again(replaced('VOUCHED'));
    must(await approveOnly(id, { slot_indexes: [0] }), 200);
    const asked = await vouch(second);
    assert.deepEqual([asked.override.requested_by, asked.override.confirmed_by], [second.me.id, null]);
    assert.equal(asked.slot.wipe_proof_id, null);
  });
}

test('a disabled slot is not enabled when another has its devices by now', async () => {
  const one = await host();
  must(await approve(one.id, { slot_indexes: [0] }), 200);
  const [slot] = await slotsOf(one.id);
  const disabled = must(await onSlot(slot, 'disable'), 200).body;
  const two = await host({ 0: { nvme_serial: slot.nvme_serial } });
  must(await approve(two.id, { slot_indexes: [0] }), 200);
  const refused = await onSlot(await slotNow(one.id, disabled.id), 'enable');
  assert.deepEqual([refused.status, refused.body.errors[0].code], [409, 'taken']);
});

test('the method of wiping that an operator chose is no drift at the next discovery', async () => {
  const { id, again } = await host();
  must(await approve(id, { wipe_method: 'blkdiscard' }), 200);
  await again({});
  assert.ok((await slotsOf(id)).every((slot: { approval: string }) => slot.approval === 'approved'));
  must(await approve(id, { wipe_method: 'nvme_sanitize', slot_indexes: [0] }), 200);
  const { rows } = await sql(
    'select wipe_method as policy from node_resource_slots where node_id = $1 order by slot_index limit 2',
    [id],
  );
  assert.deepEqual(rows, [{ policy: 'nvme_sanitize' }, { policy: 'blkdiscard' }]);
});
