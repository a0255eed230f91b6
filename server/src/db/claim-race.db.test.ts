/** Concurrent claims by raw SQL that checks and then inserts, as careless code would: the schema decides. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Client } from 'pg';
import { insertRow, type RawPlacement, rawPlacement } from '../../test/raw-placement.ts';
import { until } from '../../test/until.ts';

const CLAIMS = 'allocation_resource_claims';
const METAL = { capacity_shape: 'baremetal', sku_name: 'metal', gpu_count: 8 };
const constraintOf = (err: unknown): string => String((err as { constraint?: string }).constraint);

describe('concurrent claims with raw SQL', () => {
  const closers: (() => Promise<void>)[] = [];
  let raw: RawPlacement;
  let first: Client;
  let second: Client;
  before(async () => {
    raw = await rawPlacement({ after: (fn) => void closers.unshift(fn) });
    [first, second] = [await raw.connect(), await raw.connect()];
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const blocked = (sent: Promise<unknown>) => {
    let settled = false;
    const outcome = sent.then(
      () => 'went through',
      (err: unknown) => constraintOf(err),
    );
    void outcome.then(() => (settled = true));
    const isWaiting = async () => {
      const { rowCount } = await raw.owner.query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return rowCount === 1;
    };
    return until('the second to wait for the first', () => settled || isWaiting()).then(() => ({
      outcome,
      waited: !settled,
    }));
  };

  it('of two transactions that both saw a slot free, one gets it, in every round', async () => {
    const ROUNDS = 256;
    let bothSawItFree = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const nodeId = await raw.node();
      const slotId = await raw.slot(nodeId, { status: 'reserved' });
      const claims = [
        raw.claimRow(await raw.allocation(nodeId), nodeId, slotId),
        raw.claimRow(await raw.allocation(nodeId), nodeId, slotId),
      ];
      const clients = [first, second];
      const free = await Promise.all(
        clients.map(async (client) => {
          await client.query('begin');
          const { rowCount } = await client.query(`select from ${CLAIMS} where slot_id = $1 and released_at is null`, [
            slotId,
          ]);
          return rowCount === 0;
        }),
      );
      if (free.every(Boolean)) bothSawItFree++;
      const outcomes = await Promise.all(
        clients.map(async (client, at) => {
          try {
            await insertRow(client, CLAIMS, claims[at] ?? {});
            await client.query('commit');
            return 'claimed';
          } catch (err) {
            await client.query('rollback');
            return constraintOf(err);
          }
        }),
      );
      assert.deepEqual(outcomes.sort(), ['claimed', 'claims_one_per_slot']);
    }
    assert.equal(bothSawItFree, ROUNDS, 'every round was a race');
    const { rows } = await raw.owner.query(
      `select count(*)::int as claims, count(distinct slot_id)::int as slots from ${CLAIMS} where released_at is null`,
    );
    assert.deepEqual(rows, [{ claims: ROUNDS, slots: ROUNDS }]);
  });

  it('a node that turns exclusive while a slot claim commits stays sliced', async () => {
    const nodeId = await raw.node();
    const slotId = await raw.slot(nodeId, { status: 'reserved' });
    await first.query('begin');
    await insertRow(first, CLAIMS, raw.claimRow(await raw.allocation(nodeId), nodeId, slotId));
    const turning = await blocked(second.query("update nodes set occupancy = 'exclusive' where id = $1", [nodeId]));
    assert.ok(turning.waited);
    await first.query('commit');
    assert.equal(await turning.outcome, 'node_is_in_mode');
  });

  it('a slot claim made while its node turns exclusive is refused', async () => {
    const nodeId = await raw.node();
    const slotId = await raw.slot(nodeId, { status: 'reserved' });
    const slice = await raw.allocation(nodeId);
    const metal = await raw.allocation(nodeId, METAL);
    await first.query('begin');
    await first.query("update nodes set occupancy = 'exclusive' where id = $1", [nodeId]);
    await insertRow(first, CLAIMS, raw.claimRow(metal, nodeId, null));
    const claiming = await blocked(insertRow(second, CLAIMS, raw.claimRow(slice, nodeId, slotId)));
    assert.ok(claiming.waited);
    await first.query('commit');
    assert.equal(await claiming.outcome, 'node_is_in_mode');
  });

  it('a slot made available while it is being claimed stays claimed', async () => {
    const nodeId = await raw.node();
    const slotId = await raw.slot(nodeId);
    await raw.owner.query("update node_resource_slots set status = 'quarantined' where id = $1", [slotId]);
    await first.query('begin');
    await insertRow(first, CLAIMS, raw.claimRow(await raw.allocation(nodeId), nodeId, slotId));
    const selling = await blocked(
      second.query("update node_resource_slots set status = 'available' where id = $1", [slotId]),
    );
    assert.ok(selling.waited);
    await first.query('commit');
    assert.equal(await selling.outcome, 'slot_is_taken');
  });

  it('the foreign keys of nodes and slots look up claims by index', async () => {
    await raw.owner.query("set enable_seqscan = off; set plan_cache_mode = 'force_generic_plan'");
    const look = async (columns: readonly string[]): Promise<string> => {
      const condition = columns.map((column, at) => `$${at + 1} = ${column}`).join(' and ');
      const types = columns.map(() => 'text').join(', ');
      await raw.owner.query(
        `prepare look_up (${types}) as select 1 from only ${CLAIMS} x where ${condition} for key share of x`,
      );
      const plan = await raw.owner.query(`explain execute look_up (${columns.map(() => "''").join(', ')})`);
      await raw.owner.query('deallocate look_up');
      return plan.rows.map((row) => Object.values(row).join()).join('\n');
    };
    assert.match(await look(['node_id', 'node_mode']), /claims_pinned/);
    assert.match(await look(['slot_id', 'node_id', 'node_mode']), /claims_pinned|claims_one_per_slot/);
    assert.match(await look(['allocation_id', 'node_id', 'live_kind']), /claims_by_allocation/);
  });
});
