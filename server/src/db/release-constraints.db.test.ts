/** Invalid ends of a claim, by any writer: the schema frees capacity only with a proof that it is wiped. */
import { after, before, describe, it } from 'node:test';
import type { Client } from 'pg';
import {
  CHECK,
  FOREIGN_KEY,
  insertRow,
  NOT_ALLOWED,
  type RawPlacement,
  rawPlacement,
  UNIQUE,
} from '../../test/raw-placement.ts';

const CLAIMS = 'allocation_resource_claims';
const ENDING = { state: 'releasing', release_requested_at: '2026-01-01T00:00:00Z' };

describe('the schema of releases', () => {
  const closers: (() => Promise<void>)[] = [];
  let raw: RawPlacement;
  before(async () => {
    raw = await rawPlacement({ after: (fn) => void closers.unshift(fn) });
  });
  after(async () => {
    for (const close of closers) await close();
  });
  const release = (claimId: string, proofId: string | null) => (sql: Client) =>
    sql.query(`update ${CLAIMS} set released_at = clock_timestamp(), wipe_proof_id = $2 where id = $1`, [
      claimId,
      proofId,
    ]);
  const unproven = { code: FOREIGN_KEY, constraint: 'released_with_proof' };

  it('a slot claim is released only with a verified proof of that slot, for that allocation', async () => {
    const held = await raw.claimedSlot(ENDING);
    const { nodeId, slotId, allocationId, claimId } = held;
    await raw.refused({ code: CHECK }, release(claimId, null));
    await raw.refused({ code: CHECK }, release(claimId, 'wpf_none'));
    await raw.refused(
      unproven,
      release(claimId, await raw.proof(allocationId, nodeId, slotId, { is_verified: false })),
    );
    const beside = await raw.slot(nodeId);
    await raw.refused(unproven, release(claimId, await raw.proof(allocationId, nodeId, beside)));
    await raw.refused(unproven, release(claimId, await raw.proof(allocationId, nodeId, null)));
    const stranger = await raw.allocation(nodeId);
    await raw.refused(unproven, release(claimId, await raw.proof(stranger, nodeId, slotId)));
    await raw.allowed(release(claimId, await raw.proof(allocationId, nodeId, slotId)));
  });

  it('an exclusive claim is released only with a verified proof of the whole node, for that allocation', async () => {
    const { nodeId, allocationId, claimId } = await raw.claimedNode(ENDING);
    const slotId = await raw.slot(nodeId);
    const other = await raw.node();
    await raw.refused({ code: CHECK }, release(claimId, null));
    await raw.refused(unproven, release(claimId, await raw.proof(allocationId, nodeId, null, { is_verified: false })));
    await raw.refused(unproven, release(claimId, await raw.proof(allocationId, nodeId, slotId)));
    await raw.refused(unproven, release(claimId, await raw.proof(allocationId, other, null)));
    await raw.refused(unproven, release(claimId, await raw.proof(await raw.allocation(nodeId), nodeId, null)));
    await raw.allowed(release(claimId, await raw.proof(allocationId, nodeId, null)));
  });

  it('a proof older than the claim does not release it', async () => {
    const nodeId = await raw.node();
    const slotId = await raw.slot(nodeId, { status: 'reserved' });
    const allocationId = await raw.allocation(nodeId, ENDING);
    const before_ = await raw.proof(allocationId, nodeId, slotId);
    const claimId = await raw.claim(allocationId, nodeId, slotId);
    await raw.refused({ code: CHECK }, release(claimId, before_));
    await raw.allowed(release(claimId, await raw.proof(allocationId, nodeId, slotId)));
  });

  it('a claim stays live while its allocation has not ended, with or without proof', async () => {
    const states = {
      requested: {},
      provisioning: {},
      active: { activated_at: '2026-01-01T00:00:00Z' },
    };
    for (const [state, times] of Object.entries(states)) {
      const { nodeId, slotId, allocationId, claimId } = await raw.claimedSlot({ state, ...times });
      await raw.refused({ code: CHECK }, release(claimId, await raw.proof(allocationId, nodeId, slotId)));
    }
    for (const state of ['releasing', 'release_failed', 'failed']) {
      const { nodeId, slotId, allocationId, claimId } = await raw.claimedSlot({ ...ENDING, state });
      await raw.allowed(release(claimId, await raw.proof(allocationId, nodeId, slotId)));
    }
  });

  it('a live claim cannot cite a proof, and an ended claim cannot lack one', async () => {
    const { nodeId, slotId, allocationId, claimId } = await raw.claimedSlot(ENDING);
    const proofId = await raw.proof(allocationId, nodeId, slotId);
    await raw.refused({ code: CHECK }, (sql) =>
      sql.query(`update ${CLAIMS} set wipe_proof_id = $2 where id = $1`, [claimId, proofId]),
    );
  });

  it('an allocation is released only without live claims, and gets none afterwards', async () => {
    const { nodeId, slotId, allocationId, claimId } = await raw.claimedSlot(ENDING);
    const finish = (sql: Client) =>
      sql.query("update allocations set state = 'released', released_at = now() where id = $1", [allocationId]);
    await raw.refused({ code: FOREIGN_KEY, constraint: 'claim_fits_allocation' }, finish);
    const proofId = await raw.proof(allocationId, nodeId, slotId);
    await raw.allowed(async (sql) => {
      await release(claimId, proofId)(sql);
      await finish(sql);
    });
    const over = await raw.allocation(nodeId, { ...ENDING, state: 'released', released_at: '2026-01-02T00:00:00Z' });
    const next = await raw.slot(nodeId, { status: 'reserved' });
    await raw.refused({ code: FOREIGN_KEY, constraint: 'claim_fits_allocation' }, (sql) =>
      insertRow(sql, CLAIMS, raw.claimRow(over, nodeId, next)),
    );
  });

  it('a claim starts live and changes once, by its release', async () => {
    const { nodeId, slotId, allocationId, claimId } = await raw.claimedSlot({ ...ENDING, gpu_count: 2 });
    const other = await raw.slot(nodeId, { status: 'reserved' });
    for (const assignment of [
      `slot_id = '${other}'`,
      'slot_generation = 2',
      "created_at = now() - interval '1 day'",
      `allocation_id = '${await raw.allocation(nodeId)}'`,
    ])
      await raw.refused({ code: NOT_ALLOWED }, (sql) =>
        sql.query(`update ${CLAIMS} set ${assignment} where id = $1`, [claimId]),
      );
    const proofId = await raw.proof(allocationId, nodeId, slotId);
    await raw.refused({ code: NOT_ALLOWED }, async (sql) => {
      await release(claimId, proofId)(sql);
      await sql.query(`update ${CLAIMS} set released_at = null, wipe_proof_id = null where id = $1`, [claimId]);
    });
    await raw.refused({ code: CHECK }, (sql) =>
      insertRow(sql, CLAIMS, {
        ...raw.claimRow(allocationId, nodeId, other),
        released_at: new Date(),
        wipe_proof_id: proofId,
      }),
    );
  });

  it('released slots and nodes can be claimed again', async () => {
    const { nodeId, slotId, allocationId, claimId } = await raw.claimedSlot(ENDING);
    const proofId = await raw.proof(allocationId, nodeId, slotId);
    const next = await raw.allocation(nodeId);
    const again = (sql: Client) => insertRow(sql, CLAIMS, raw.claimRow(next, nodeId, slotId));
    await raw.refused({ code: UNIQUE, constraint: 'claims_one_per_slot' }, again);
    await raw.allowed(async (sql) => {
      await release(claimId, proofId)(sql);
      await again(sql);
    });
    await raw.allowed(async (sql) => {
      await release(claimId, proofId)(sql);
      await sql.query("update nodes set occupancy = 'free' where id = $1", [nodeId]);
      await sql.query(`update node_resource_slots set status = 'available', wipe_proof_id = $2 where id = $1`, [
        slotId,
        proofId,
      ]);
    });
  });
});
