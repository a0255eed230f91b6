/** Inventory reports of agents, compared with claims. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { HostVm, Inventory } from '@gpuaas/contract/node';
import { silentLog, systemClock } from '@gpuaas/kit';
import { Client } from 'pg';
import { type TestDatabase, testDatabase } from '../../test/database.ts';
import { settle } from '../../test/host.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, anAllocation, type TestAllocation, type TestNode } from '../../test/placement.ts';
import { findAllocation } from '../db/allocation.ts';
import { PLATFORM } from '../db/client.ts';
import { refreshSummary } from '../placement/summary.ts';
import { auditRun } from '../workflows/allocation-transitions.ts';
import { startRelease } from '../workflows/start-cleanup.ts';
import { startPowerChange } from '../workflows/start-power-change.ts';
import { record } from './inventory.ts';

const nameOf = (allocationId: string): string => `gpuaas-${allocationId.replace('_', '-')}`;
const ORPHAN = 'alc_01k9zv3m8q4t6w2x5y7r0s1nzz';

describe('an inventory', () => {
  let db: TestDatabase;
  let sql: Client;
  before(async () => {
    db = await testDatabase();
    sql = new Client({ connectionString: db.ownerUrl });
    await sql.connect();
  });
  after(async () => {
    await assertInvariants(db.database);
    await sql.end();
    await db.drop();
  });
  const rows = async <R>(text: string, values: readonly unknown[] = []): Promise<R[]> =>
    (await sql.query(text, [...values])).rows as R[];

  let clock = Date.now() - 3_600_000;
  const inventory = (over: Partial<Inventory> = {}): Inventory => {
    clock += 1000;
    return {
      observed_at: new Date(clock).toISOString(),
      boot_id: 'boot-1',
      ...{ vms: [], leases: [], drift: [], leftovers: [], repaired: [] },
      images: { value: [] },
      ...over,
    };
  };
  const tell = (node: TestNode, over: Partial<Inventory> = {}) =>
    record({ database: db.database, clock: systemClock, log: silentLog() }, node.id, {
      inventory: inventory(over),
    });
  const machine = (allocation_id: string | null, over: Partial<HostVm> = {}): HostVm => ({
    name: allocation_id === null ? 'somebodys' : nameOf(allocation_id),
    allocation_id,
    is_managed: allocation_id !== null,
    state: 'running',
    ended_by: null,
    devices: [],
    ...over,
  });
  const leaseOf = (allocation: TestAllocation): Inventory['leases'][number] => ({
    allocation_id: allocation.id,
    slot_ids: [...allocation.slot_ids],
    is_used: true,
    is_cleaning: false,
    wanted: 'on',
  });
  const setUp = async () => {
    const node = await aNode(sql);
    await db.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
    return node;
  };
  const withSlice = async () => {
    const node = await setUp();
    const allocation = await anAllocation(sql, { node, state: 'active' });
    await db.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
    return { node, allocation };
  };
  const found = async (node: TestNode) => {
    const [row] = await rows<{ findings: { code: string; since: string }[] }>(
      'select findings from node_inventories where node_id = $1',
      [node.id],
    );
    return row?.findings ?? [];
  };
  const codes = async (node: TestNode) => (await found(node)).map(({ code }) => code);
  const power = async (allocation: TestAllocation) =>
    (
      await rows<{ power_state: string; power_reason: string | null }>(
        'select power_state, power_reason from allocations where id = $1',
        [allocation.id],
      )
    )[0];

  it('of a VM without a claim is reported with its age, and makes slots with its devices unschedulable', async () => {
    const node = await setUp();
    const [slot] = await rows<{ id: string; gpu_pci_address: string }>(
      'select id, gpu_pci_address from node_resource_slots where node_id = $1 and slot_index = 2',
      [node.id],
    );
    const vms = [machine(ORPHAN, { devices: [slot?.gpu_pci_address ?? ''] }), machine(null)];
    assert.deepEqual(await tell(node, { vms }), { is_accepted: true, unclaimed: [ORPHAN] });
    assert.deepEqual(await codes(node), ['orphan_vm', 'unknown_vm']);
    const [first] = await found(node);
    const slots = () =>
      rows<{ status: string; reason: string | null; free: number; audited: number; told: number }>(
        `select s.status, s.status_reason as reason, p.free_count as free,
           (select count(*)::int from audit_logs l where l.target_id = s.id and l.action = 'slot.quarantine') as audited,
           (select count(*)::int from outbox_events e where e.subject = s.node_id and e.event_type = 'node.drift_changed') as told
         from node_resource_slots s join node_placement_summary p on p.node_id = s.node_id where s.id = $1`,
        [slot?.id],
      );
    const [apart] = await slots();
    assert.deepEqual([apart?.status, apart?.free, apart?.audited, apart?.told], ['quarantined', 7, 1, 1]);
    assert.match(apart?.reason ?? '', /has no claim but uses the devices/);
    await tell(node, { vms });
    assert.equal((await found(node))[0]?.since, first?.since, 'as old as it was');
    assert.equal((await slots())[0]?.told, 1, 'told once');
    await tell(node);
    assert.deepEqual(await codes(node), []);
    const [after] = await slots();
    assert.deepEqual([after?.status, after?.told], ['quarantined', 2], 'it comes back by a repair');
    await assertInvariants(db.database);
  });

  it('with a fabric function in a running VM is a finding where the region does not isolate tenants', async () => {
    const { node, allocation } = await withSlice();
    const [slot] = await rows<{ id: string; gpu_pci_address: string; fabric_vf_pci_address: string }>(
      'select id, gpu_pci_address, fabric_vf_pci_address from node_resource_slots where id = any ($1)',
      [allocation.slot_ids],
    );
    assert.ok(slot);
    const seen = async (...devices: string[]) => {
      await tell(node, { vms: [machine(allocation.id, { devices })], leases: [leaseOf(allocation)] });
      return (await found(node)) as unknown as { code: string; allocation_id: string; slot_ids: string[] }[];
    };
    assert.deepEqual(
      (await seen(slot.gpu_pci_address, slot.fabric_vf_pci_address)).map(({ code, allocation_id, slot_ids }) => [
        code,
        allocation_id,
        ...slot_ids,
      ]),
      [['fabric_not_isolated', allocation.id, slot.id]],
    );
    assert.deepEqual(await seen(slot.gpu_pci_address), []);
  });

  it('is compared with claims released a moment ago, too', async () => {
    const { node, allocation } = await withSlice();
    const seen = { vms: [machine(allocation.id)], leases: [leaseOf(allocation)] };
    await db.database.write(PLATFORM, async (tx) => {
      await startRelease(tx, { allocation_id: allocation.id, reason: 'test' });
      const row = await findAllocation(tx, allocation.id);
      assert.ok(row);
      auditRun(tx, row, 'release', 'test');
    });
    assert.deepEqual(await tell(node, seen), { is_accepted: true, unclaimed: [] });
    await settle(db.database);
    const [row] = await rows<{ state: string }>('select state from allocations where id = $1', [allocation.id]);
    assert.equal(row?.state, 'released');
    assert.deepEqual(await tell(node, seen), { is_accepted: true, unclaimed: [] });
    assert.deepEqual(await codes(node), []);
    const [slot] = await rows<{ status: string }>('select status from node_resource_slots where id = $1', [
      allocation.slot_ids[0],
    ]);
    assert.equal(slot?.status, 'available');
  });

  it('that is older than the stored one changes nothing', async () => {
    const node = await setUp();
    await tell(node, { vms: [machine(null)] });
    const old = new Date(clock - 60_000).toISOString();
    assert.deepEqual(await tell(node, { observed_at: old }), { is_accepted: false, unclaimed: [] });
    assert.deepEqual(await codes(node), ['unknown_vm']);
    const ahead = new Date(Date.now() + 6 * 60_000).toISOString();
    await assert.rejects(tell(node, { observed_at: ahead }), { code: 'invalid_request' });
  });

  it('after a host boot starts VMs that were on until they are ready, at most a few times an hour', async () => {
    const { node, allocation } = await withSlice();
    const leases = [leaseOf(allocation)];
    await tell(node, { vms: [machine(allocation.id)], leases });
    const down = { vms: [machine(allocation.id, { state: 'shut_off' })], leases, boot_id: 'boot-2' };
    for (let time = 1; time <= 3; time++) {
      await tell(node, down);
      const during = await power(allocation);
      assert.equal(during?.power_state, 'starting');
      assert.match(during?.power_reason ?? '', /is off and is being restarted/);
      await tell(node, down);
      assert.deepEqual(await codes(node), [], 'what is under way is not judged');
      assert.deepEqual(await settle(db.database), ['slice.vm_start', 'slice.vm_readiness']);
      assert.deepEqual(await power(allocation), { power_state: 'on', power_reason: null });
      await sql.query(
        "update node_tasks set finished_at = finished_at - interval '2 minutes' where allocation_id = $1",
        [allocation.id],
      );
    }
    await tell(node, down);
    const given = await power(allocation);
    assert.equal(given?.power_state, 'off');
    assert.match(given?.power_reason ?? '', /3 times within an hour/);
    const acts = await rows<{ action: string }>(
      "select action from audit_logs where target_id = $1 and policy like 'the VM was found down%' order by id",
      [allocation.id],
    );
    assert.deepEqual(
      acts.map(({ action }) => action),
      ['allocation.start', 'allocation.start', 'allocation.start', 'allocation.power_off'],
    );
    await assertInvariants(db.database);
  });

  it('retries a VM that the host could not start yet, until its tenant requests something else', async () => {
    const { node, allocation } = await withSlice();
    const down = {
      vms: [machine(allocation.id, { state: 'shut_off' })],
      leases: [leaseOf(allocation)],
      boot_id: 'boot-2',
    };
    const past = () =>
      sql.query("update node_tasks set finished_at = finished_at - interval '2 minutes' where allocation_id = $1", [
        allocation.id,
      ]);
    await tell(node, down);
    await settle(db.database, { answer: () => null });
    assert.equal((await power(allocation))?.power_state, 'off');
    await past();
    await tell(node, down);
    assert.equal((await power(allocation))?.power_state, 'starting', 'a second try');
    await settle(db.database, { answer: () => null });
    await past();
    await db.database.write(PLATFORM, (tx) =>
      startPowerChange(tx, {
        allocation_id: allocation.id,
        change: 'stop',
        grace_s: 0,
        correlation_id: 'c-tenant',
        check: () => undefined,
      }),
    );
    await settle(db.database);
    await past();
    await tell(node, down);
    assert.equal((await power(allocation))?.power_state, 'off', 'its tenant stopped it');
    assert.deepEqual(await codes(node), []);
  });

  it('leaves a VM off permanently after a few failed starts, and reports it', async () => {
    const { node, allocation } = await withSlice();
    const down = { vms: [machine(allocation.id, { state: 'shut_off' })], leases: [leaseOf(allocation)] };
    const pass = async (minutes: number) => {
      const ago = `interval '${minutes} minutes'`;
      for (const text of [
        `update node_tasks set finished_at = finished_at - ${ago} where allocation_id = $1`,
        `update workflow_runs set created_at = created_at - ${ago}, finished_at = finished_at - ${ago} where subject_id = $1`,
        `update allocations set power_since = power_since - ${ago} where id = $1`,
      ])
        await sql.query(text, [allocation.id]);
    };
    for (let time = 1; time <= 3; time++) {
      await tell(node, down);
      assert.equal((await power(allocation))?.power_state, 'starting', `try ${time}`);
      await settle(db.database, { answer: () => null });
      await pass(2);
    }
    const left = { power_state: 'off', power_reason: /3 times within an hour.*stays off/ };
    for (const minutes of [2, 54, 2]) {
      await tell(node, down);
      const now = await power(allocation);
      assert.equal(now?.power_state, left.power_state);
      assert.match(now?.power_reason ?? '', left.power_reason);
      await pass(minutes);
    }
    const told = await rows(
      "select from audit_logs where target_id = $1 and action = 'allocation.power_off' and policy like 'the VM%'",
      [allocation.id],
    );
    assert.equal(told.length, 1, 'told once');
  });

  it('of a VM shut down by the guest OS marks it off, and starts nothing', async () => {
    const { node, allocation } = await withSlice();
    const vms = [machine(allocation.id, { state: 'shut_off', ended_by: 'guest' })];
    await tell(node, { vms, leases: [leaseOf(allocation)] });
    assert.deepEqual(await power(allocation), {
      power_state: 'off',
      power_reason: 'The VM was shut down by the guest OS.',
    });
    assert.deepEqual(await settle(db.database), []);
    const [told] = await rows<{ data: { power_state: string } }>(
      "select data from outbox_events where subject = $1 and event_type = 'allocation.power_changed'",
      [allocation.id],
    );
    assert.equal(told?.data.power_state, 'off');
    await tell(node, { vms, leases: [leaseOf(allocation)] });
    assert.deepEqual(await codes(node), [], 'it is off as it is known to be');
  });
});
