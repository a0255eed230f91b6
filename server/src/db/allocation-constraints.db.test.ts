/** Invalid allocations, quotas and usage records: the schema refuses them from any writer. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Client } from 'pg';
import {
  CHECK,
  EXCLUSION,
  FOREIGN_KEY,
  insertRow,
  NOT_ALLOWED,
  type RawPlacement,
  type Row,
  rawPlacement,
  UNIQUE,
} from '../../test/raw-placement.ts';

const T0 = '2026-01-01T00:00:00Z';
const T1 = '2026-01-01T01:00:00Z';
const T2 = '2026-01-01T02:00:00Z';

/** Every column of the inventory and of placement that holds one value of a list. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  nodes: ['state', 'host_role', 'capacity_mode', 'occupancy', 'health'],
  node_resource_slots: ['approval', 'status', 'health', 'fabric_claim_mode', 'wipe_method'],
  allocations: ['state', 'capacity_shape', 'storage', 'network'],
  allocation_resource_claims: ['claim_kind'],
  node_tasks: ['state'],
};

describe('the schema of allocations, quota and usage', () => {
  const closers: (() => Promise<void>)[] = [];
  let raw: RawPlacement;
  before(async () => {
    raw = await rawPlacement({ after: (fn) => void closers.unshift(fn) });
  });
  after(async () => {
    for (const close of closers) await close();
  });
  const adding = (table: string, row: Row) => (sql: Client) => insertRow(sql, table, row);

  it('a state is one of its list', async () => {
    const nodeId = await raw.node({ occupancy: 'free' });
    const rows: Readonly<Record<string, Row>> = {
      nodes: raw.nodeRow({ occupancy: 'free' }),
      node_resource_slots: raw.slotRow(nodeId, { status: 'quarantined' }),
      allocations: raw.allocationRow(nodeId),
      allocation_resource_claims: raw.claimRow('alc_none', nodeId, null),
      node_tasks: {
        id: 'tsk_a',
        node_id: nodeId,
        kind: 'wipe',
        params: '{}',
        correlation_id: 'cor_test',
        expires_at: T1,
      },
    };
    for (const [table, columns] of Object.entries(WORDS))
      for (const column of columns)
        for (const word of ['nonsense', '', 'gpu_partition', 'gpu_shared'])
          await raw.refused(
            { code: CHECK, constraint: `${table}_${column}_check` },
            adding(table, { ...rows[table], [column]: word }),
          );
  });

  it('every state-like column is on that list', async () => {
    const { rows } = await raw.owner.query<{ table: string; column: string }>(
      `select c.relname as table, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid
       where relnamespace = 'public'::regnamespace and c.relkind = 'r' and attnum > 0 and attgenerated = ''
         and c.relname = any ($1) and attname ~ '^(state|status|approval|health|occupancy|claim_kind|.*_(mode|shape|role|policy))$'`,
      [Object.keys(WORDS)],
    );
    assert.ok(rows.length > 10);
    for (const { table, column } of rows) assert.ok(WORDS[table]?.includes(column), `${table}.${column}`);
  });

  it('the times of an allocation fit its state', async () => {
    const nodeId = await raw.node();
    const attempt = (row: Row) => adding('allocations', raw.allocationRow(nodeId, row));
    for (const wrong of [
      { state: 'active' },
      { state: 'releasing' },
      { state: 'release_failed' },
      { state: 'released', released_at: T1 },
      { state: 'released', release_requested_at: T0 },
      { state: 'requested', released_at: T1 },
      { state: 'failed', released_at: T1 },
      { gpu_count: 0 },
      { max_duration_s: 0 },
      { name: 'Not A Name' },
    ])
      await raw.refused({ code: CHECK }, attempt(wrong));
    for (const right of [
      { state: 'active', activated_at: T0 },
      { state: 'releasing', release_requested_at: T0 },
      { state: 'released', release_requested_at: T0, released_at: T1 },
      { state: 'failed' },
    ])
      await raw.allowed(attempt(right));
  });

  it('only slices of 2 or more GPUs have formatted data disks, and only slices a network of their own', async () => {
    const nodeId = await raw.node();
    const attempt = (row: Row) => adding('allocations', raw.allocationRow(nodeId, row));
    const whole = { capacity_shape: 'baremetal', gpu_count: 8 };
    const slice = { capacity_shape: 'gpu_slice', gpu_count: 2 };
    for (const wrong of [{ ...whole }, { ...slice, gpu_count: 1 }])
      await raw.refused(
        { code: CHECK, constraint: 'formatted_has_data_disks' },
        attempt({ ...wrong, storage: 'formatted' }),
      );
    await raw.refused({ code: CHECK, constraint: 'network_of_slice' }, attempt({ ...whole, network: 'private_nat' }));
    await raw.allowed(attempt({ ...slice, name: 'both', storage: 'formatted', network: 'private_nat' }));
    await raw.allowed(attempt({ ...whole, name: 'neither' }));
  });

  it('live allocations of a project have unique names', async () => {
    const nodeId = await raw.node();
    await raw.allocation(nodeId, { name: 'train' });
    await raw.refused({ code: UNIQUE }, adding('allocations', raw.allocationRow(nodeId, { name: 'train' })));
    await raw.allowed(adding('allocations', raw.allocationRow(nodeId, { name: 'train', state: 'failed' })));
  });

  it('SKU, price and shape of an allocation never change', async () => {
    const { nodeId, slotId, allocationId } = await raw.claimedSlot();
    await insertRow(raw.owner, 'allocation_placements', {
      allocation_id: allocationId,
      organization_id: 'org_a',
      project_id: 'prj_a',
      node_id: nodeId,
      slot_ids: [slotId],
      gpu_count: 1,
      gpu_hourly_price_minor: 450,
      currency: 'EUR',
      scores: '{}',
    });
    for (const text of [
      'update allocation_placements set gpu_hourly_price_minor = 1',
      'delete from allocation_placements',
    ])
      await raw.refused({ code: NOT_ALLOWED }, (sql) => sql.query(text));
  });

  it('quota in use is never negative, and a project has quota only in its own organization', async () => {
    const row = { organization_id: 'org_a', project_id: 'prj_a' };
    await insertRow(raw.owner, 'quotas', { ...row, gpu_used: 2 });
    await raw.refused({ code: CHECK, constraint: 'quota_not_exceeded' }, (sql) =>
      sql.query("update quotas set gpu_used = gpu_used - 3 where project_id = 'prj_a'"),
    );
    await raw.refused({ code: CHECK }, (sql) => sql.query('update quotas set gpu_limit = -1'));
    await raw.refused({ code: UNIQUE }, adding('quotas', row));
    await raw.refused({ code: UNIQUE }, adding('quotas', { organization_id: 'org_a' }));
    await raw.refused({ code: FOREIGN_KEY }, adding('quotas', { organization_id: 'org_b', project_id: 'prj_a' }));
    await raw.refused({ code: FOREIGN_KEY }, adding('quotas', { organization_id: 'org_none' }));
    await raw.allowed(adding('quotas', { ...row, organization_id: 'org_b', project_id: 'prj_b' }));
  });

  it('usage of an allocation never overlaps', async () => {
    const { allocationId } = await raw.claimedSlot();
    const usage = (row: Row) => adding('usage_records', raw.usageRow(allocationId, row));
    await insertRow(
      raw.owner,
      'usage_records',
      raw.usageRow(allocationId, { started_at: T0, ended_at: T1, cost_minor: 450 }),
    );
    const overlap = { code: EXCLUSION, constraint: 'usage_never_overlaps' };
    await raw.refused(overlap, usage({ started_at: '2026-01-01T00:30:00Z' }));
    await raw.refused(overlap, usage({ started_at: '2025-12-31T23:00:00Z' }));
    await raw.refused(overlap, usage({ started_at: '2026-01-01T00:59:59Z', ended_at: T2, cost_minor: 1 }));
    await raw.refused({ code: UNIQUE }, usage({ started_at: T0, ended_at: T0, cost_minor: 0 }));
    await raw.allowed(usage({ started_at: T1 }));
    const other = await raw.claimedSlot();
    await raw.allowed(adding('usage_records', raw.usageRow(other.allocationId, { started_at: T0 })));
  });

  it('a closed usage record is final', async () => {
    const { allocationId } = await raw.claimedSlot();
    const closed = raw.usageRow(allocationId, { started_at: T0, ended_at: T1, cost_minor: 450 });
    const open = raw.usageRow(allocationId, { started_at: T1 });
    for (const row of [closed, open]) await insertRow(raw.owner, 'usage_records', row);
    const change = (id: unknown, set: string) => (sql: Client) =>
      sql.query(`update usage_records set ${set} where id = $1`, [id]);
    for (const set of ['cost_minor = 449', 'ended_at = null, cost_minor = null', 'gpu_count = 2'])
      await raw.refused({ code: NOT_ALLOWED }, change(closed['id'], set));
    await raw.allowed(change(open['id'], `ended_at = '${T2}', cost_minor = 1`));
  });

  it('usage has at most one open record, ends after it began, and is closed exactly with a known cost', async () => {
    const { allocationId } = await raw.claimedSlot();
    const usage = (row: Row) => adding('usage_records', raw.usageRow(allocationId, row));
    for (const wrong of [
      { started_at: T1, ended_at: T0, cost_minor: 0 },
      { ended_at: T1 },
      { cost_minor: 450 },
      { ended_at: T1, cost_minor: -1 },
      { gpu_hourly_price_minor: -1 },
      { gpu_count: 0 },
    ])
      await raw.refused({ code: CHECK }, usage(wrong));
    await insertRow(raw.owner, 'usage_records', raw.usageRow(allocationId, { started_at: T1 }));
    await assert.rejects(usage({ started_at: T2 })(raw.owner), /usage_(one_open|never_overlaps)/);
    await raw.refused({ code: FOREIGN_KEY }, (sql) =>
      insertRow(sql, 'usage_records', { ...raw.usageRow('alc_none'), started_at: T0 }),
    );
  });
});
