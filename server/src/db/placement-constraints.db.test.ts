/** Invalid claims: the schema refuses them from any writer. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  CHECK,
  FOREIGN_KEY,
  insertRow,
  NOT_ALLOWED,
  type RawPlacement,
  type Row,
  rawPlacement,
  UNIQUE,
} from '../../test/raw-placement.ts';

const CLAIMS = 'allocation_resource_claims';

describe('the schema of claims', () => {
  const closers: (() => Promise<void>)[] = [];
  let raw: RawPlacement;
  before(async () => {
    raw = await rawPlacement({ after: (fn) => void closers.unshift(fn) });
  });
  after(async () => {
    for (const close of closers) await close();
  });
  const claiming = (row: Row) => (sql: Parameters<typeof insertRow>[0]) => insertRow(sql, CLAIMS, row);

  it('a slot has at most one live claim', async () => {
    const { nodeId, slotId } = await raw.claimedSlot();
    const other = await raw.allocation(nodeId);
    await raw.refused(
      { code: UNIQUE, constraint: 'claims_one_per_slot' },
      claiming(raw.claimRow(other, nodeId, slotId)),
    );
    const idle = await raw.slot(nodeId, { status: 'reserved' });
    await raw.allowed(claiming(raw.claimRow(other, nodeId, idle)));
  });

  it('a node has at most one live exclusive claim', async () => {
    const { nodeId } = await raw.claimedNode();
    const row = { capacity_shape: 'baremetal', sku_name: 'metal', gpu_count: 8 };
    const other = await raw.allocation(nodeId, row);
    await raw.refused({ code: UNIQUE, constraint: 'claims_one_per_node' }, claiming(raw.claimRow(other, nodeId, null)));
    const free = await raw.node({ occupancy: 'exclusive' });
    const next = await raw.allocation(free, row);
    await raw.allowed(claiming(raw.claimRow(next, free, null)));
  });

  it('a claim needs its node in the right mode, so slot and exclusive claims exclude each other', async () => {
    for (const occupancy of ['free', 'exclusive', 'cleaning', 'cleanup_blocked']) {
      const nodeId = await raw.node({ occupancy });
      const slotId = await raw.slot(nodeId, { status: 'reserved' });
      const row = raw.claimRow(await raw.allocation(nodeId), nodeId, slotId);
      await raw.refused({ code: FOREIGN_KEY, constraint: 'node_is_in_mode' }, claiming(row));
    }
    for (const occupancy of ['free', 'sliced']) {
      const nodeId = await raw.node({ occupancy });
      const metal = await raw.allocation(nodeId, { capacity_shape: 'baremetal', sku_name: 'metal', gpu_count: 8 });
      const row = raw.claimRow(metal, nodeId, null);
      await raw.refused({ code: FOREIGN_KEY, constraint: 'node_is_in_mode' }, claiming(row));
    }
  });

  it('a node keeps its mode while it has a live claim', async () => {
    const { nodeId } = await raw.claimedSlot();
    for (const occupancy of ['free', 'exclusive', 'cleaning', 'cleanup_blocked'])
      await raw.refused({ code: FOREIGN_KEY, constraint: 'node_is_in_mode' }, (sql) =>
        sql.query('update nodes set occupancy = $2 where id = $1', [nodeId, occupancy]),
      );
    const exclusive = await raw.claimedNode();
    for (const occupancy of ['free', 'sliced'])
      await raw.refused({ code: FOREIGN_KEY, constraint: 'node_is_in_mode' }, (sql) =>
        sql.query('update nodes set occupancy = $2 where id = $1', [exclusive.nodeId, occupancy]),
      );
    await raw.allowed((sql) => sql.query("update nodes set occupancy = 'cleaning' where id = $1", [exclusive.nodeId]));
  });

  it('a slot with a live claim is not available, and an available slot cannot have a live claim', async () => {
    const { nodeId, slotId } = await raw.claimedSlot();
    const wiped = await raw.owner.query('select allocation_id from allocation_resource_claims where slot_id = $1', [
      slotId,
    ]);
    const proofId = await raw.proof(wiped.rows[0].allocation_id, nodeId, slotId);
    await raw.refused({ code: FOREIGN_KEY, constraint: 'slot_is_taken' }, (sql) =>
      sql.query("update node_resource_slots set status = 'available', wipe_proof_id = $2 where id = $1", [
        slotId,
        proofId,
      ]),
    );
    const offered = await raw.slot(nodeId);
    const row = raw.claimRow(await raw.allocation(nodeId), nodeId, offered);
    await raw.refused({ code: FOREIGN_KEY, constraint: 'slot_is_taken' }, claiming(row));
  });

  it('a claim names a slot of its node', async () => {
    const nodeId = await raw.node();
    const elsewhere = await raw.slot(await raw.node(), { status: 'reserved' });
    const row = raw.claimRow(await raw.allocation(nodeId), nodeId, elsewhere);
    await raw.refused({ code: FOREIGN_KEY, constraint: 'slot_is_taken' }, claiming(row));
    await raw.refused({ code: FOREIGN_KEY, constraint: 'slot_is_taken' }, claiming({ ...row, slot_id: 'slt_none' }));
    const { slotId, nodeId: home } = await raw.claimedSlot();
    await raw.refused({ code: FOREIGN_KEY, constraint: 'slot_is_taken' }, (sql) =>
      sql.query('update node_resource_slots set node_id = $2 where id = $1', [slotId, nodeId]),
    );
    assert.notEqual(home, nodeId);
  });

  it('all claims of an allocation are on its node', async () => {
    const { allocationId, slotId, nodeId } = await raw.claimedSlot({ gpu_count: 2 });
    const other = await raw.node();
    const away = await raw.slot(other, { status: 'reserved' });
    const fits = { code: FOREIGN_KEY, constraint: 'claim_fits_allocation' };
    await raw.refused(fits, claiming(raw.claimRow(allocationId, other, away)));
    for (const node of [other, null])
      await raw.refused(fits, (sql) =>
        sql.query('update allocations set node_id = $2 where id = $1', [allocationId, node]),
      );
    const homeless = await raw.allocation(null);
    await raw.refused(fits, claiming(raw.claimRow(homeless, other, away)));
    const beside = await raw.slot(nodeId, { status: 'reserved' });
    assert.notEqual(beside, slotId);
    await raw.allowed(claiming(raw.claimRow(allocationId, nodeId, beside)));
  });

  it('a slice claims slots and bare metal claims a node, never the reverse', async () => {
    const fits = { code: FOREIGN_KEY, constraint: 'claim_fits_allocation' };
    const sliced = await raw.node();
    const slotId = await raw.slot(sliced, { status: 'reserved' });
    const metal = await raw.allocation(sliced, { capacity_shape: 'baremetal', sku_name: 'metal', gpu_count: 8 });
    await raw.refused(fits, claiming(raw.claimRow(metal, sliced, slotId)));
    const exclusive = await raw.node({ occupancy: 'exclusive' });
    const slice = await raw.allocation(exclusive, { gpu_count: 8 });
    await raw.refused(fits, claiming(raw.claimRow(slice, exclusive, null)));
    const held = await raw.claimedSlot();
    await raw.refused(fits, (sql) =>
      sql.query("update allocations set capacity_shape = 'baremetal' where id = $1", [held.allocationId]),
    );
  });

  it('a claim belongs to the organization and project of its allocation', async () => {
    const nodeId = await raw.node();
    const slotId = await raw.slot(nodeId, { status: 'reserved' });
    const row = raw.claimRow(await raw.allocation(nodeId), nodeId, slotId);
    for (const wrong of [{ organization_id: 'org_b' }, { project_id: 'prj_b' }, { allocation_id: 'alc_none' }])
      await raw.refused({ code: FOREIGN_KEY }, claiming({ ...row, ...wrong }));
    await raw.refused({ code: FOREIGN_KEY }, (sql) =>
      insertRow(sql, 'allocations', raw.allocationRow(nodeId, { project_id: 'prj_b' })),
    );
  });

  it('a slot claim records one GPU and a generation; a node claim records neither', async () => {
    const nodeId = await raw.node();
    const slotId = await raw.slot(nodeId, { status: 'reserved' });
    const row = raw.claimRow(await raw.allocation(nodeId), nodeId, slotId);
    for (const wrong of [
      { gpu_count: 2 },
      { gpu_count: 0 },
      { slot_generation: null },
      { slot_id: null },
      { claim_kind: 'node_exclusive' },
      { claim_kind: 'node_shared' },
    ])
      await raw.refused({ code: CHECK }, claiming({ ...row, ...wrong }));
    await raw.allowed(claiming(row));
  });

  it('an allocation becomes active only with every GPU it was launched with', async () => {
    const activate = (id: string) => (sql: Parameters<typeof insertRow>[0]) =>
      sql.query("update allocations set state = 'active', activated_at = now() where id = $1", [id]);
    const nodeId = await raw.node();
    await raw.refused({ code: CHECK }, activate(await raw.allocation(nodeId)));
    const half = await raw.claimedSlot({ gpu_count: 2 });
    await raw.refused({ code: CHECK }, activate(half.allocationId));
    const whole = await raw.claimedSlot();
    await raw.allowed(activate(whole.allocationId));
    await raw.allowed(activate((await raw.claimedNode()).allocationId));
  });

  it('claims are never deleted', async () => {
    const { claimId } = await raw.claimedSlot();
    await raw.refused({ code: NOT_ALLOWED }, (sql) => sql.query(`delete from ${CLAIMS} where id = $1`, [claimId]));
  });
});
