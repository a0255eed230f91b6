/** Invariant 32 for devices that come back: whoever had a disk or a GPU meanwhile, the proof of before does not count. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Candidate } from '@gpuaas/contract/node';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { candidate } from '../../test/candidate.ts';
import { anEnrolledNode, discover, discovery, eight, proveFirstWipes } from '../../test/discovered.ts';
import { assertInvariants, findViolations } from '../../test/invariants.ts';
import { aCatalog, anAllocation, aProof, type NodeFacts } from '../../test/placement.ts';
import { must, type User } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';
import { cleanedUp, gpuReset, isolated, provenDisk } from '../../test/wipe-evidence.ts';
import { finishTask } from '../agents/end-task.ts';
import { PLATFORM } from '../db/client.ts';
import { insertWipeProof } from '../db/statements/prove.ts';
import { refreshSummary } from '../placement/summary.ts';

type Slot = {
  id: string;
  node_id: string;
  version: number;
  generation: number;
  approval: string;
  status: string;
  status_reason: string | null;
  wipe_proof_id: string | null;
  nvme_serial: string;
  gpu_pci_address: string;
  fabric_vf_pci_address: string;
};

describe('a device that comes back to a slot', () => {
  let app: TestApp;
  let root: User;
  let hosts = 900;
  const closers: (() => Promise<void>)[] = [];
  before(async () => {
    app = await startTestApp({ after: (fn) => void closers.unshift(fn) });
    root = await app.admin();
    const owner = new Client({ connectionString: app.db.ownerUrl });
    await owner.connect();
    await aCatalog(owner);
    await owner.end();
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const sql = (text: string, values: unknown[] = []) =>
    app.db.database.write(PLATFORM, (tx) => tx.query<Record<string, unknown>>(text, values));
  const at = (id: string, rest: string): string => `/api/v1/admin/nodes/${id}/${rest}`;
  const slotNow = async ({ node_id, id }: Pick<Slot, 'node_id' | 'id'>): Promise<Slot> =>
    must(await root.get(at(node_id, `resource-slots/${id}`)), 200).body;
  const tryOn = async (slot: Slot, verb: string) => {
    const { version } = await slotNow(slot);
    return root.post(
      at(slot.node_id, `resource-slots/${slot.id}/${verb}`),
      { reason: 'Tried' },
      { 'if-match': `"v${version}"` },
    );
  };
  const on = async (slot: Slot, verb: string): Promise<Slot> => {
    const answer = await tryOn(slot, verb);
    assert.ok(answer.status < 300, JSON.stringify(answer.body));
    return answer.body;
  };
  const approve = async (nodeId: string): Promise<Slot> => {
    const { map_hash } = must(await root.get(at(nodeId, 'slice-topology/discovery')), 200).body.map;
    const body = { map_hash, slot_indexes: [0] };
    return must(await root.post(at(nodeId, 'resource-slots/approve'), body), 200).body.slots[0];
  };
  const approveWiped = async (nodeId: string): Promise<Slot> => {
    const slot = await approve(nodeId);
    await proveFirstWipes(app.db.database, nodeId);
    return slotNow(slot);
  };
  const host = async (device: Partial<Candidate> = {}, facts: NodeFacts = {}) => {
    const id = await anEnrolledNode(
      app.db.database,
      { query: sql },
      { region_name: 'us-buffalo-1', capacity_mode: 'slice', ...facts },
    );
    const number = ++hosts;
    const found = (change: Partial<Candidate>) =>
      eight(number).map((slot, index) => (index === 0 ? { ...slot, ...change } : slot));
    const look = (change: Partial<Candidate>) => discover(app.db.database, id, discovery(found(change)));
    await look(device);
    return { id, device: candidate(0, device, number), look };
  };
  /** An allocation had the slot, and its wipe was proven. */
  const use = async (slot: Slot): Promise<void> =>
    app.db.database.write(PLATFORM, async (tx) => {
      await tx.query(
        "update node_resource_slots set status = 'reserved', generation = generation + 1, last_claimed_at = clock_timestamp() where id = $1",
        [slot.id],
      );
      const proof = await aProof(tx, { node_id: slot.node_id, slot_id: slot.id, serial: slot.nvme_serial });
      await tx.query("update node_resource_slots set status = 'cleaning' where id = $1", [slot.id]);
      await tx.query("update node_resource_slots set status = 'available', wipe_proof_id = $2 where id = $1", [
        slot.id,
        proof,
      ]);
      await refreshSummary(tx, slot.node_id);
    });
  type Task = { id: string; attempt: number };
  const answer = async (nodeId: string, kind: string, output: object): Promise<void> => {
    let task: Task | undefined;
    await until(`a ${kind} is requested`, async () => {
      const { rows } = await sql(
        "select id, attempt from node_tasks where node_id = $1 and kind = $2 and state = 'queued'",
        [nodeId, kind],
      );
      task = rows[0] as Task | undefined;
      return task !== undefined;
    });
    const { id, attempt } = task as unknown as Task;
    await app.db.database.write(PLATFORM, async (tx) => {
      await tx.query("update node_tasks set state = 'running' where id = $1", [id]);
      const result = {
        id,
        attempt,
        state: 'completed' as const,
        reason: null,
        output: output as Record<string, unknown>,
      };
      await finishTask(tx, result, { now: new Date() });
    });
  };
  const wiped = (slot: Slot) =>
    cleanedUp(
      [
        provenDisk(
          { slot_id: slot.id, serial: slot.nvme_serial, generation: slot.generation },
          { method: 'nvme_format' },
        ),
      ],
      { gpu_resets: [gpuReset(slot.gpu_pci_address)], isolation: isolated([slot.fabric_vf_pci_address]) },
    );
  const repair = async (slot: Slot): Promise<Slot> => {
    const { node_id } = slot;
    await on(slot, 'repair');
    await answer(node_id, 'slice.reconcile', { domains: [], drift: [], rebound: [] });
    await answer(node_id, 'slice.topology_discover', discovery(eight(hosts)));
    await answer(node_id, 'node.cleanup', wiped(await slotNow(slot)));
    await until('the slot is wiped', async () => (await slotNow(slot)).status === 'available');
    return slotNow(slot);
  };
  const assertUnproven = (slot: Slot, reason: RegExp) => {
    assert.deepEqual([slot.approval, slot.status, slot.wipe_proof_id], ['approved', 'quarantined', null]);
    assert.match(slot.status_reason ?? '', reason);
  };

  const BACK = {
    enabled: (slot: Slot) => on(slot, 'enable'),
    approved: (slot: Slot) => approve(slot.node_id),
  };
  for (const [how, back] of Object.entries(BACK)) {
    it(`is wiped again when its slot is ${how} after another slot was used with it`, async () => {
      const a = await host();
      const s = await approveWiped(a.id);
      await on(s, 'disable');
      const c = await host(a.device);
      const t = await approveWiped(c.id);
      assert.equal((await slotNow(s)).wipe_proof_id, null, 'a device has one proof');
      await use(t);
      await on(t, 'disable');
      // The device goes back.
      assertUnproven(await on(s, 'enable'), /./);
      await repair(s);
      assert.equal((await slotNow(t)).wipe_proof_id, null, 'the wipe in one place ends the proof in the other');
      await use(s);
      await on(s, 'disable');
      // And comes again.
      assertUnproven(await back(t), /./);
      await assertInvariants(app.db.database);
    });

    it(`is wiped again when its slot is ${how}, though the slot kept a proof from before the other use`, async () => {
      const a = await host();
      const s = await approveWiped(a.id);
      const c = await host();
      const t = await approveWiped(c.id);
      for (const slot of [s, t]) await on(slot, 'disable');
      await use(s);
      // As a build that did not end proofs would have left it.
      const { nvme_serial, nvme_device, gpu_uuid } = a.device;
      await sql(
        `update node_resource_slots set nvme_serial = $2, gpu_uuid = $3,
           content = content || jsonb_build_object('nvme_serial', $2::text, 'nvme_device', $4::text, 'gpu_uuid', $3::text) where id = $1`,
        [t.id, nvme_serial, gpu_uuid, nvme_device],
      );
      await c.look({ nvme_serial, nvme_device, gpu_uuid });
      assert.notEqual((await slotNow(t)).wipe_proof_id, null);
      const before = (await slotNow(t)).generation;
      const now = await back(t);
      assertUnproven(now, /used its disk or GPU in another slot/);
      assert.equal(now.generation, before + 1, 'an earlier override does not count');
    });
  }

  it('stays with a disabled slot whose cleanup is blocked', async () => {
    const a = await host();
    const s = await approveWiped(a.id);
    await anAllocation({ query: sql }, { node: { id: a.id, slot_ids: [s.id] }, state: 'release_failed' });
    await on(s, 'disable');
    assert.equal((await slotNow(s)).status, 'cleanup_blocked');
    const c = await host({ nvme_serial: a.device.nvme_serial });
    const { map_hash } = must(await root.get(at(c.id, 'slice-topology/discovery')), 200).body.map;
    const refused = await root.post(at(c.id, 'resource-slots/approve'), { map_hash, slot_indexes: [0] });
    assert.deepEqual([refused.status, refused.body.errors?.[0].code], [409, 'taken']);
  });

  it('as a data disk of another node is no part of a slot meanwhile, and is wiped before it is one again', async () => {
    const a = await host();
    const s = await approveWiped(a.id);
    const { nvme_serial: serial, nvme_device } = a.device;
    const n = await host({ nvme_serial: serial, nvme_device }, { capacity_mode: 'baremetal', state: 'draining' });
    const own = () => root.post(at(n.id, 'disks'), { serial, reason: 'Ours now' });
    assert.match((await own()).body.detail, /belongs to slot 0 of .*Disable that slot/);
    await on(s, 'disable');
    must(await own(), 202);
    const ended = await slotNow(s);
    assert.deepEqual([ended.status, ended.wipe_proof_id], ['quarantined', null]);
    const taken = async () => (await tryOn(s, 'enable')).body.errors?.[0];
    assert.match((await taken()).message, /is a data disk of .*, which wipes it or is allocated/);
    const evidence = provenDisk({ slot_id: null, serial, generation: null }, { method: 'nvme_format' });
    await answer(n.id, 'node.cleanup', cleanedUp([evidence]));
    const disks = async () => must(await root.get(at(n.id, 'disks')), 200).body.items[0];
    await until('it is a data disk', async () => (await disks()).state === 'owned');
    const held = await anAllocation(
      { query: sql },
      { node: { id: n.id, slot_ids: [] }, shape: 'baremetal', state: 'releasing' },
    );
    assert.equal((await taken()).code, 'taken');
    // A wipe of the slot would be one of the tenant's disk.
    must(await tryOn(s, 'repair'), 202);
    const run = async () =>
      (
        await sql(
          "select state, state_reason from workflow_runs where workflow = 'repair-slot' and subject_id = $1 order by id desc",
          [s.id],
        )
      ).rows[0];
    await until('the repair is refused', async () => (await run())?.['state'] === 'stuck');
    assert.match(String((await run())?.['state_reason']), /an allocation holds them elsewhere/);
    // As a build that did not end proofs would have left it: proven before the claim.
    await sql(
      `update node_resource_slots set status = 'available', wipe_proof_id = (select id from wipe_proofs where slot_id = $1 order by sequence limit 1)
       where id = $1`,
      [s.id],
    );
    await app.db.database.write(PLATFORM, async (tx) => {
      const proof = await insertWipeProof(tx, {
        ...{ node_id: n.id, slot_id: null, allocation_id: held.id, disk_serial: serial ?? '', task_id: 'tsk_x' },
        ...{ method: 'nvme_format', is_verified: true, evidence: {}, correlation_id: 'test' },
      });
      await tx.query(
        'update allocation_resource_claims set released_at = clock_timestamp(), wipe_proof_id = $2 where allocation_id = $1',
        [held.id, proof],
      );
      await tx.query("update nodes set occupancy = 'free' where id = $1", [n.id]);
    });
    assertUnproven(await on(s, 'enable'), /used its disk or GPU in another slot or node/);
    assert.equal((await disks()).state, 'revoked', 'the disk is no data disk of the other node any more');
    assert.deepEqual(
      (await sql('select data_disks @> $2 as has from nodes where id = $1', [n.id, JSON.stringify([{ serial }])])).rows,
      [{ has: false }],
    );
  });

  const wholeNode = (device: Candidate) =>
    host(
      { nvme_serial: device.nvme_serial, nvme_device: device.nvme_device },
      { capacity_mode: 'baremetal', data_disks: [] },
    );
  /** A release of `useWhole` is played by hand, so that other invariants do not hold. */
  const assertProven = async (): Promise<void> => {
    const found = await findViolations(app.db.database);
    assert.deepEqual(
      found.filter(({ invariant }) => invariant === 'available_slot_is_wiped'),
      [],
    );
  };
  const exclude = (nodeId: string, serial: string | null) =>
    root.post(at(nodeId, 'disks/exclude'), { serial, reason: 'A mirror' });
  const decision = async (nodeId: string) => must(await root.get(at(nodeId, 'disks')), 200).body.items[0];
  /** A tenant has the whole node, and returns it with a wipe that does not cover the disk. */
  const useWhole = async (nodeId: string, while_held: () => Promise<void> = async () => {}): Promise<void> => {
    const held = await anAllocation(
      { query: sql },
      { node: { id: nodeId, slot_ids: [] }, shape: 'baremetal', state: 'releasing' },
    );
    await while_held();
    await app.db.database.write(PLATFORM, async (tx) => {
      const proof = await insertWipeProof(tx, {
        ...{ node_id: nodeId, slot_id: null, allocation_id: held.id, task_id: 'tsk_x', method: 'every disk' },
        ...{ is_verified: true, evidence: {}, correlation_id: 'test' },
      });
      await tx.query(
        'update allocation_resource_claims set released_at = clock_timestamp(), wipe_proof_id = $2 where allocation_id = $1',
        [held.id, proof],
      );
      await tx.query("update nodes set occupancy = 'free' where id = $1", [nodeId]);
    });
  };

  it('is not excluded on another node while its slot is approved, and ends the proof of its slot afterwards', async () => {
    const a = await host();
    const s = await approveWiped(a.id);
    const { nvme_serial: serial } = a.device;
    const n = await wholeNode(a.device);
    assert.match((await exclude(n.id, serial)).body.detail, /belongs to slot 0 of .*Disable that slot/);
    assert.notEqual((await slotNow(s)).wipe_proof_id, null);
    await on(s, 'disable');
    must(await exclude(n.id, serial), 201);
    const ended = await slotNow(s);
    assert.deepEqual([ended.status, ended.wipe_proof_id], ['quarantined', null]);
    await useWhole(n.id, async () => {
      // The tenant of the node has it: the slot does not get it back, whatever operators decide meanwhile.
      for (const state of ['excluded', 'revoked']) {
        assert.equal((await decision(n.id)).state, state);
        assert.match(
          (await tryOn(s, 'enable')).body.errors[0].message,
          /is a data disk of .*, which wipes it or is allocated/,
        );
        if (state === 'excluded')
          must(await root.post(at(n.id, `disks/${(await decision(n.id)).id}/revoke`), { reason: 'Moved' }), 200);
      }
      const third = await wholeNode(a.device);
      assert.match((await exclude(third.id, serial)).body.detail, /part of .*, which is allocated as a whole/);
    });
    const third = await wholeNode(a.device);
    assert.match((await exclude(third.id, serial)).body.detail, /no wipe since is verified. Approve the disk instead/);
    assertUnproven(await on(s, 'enable'), /./);
    await repair(s);
    await on(s, 'disable');
    must(await exclude(third.id, serial), 201);
    await assertProven();
  });

  it('is not excluded on another node while the cleanup of its slot is blocked', async () => {
    const a = await host();
    const s = await approveWiped(a.id);
    await anAllocation({ query: sql }, { node: { id: a.id, slot_ids: [s.id] }, state: 'release_failed' });
    await on(s, 'disable');
    const n = await wholeNode(a.device);
    assert.match((await exclude(n.id, a.device.nvme_serial)).body.detail, /belongs to slot 0 of /);
  });

  for (const state of ['excluded', 'revoked'])
    it(`is wiped again after a tenant of a whole node reached it, where its exclusion is ${state}`, async () => {
      const a = await host();
      const s = await approveWiped(a.id);
      await on(s, 'disable');
      const n = await wholeNode(a.device);
      // As a build that did not end the proof would have left it.
      await sql(
        `insert into disk_ownerships (id, node_id, region_name, serial, device, state, approved_by, reason, correlation_id)
         values ($1, $2, 'us-buffalo-1', $3, '/dev/disk/by-id/nvme-x', 'excluded', 'usr_1', 'A mirror', 'test')`,
        [mintId('dsk'), n.id, a.device.nvme_serial],
      );
      await useWhole(n.id);
      if (state === 'revoked')
        must(await root.post(at(n.id, `disks/${(await decision(n.id)).id}/revoke`), { reason: 'Back' }), 200);
      assert.notEqual((await slotNow(s)).wipe_proof_id, null);
      assertUnproven(await on(s, 'enable'), /used its disk or GPU in another slot or node/);
      await assertProven();
    });
});
