/**
 * A small fleet written with raw SQL, for tests that attack the schema itself: every attack runs twice, as the owner of
 * the tables, who bypasses grants and row-level security, and as the application. Only a constraint can refuse it, and
 * the refusal must name that one: an attack that fails for another reason proves nothing.
 */
import assert from 'node:assert/strict';
import { Client } from 'pg';
import { type TestDatabase, testDatabase } from './database.ts';
import { ANY_MOVE } from './declared-moves.ts';

export type Row = Readonly<Record<string, unknown>>;
type TestLike = Readonly<{ after(fn: () => Promise<void>): void }>;

export const insertRow = (sql: Client, table: string, row: Row) => {
  const columns = Object.keys(row);
  return sql.query(
    `insert into ${table} (${columns.join(', ')}) values (${columns.map((_, at) => `$${at + 1}`).join(', ')})`,
    Object.values(row),
  );
};

/** PostgreSQL's codes of the refusals. */
export const CHECK = '23514';
export const FOREIGN_KEY = '23503';
export const UNIQUE = '23505';
export const NOT_NULL = '23502';
export const EXCLUSION = '23P01';
export const NOT_ALLOWED = '42501';

export type Refusal = Readonly<{ code: string; constraint?: string }>;

const connect = async (t: TestLike, url: string): Promise<Client> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  t.after(() => client.end());
  return client;
};

const ORGANIZATION = { organization_id: 'org_a', project_id: 'prj_a' };
const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');

const makeRows = (sql: Client) => {
  let count = 0;
  const next = (prefix: string): string => `${prefix}_${String(++count).padStart(6, '0')}`;
  const add =
    (table: string) =>
    async (row: Row & { id: string }): Promise<string> => {
      await insertRow(sql, table, row);
      return row.id;
    };
  const nodeRow = (row: Row = {}) => {
    const id = next('nod');
    return {
      id,
      name: id.replace('_', '-'),
      region_name: 'site-a',
      pool_id: 'pol_shared',
      gpu_model: 'h200',
      gpu_count: 8,
      host_role: 'worker_compute',
      state: 'active',
      capacity_mode: 'flexible',
      occupancy: 'sliced',
      health: 'ok',
      ...row,
    };
  };
  /** Complete, approved and schedulable by default. */
  const slotRow = (nodeId: string, row: Row = {}) => {
    const id = next('slt');
    const index = count % 64;
    const address = hex(count, 4);
    return {
      id,
      node_id: nodeId,
      region_name: 'site-a',
      slot_index: index,
      approval: 'approved',
      status: 'quarantined',
      health: 'ok',
      gpu_pci_address: `${address}:01:00.0`,
      nvme_serial: `SERIAL${count}`,
      nvme_device: `/dev/disk/by-id/nvme-${count}`,
      mac_address: `02:00:00:00:${address.slice(0, 2)}:${address.slice(2)}`,
      private_ip: `10.0.${count >> 8}.${count & 255}`,
      network_id: nodeId,
      fabric_claim_mode: 'per_slot_vf',
      fabric_vf_pci_address: `${address}:02:00.1`,
      wipe_method: 'nvme_sanitize',
      approved_by: 'usr_a',
      approved_at: '2026-01-01T00:00:00Z',
      discovery_task_id: 'tsk_discovery',
      ...row,
    };
  };
  const allocationRow = (nodeId: string | null, row: Row = {}) => {
    const id = next('alc');
    return {
      id,
      ...ORGANIZATION,
      name: id.replace('_', '-'),
      capacity_shape: 'gpu_slice',
      sku_name: 'slice',
      region_name: 'site-a',
      gpu_count: 1,
      node_id: nodeId,
      state: 'requested',
      requested_by: 'usr_a',
      correlation_id: 'cor_test',
      ...row,
    };
  };
  const claimRow = (allocationId: string, nodeId: string, slotId: string | null, row: Row = {}) => ({
    id: next('clm'),
    allocation_id: allocationId,
    ...ORGANIZATION,
    claim_kind: slotId === null ? 'node_exclusive' : 'slot',
    node_id: nodeId,
    slot_id: slotId,
    gpu_count: slotId === null ? 8 : 1,
    slot_generation: slotId === null ? null : 1,
    ...row,
  });
  const proofRow = (allocationId: string, nodeId: string, slotId: string | null, row: Row = {}) => ({
    id: next('wpf'),
    node_id: nodeId,
    slot_id: slotId,
    allocation_id: allocationId,
    task_id: 'tsk_wipe',
    method: 'nvme_sanitize',
    is_verified: true,
    evidence: '{}',
    correlation_id: 'cor_test',
    ...row,
  });
  const usageRow = (allocationId: string, row: Row = {}) => ({
    id: next('usg'),
    allocation_id: allocationId,
    ...ORGANIZATION,
    sku_name: 'slice',
    gpu_count: 1,
    gpu_hourly_price_minor: 450,
    currency: 'EUR',
    started_at: '2026-01-01T00:00:00Z',
    correlation_id: 'cor_test',
    ...row,
  });
  const node = (row?: Row) => add('nodes')(nodeRow(row));
  const allocation = (nodeId: string | null, row?: Row) => add('allocations')(allocationRow(nodeId, row));
  const claim = (allocationId: string, nodeId: string, slotId: string | null, row?: Row) =>
    add('allocation_resource_claims')(claimRow(allocationId, nodeId, slotId, row));
  const proof = (allocationId: string, nodeId: string, slotId: string | null, row?: Row) =>
    add('wipe_proofs')(proofRow(allocationId, nodeId, slotId, row));
  /** Available, with a wipe proof, unless its status is given. */
  const slot = async (nodeId: string, row?: Row) => {
    const id = await add('node_resource_slots')(slotRow(nodeId, row));
    if (row?.['status'] !== undefined) return id;
    const proofId = await add('wipe_proofs')({ ...proofRow('', nodeId, id), allocation_id: null, disk_serial: id });
    await sql.query("update node_resource_slots set status = 'available', wipe_proof_id = $2 where id = $1", [
      id,
      proofId,
    ]);
    return id;
  };
  return {
    nodeRow,
    slotRow,
    allocationRow,
    claimRow,
    proofRow,
    usageRow,
    node,
    slot,
    allocation,
    claim,
    proof,
    /** A node with a slot of an active allocation. */
    claimedSlot: async (allocation_?: Row) => {
      const nodeId = await node();
      const slotId = await slot(nodeId, { status: 'in_use', generation: 1, last_claimed_at: '2026-01-01T00:00:00Z' });
      const allocationId = await allocation(nodeId, allocation_);
      return { nodeId, slotId, allocationId, claimId: await claim(allocationId, nodeId, slotId) };
    },
    /** A whole node of an active allocation. */
    claimedNode: async (allocation_?: Row) => {
      const nodeId = await node({ occupancy: 'exclusive' });
      const bareMetal = { capacity_shape: 'baremetal', sku_name: 'metal', gpu_count: 8 };
      const allocationId = await allocation(nodeId, { ...bareMetal, ...allocation_ });
      return { nodeId, allocationId, claimId: await claim(allocationId, nodeId, null) };
    },
  };
};

