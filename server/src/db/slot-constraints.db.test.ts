/** Invalid nodes, slots and wipe proofs: the schema refuses them from any writer. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Client } from 'pg';
import {
  CHECK,
  FOREIGN_KEY,
  insertRow,
  NOT_ALLOWED,
  NOT_NULL,
  type RawPlacement,
  type Row,
  rawPlacement,
  UNIQUE,
} from '../../test/raw-placement.ts';

const SLOTS = 'node_resource_slots';

describe('the schema of nodes and slots', () => {
  const closers: (() => Promise<void>)[] = [];
  let raw: RawPlacement;
  before(async () => {
    raw = await rawPlacement({ after: (fn) => void closers.unshift(fn) });
  });
  after(async () => {
    for (const close of closers) await close();
  });
  const adding = (row: Row) => (sql: Client) => insertRow(sql, SLOTS, row);
  const set =
    (id: string, assignment: string, ...values: unknown[]) =>
    (sql: Client) =>
      sql.query(`update ${SLOTS} set ${assignment} where id = $1`, [id, ...values]);

  it('an available slot is complete', async () => {
    const nodeId = await raw.node();
    const complete = raw.slotRow(nodeId);
    await raw.allowed(adding(complete));
    await raw.refused({ code: CHECK, constraint: 'available_is_wiped' }, adding({ ...complete, status: 'available' }));
    const slotId = await raw.slot(nodeId);
    for (const column of [
      'gpu_pci_address',
      'nvme_serial',
      'nvme_device',
      'mac_address',
      'private_ip',
      'fabric_claim_mode',
      'fabric_vf_pci_address',
    ]) {
      const refusal = { code: CHECK, constraint: 'available_is_complete' };
      await raw.refused(refusal, set(slotId, `${column} = null`));
      await raw.allowed(adding({ ...complete, [column]: null, status: 'quarantined' }));
    }
    for (const empty of ['gpu_pci_address', 'nvme_serial', 'nvme_device', 'fabric_claim_mode', 'fabric_vf_pci_address'])
      await raw.refused({ code: CHECK }, adding({ ...complete, [empty]: '' }));
    await raw.refused({ code: CHECK }, adding({ ...complete, nvme_device: '/dev/disk/by-id/../../sda' }));
    await raw.refused({ code: CHECK }, adding({ ...complete, fabric_claim_mode: 'shared_vf' }));
  });

  it('a claimed slot becomes available again only after a verified wipe newer than the claim', async () => {
    const nodeId = await raw.node();
    const allocationId = await raw.allocation(nodeId);
    const early = { status: 'cleaning', generation: 1, last_claimed_at: new Date(Date.now() - 60_000) };
    const slotId = await raw.slot(nodeId, early);
    const sell = (proof: string | null) => set(slotId, "status = 'available', wipe_proof_id = $2", proof);
    const proofId = await raw.proof(allocationId, nodeId, slotId);
    const unwiped = { code: CHECK, constraint: 'available_is_wiped' };
    const unproven = { code: FOREIGN_KEY, constraint: 'wiped_with_proof' };

    await raw.refused(unwiped, sell(null));
    await raw.refused(unwiped, sell('wpf_none'));
    const unverified = { code: CHECK, constraint: 'wipe_is_accepted' };
    await raw.refused(unverified, sell(await raw.proof(allocationId, nodeId, slotId, { is_verified: false })));
    const overridden = { method: 'two_person_override', is_verified: false };
    await raw.refused(
      { code: FOREIGN_KEY, constraint: 'override_is_allowed' },
      sell(await raw.proof(allocationId, nodeId, slotId, overridden)),
    );
    await assert.rejects(
      raw.proof(allocationId, nodeId, slotId, { ...overridden, is_verified: true }),
      /an override is not a verified wipe/,
    );
    await raw.refused(unproven, sell(await raw.proof(allocationId, nodeId, await raw.slot(nodeId))));
    await raw.refused(unproven, sell(await raw.proof(allocationId, nodeId, null)));
    await raw.allowed(sell(proofId));

    await raw.owner.query(`update ${SLOTS} set last_claimed_at = clock_timestamp() where id = $1`, [slotId]);
    await raw.refused(unwiped, sell(proofId));
    // The time of the wipe is the proof's: the writer's value does not count.
    await raw.refused(unwiped, (sql) =>
      sql.query(
        `update ${SLOTS} set status = 'available', wipe_proof_id = $2, wiped_at = now() + interval '1 day' where id = $1`,
        [slotId, proofId],
      ),
    );
  });

  it('a slot has a wipe time exactly when it has a proof', async () => {
    const nodeId = await raw.node();
    const slotId = await raw.slot(nodeId, { status: 'cleaning' });
    await raw.refused({ code: CHECK }, set(slotId, 'wiped_at = now()'));
    const proofId = await raw.proof(await raw.allocation(nodeId), nodeId, slotId);
    await raw.owner.query(`update ${SLOTS} set wipe_proof_id = $2 where id = $1`, [slotId, proofId]);
    const { rows } = await raw.owner.query(
      `select s.wiped_at = p.created_at as same from ${SLOTS} s join wipe_proofs p on p.id = s.wipe_proof_id where s.id = $1`,
      [slotId],
    );
    assert.deepEqual(rows, [{ same: true }]);
  });

  it('approved slots share no GPU or function per node, no disk or MAC per site, no address per network', async () => {
    const nodeId = await raw.node();
    const taken = raw.slotRow(nodeId);
    await insertRow(raw.owner, SLOTS, taken);
    const sameSite = await raw.node();
    const otherSite = await raw.node({ region_name: 'site-b' });
    const at = { 'same node': nodeId, 'same site': sameSite, 'other site': otherSite };
    const cases: [string, string, (keyof typeof at)[]][] = [
      ['gpu_pci_address', 'slots_gpu', ['same node']],
      ['fabric_vf_pci_address', 'slots_vf', ['same node']],
      ['nvme_serial', 'slots_nvme', ['same node', 'same site']],
      ['mac_address', 'slots_mac', ['same node', 'same site']],
      ['private_ip', 'slots_ip', ['same node']],
    ];
    for (const [column, constraint, clashes] of cases)
      for (const [where, node] of Object.entries(at)) {
        const region = node === otherSite ? 'site-b' : 'site-a';
        const value = taken[column as keyof typeof taken];
        const twin: Row = { ...raw.slotRow(node, { region_name: region }), [column]: value };
        if (clashes.some((clash) => clash === where)) await raw.refused({ code: UNIQUE, constraint }, adding(twin));
        else await raw.allowed(adding(twin));
        for (const approval of ['disabled', 'needs_reapproval']) await raw.allowed(adding({ ...twin, approval }));
      }
    const named = { ...raw.slotRow(sameSite), private_ip: taken.private_ip, network_id: taken.network_id };
    await raw.refused({ code: UNIQUE, constraint: 'slots_ip' }, adding(named));
    const waiting = { ...raw.slotRow(nodeId), mac_address: taken.mac_address, approval: 'needs_reapproval' };
    await insertRow(raw.owner, SLOTS, waiting);
    await raw.refused({ code: UNIQUE, constraint: 'slots_mac' }, set(waiting.id, "approval = 'approved'"));
  });

  it('a node has one slot per index', async () => {
    const nodeId = await raw.node();
    await raw.slot(nodeId, { slot_index: 3 });
    await raw.refused({ code: UNIQUE }, adding(raw.slotRow(nodeId, { slot_index: 3 })));
    for (const slot_index of [-1, 64]) await raw.refused({ code: CHECK }, adding(raw.slotRow(nodeId, { slot_index })));
  });

  it('a slot is approved by a named operator who cites the discovery task', async () => {
    const nodeId = await raw.node();
    for (const approval of ['approved', 'needs_reapproval'])
      for (const column of ['approved_by', 'approved_at', 'discovery_task_id'])
        await raw.refused({ code: CHECK }, adding({ ...raw.slotRow(nodeId), approval, [column]: null }));
    await raw.refused({ code: FOREIGN_KEY }, adding(raw.slotRow(nodeId, { approved_by: 'usr_none' })));
    const nobody = { approved_by: null, approved_at: null, discovery_task_id: null };
    await raw.allowed(adding(raw.slotRow(nodeId, { approval: 'disabled', ...nobody })));
  });

  it('slots belong to compute hosts of their own site, and role and site cannot change while slots exist', async () => {
    const misplaced = { code: FOREIGN_KEY, constraint: 'slot_on_compute_host' };
    for (const host_role of ['platform_control', 'app_control']) {
      const nodeId = await raw.node({ host_role, occupancy: 'free' });
      await raw.refused(misplaced, adding(raw.slotRow(nodeId)));
    }
    const nodeId = await raw.node({ occupancy: 'free' });
    await raw.refused(misplaced, adding(raw.slotRow(nodeId, { region_name: 'site-b' })));
    await raw.refused(misplaced, adding(raw.slotRow('nod_none')));
    await raw.slot(nodeId);
    for (const assignment of ["host_role = 'app_control'", "region_name = 'site-b'"])
      await raw.refused(misplaced, (sql) => sql.query(`update nodes set ${assignment} where id = $1`, [nodeId]));
  });

  it('only compute hosts are occupied, and only as their capacity mode allows', async () => {
    const adding_ = (row: Row) => (sql: Client) => insertRow(sql, 'nodes', raw.nodeRow(row));
    for (const host_role of ['platform_control', 'app_control'])
      for (const occupancy of ['sliced', 'exclusive', 'cleaning', 'cleanup_blocked'])
        await raw.refused({ code: CHECK }, adding_({ host_role, occupancy }));
    const fits = { code: CHECK, constraint: 'occupancy_fits_mode' };
    for (const occupancy of ['exclusive', 'cleaning', 'cleanup_blocked'])
      await raw.refused(fits, adding_({ capacity_mode: 'slice', occupancy }));
    await raw.refused(fits, adding_({ capacity_mode: 'baremetal', occupancy: 'sliced' }));
    const sliced = await raw.node({ occupancy: 'sliced' });
    await raw.refused(fits, (sql) => sql.query("update nodes set capacity_mode = 'baremetal' where id = $1", [sliced]));
    for (const row of [{ is_held: true }, { held_reason: 'kept' }])
      await raw.refused({ code: CHECK }, adding_({ ...row, occupancy: 'free' }));
  });

  it('wipe proofs are appended, never changed or deleted', async () => {
    const nodeId = await raw.node();
    const slotId = await raw.slot(nodeId);
    const allocationId = await raw.allocation(nodeId);
    await raw.proof(allocationId, nodeId, slotId, { is_verified: false });
    for (const text of [
      'update wipe_proofs set is_verified = true',
      'update wipe_proofs set created_at = now()',
      'delete from wipe_proofs where id not in (select wipe_proof_id from node_resource_slots where wipe_proof_id is not null)',
      'truncate wipe_proofs cascade',
    ])
      await raw.refused({ code: NOT_ALLOWED }, (sql) => sql.query(text));
    const row = raw.proofRow(allocationId, nodeId, slotId);
    for (const column of ['node_id', 'task_id', 'is_verified', 'evidence', 'correlation_id'])
      await raw.refused({ code: NOT_NULL }, (sql) => insertRow(sql, 'wipe_proofs', { ...row, [column]: null }));
    for (const change of [{ method: '' }, { allocation_id: null }])
      await raw.refused({ code: CHECK }, (sql) => insertRow(sql, 'wipe_proofs', { ...row, ...change }));
  });

  it('a wipe proof names a slot of its node', async () => {
    const nodeId = await raw.node();
    const away = await raw.slot(await raw.node());
    const allocationId = await raw.allocation(nodeId);
    await raw.refused({ code: FOREIGN_KEY, constraint: 'proof_is_of_node' }, (sql) =>
      insertRow(sql, 'wipe_proofs', raw.proofRow(allocationId, nodeId, away)),
    );
  });

  it('the application cannot set the time of a proof', async () => {
    const nodeId = await raw.node();
    const row = raw.proofRow(await raw.allocation(nodeId), nodeId, await raw.slot(nodeId));
    await raw.allowed((sql) => insertRow(sql, 'wipe_proofs', row));
    const { rows } = await raw.owner.query(
      "select has_column_privilege('gpuaas_app', 'wipe_proofs', 'created_at', 'insert') as held",
    );
    assert.deepEqual(rows, [{ held: false }]);
  });
});