const WORLD = `
  insert into organizations (id, name, display_name, kind) values ('org_a', 'a', 'A', 'enterprise'), ('org_b', 'b', 'B', 'enterprise');
  insert into quotas (organization_id) values ('org_a'), ('org_b');
  insert into projects (id, organization_id, name, display_name) values ('prj_a', 'org_a', 'a', 'A'), ('prj_b', 'org_b', 'b', 'B');
  insert into users (id, issuer, subject, name) values ('usr_a', 'test', 'a', 'A');
  insert into regions (name, display_name, enabled) values ('site-a', 'A', true), ('site-b', 'B', true);
  insert into sku_catalog (name, display_name, vendor, gpu_model, capacity_shape, gpus_per_node, allowed_gpu_counts)
    values ('slice', 'S', 'nvidia', 'h200', 'gpu_slice', 8, '{1,2,4,8}'), ('metal', 'M', 'nvidia', 'h200', 'baremetal', 8, '{8}');
  insert into pools (id, name) values ('pol_shared', 'shared')`;

export type Attack = (sql: Client) => Promise<unknown>;

const matches = (refusal: Refusal) => (err: unknown) => {
  const { code, constraint, message } = err as { code?: string; constraint?: string; message: string };
  assert.deepEqual(
    { code, constraint: refusal.constraint && constraint },
    { constraint: undefined, ...refusal },
    message,
  );
  return true;
};

export type RawPlacement = ReturnType<typeof makeRows> &
  Readonly<{
    db: TestDatabase;
    owner: Client;
    connect(): Promise<Client>;
    /** An attack is rolled back, whether it is refused or not. */
    refused(refusal: Refusal, attack: Attack, asApp?: Refusal): Promise<void>;
    /** The same without the fault succeeds: it was not refused for another reason. */
    allowed(act: Attack): Promise<void>;
  }>;

export const rawPlacement = async (t: TestLike): Promise<RawPlacement> => {
  const db = await testDatabase(t);
  const owner = await connect(t, db.ownerUrl);
  const app = await connect(t, db.url);
  await owner.query(WORLD);
  await owner.query(ANY_MOVE);
  const inside = async (sql: Client, fn: () => Promise<unknown>) => {
    await sql.query('begin');
    try {
      await sql.query("select set_config('gpuaas.tenant_id', '*', true)");
      await fn();
    } finally {
      await sql.query('rollback');
    }
  };
  return {
    ...makeRows(owner),
    db,
    owner,
    connect: () => connect(t, db.ownerUrl),
    refused: async (refusal, attack, asApp = refusal) => {
      await inside(owner, () => assert.rejects(attack(owner), matches(refusal)));
      await inside(app, () => assert.rejects(attack(app), matches(asApp)));
    },
    allowed: async (act) => {
      for (const sql of [owner, app]) await inside(sql, () => act(sql));
    },
  };
};
