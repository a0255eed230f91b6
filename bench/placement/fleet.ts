/**
 * A fleet of any size in a new database: identical nodes with eight complete slots each, summaries by the real rules.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { createDatabase, type Database, PLATFORM } from '../../server/src/db/client.ts';
import { APP_ROLE, migrate } from '../../server/src/db/migrate.ts';
import { loadSchedulerNode } from '../../server/src/db/placement.ts';
import { summaryRow } from '../../server/src/placement/summary.ts';
import { removeEmbeddedPostgres, startEmbeddedPostgres } from '../../server/src/ports/postgres/embedded.ts';
import { neverRestored } from '../../server/test/database.ts';
import { applyDemoSite } from '../../server/test/demo-site.ts';

export const REGION = 'us-buffalo-1';
export const SLICE_SKU = 'h200-sxm-slice';
export const TENANTS = 64;
export const FLEET_NODES = 25_000;
export const SMALL_FLEET_NODES = 250;

const INVENTORY = `
  insert into users (id, issuer, subject, name) values ('usr_bench', 'bench', 'bench', 'bench');
  insert into pools (id, name) values ('pol_bench', 'bench');
  insert into nodes (id, name, region_name, pool_id, gpu_model, gpu_count, host_role, state, capacity_mode, health, booted_at, runtime_checked_at, is_runtime_passed)
    select 'nod_' || lpad(n::text, 26, '0'), 'bench-' || n, '${REGION}', 'pol_bench', 'H200 SXM', 8, 'worker_compute', 'active', 'slice', 'ok',
      now() - interval '1 day', now(), true from generate_series(1, NODES) n;
  insert into node_fabric_partitions (node_id, partition_id, module_ids)
    select 'nod_' || lpad(n::text, 26, '0'), p.id, p.modules from generate_series(1, NODES) n cross join (values
      (1, array[1,2,3,4,5,6,7,8]), (2, array[1,2,3,4]), (3, array[5,6,7,8]), (4, array[1,3]), (5, array[2,4]), (6, array[5,7]), (7, array[6,8]),
      (8, array[1]), (9, array[2]), (10, array[3]), (11, array[4]), (12, array[5]), (13, array[6]), (14, array[7]), (15, array[8])) p (id, modules);
  set session_replication_role = replica;
  insert into wipe_proofs (id, node_id, slot_id, disk_serial, task_id, method, is_verified, evidence, correlation_id, sequence, previous_hash, proof_hash, created_at)
    select 'wpf_' || lpad((n * 8 + s)::text, 26, '0'), 'nod_' || lpad(n::text, 26, '0'), 'slt_' || lpad((n * 8 + s)::text, 26, '0'), 'serial-' || (n * 8 + s),
      'tsk_bench', 'nvme_sanitize', true, '{}', 'bench', 1, wipe_chain_genesis('slt_' || lpad((n * 8 + s)::text, 26, '0')), sha256('bench'),
      now() - interval '2 days'
    from generate_series(1, NODES) n cross join generate_series(0, 7) s;
  insert into node_resource_slots (id, node_id, region_name, slot_index, approval, status, health, gpu_pci_address, module_id, numa_node, nvme_serial,
      nvme_device, mac_address, private_ip, network_id, fabric_claim_mode, fabric_vf_pci_address, approved_by, approved_at, discovery_task_id, content, wipe_proof_id, wiped_at, wipe_outcome)
    select 'slt_' || lpad((n * 8 + s)::text, 26, '0'), 'nod_' || lpad(n::text, 26, '0'), '${REGION}', s, 'approved', 'available', 'ok',
      '0000:' || lpad(to_hex(16 + s), 2, '0') || ':00.0', (array[2,4,3,1,5,7,6,8])[s + 1], s / 4, 'serial-' || (n * 8 + s),
      '/dev/disk/by-id/nvme-' || (n * 8 + s), ('02:00:' || regexp_replace(lpad(to_hex(n * 8 + s), 8, '0'), '(..)(..)(..)(..)', '\\1:\\2:\\3:\\4'))::macaddr,
      ('10.100.0.' || (10 + s))::inet, 'nod_' || n, 'per_slot_vf', '0000:' || lpad(to_hex(64 + s), 2, '0') || ':00.2', 'usr_bench', now(), 'tsk_bench', '{"nvme_size_bytes": 3840755982336}',
      'wpf_' || lpad((n * 8 + s)::text, 26, '0'), now() - interval '2 days', 'verified'
    from generate_series(1, NODES) n cross join generate_series(0, 7) s;
  set session_replication_role = origin;
  insert into organizations (id, name, display_name, kind) select 'org_' || lpad(t::text, 26, '0'), 'bench-' || t, 'Bench', 'enterprise' from generate_series(1, ${TENANTS}) t;
  insert into quotas (organization_id) select id from organizations on conflict do nothing;
  insert into projects (id, organization_id, name, display_name)
    select 'prj_' || lpad(t::text, 26, '0'), 'org_' || lpad(t::text, 26, '0'), 'default', 'Default' from generate_series(1, ${TENANTS}) t;`;

export type Tenant = Readonly<{ organization_id: string; project_id: string }>;
export const tenant = (n: number): Tenant => {
  const digits = String(1 + (n % TENANTS)).padStart(26, '0');
  return { organization_id: `org_${digits}`, project_id: `prj_${digits}` };
};

export const nodeId = (n: number): string => `nod_${String(n).padStart(26, '0')}`;

const summaries = async (database: Database, owner: Client): Promise<void> => {
  const found = await database.read(PLATFORM, (reader) => loadSchedulerNode(reader, nodeId(1)));
  if (found === undefined) throw new Error('the fleet has a first node');
  const row = summaryRow(found.node, found.gpu_model);
  await owner.query(
    `insert into node_placement_summary (node_id, region_name, gpu_model, pool_organization_id, capacity_mode, occupancy, is_schedulable,
       free_mask, free_count, largest_set, key_1, key_2, key_4, key_8, key_node)
     select id, $1, $2, '', 'slice', 'free', $3, $4, $5, $6, $7, $8, $9, $10, $11 from nodes`,
    [
      row.region_name,
      row.gpu_model,
      row.is_schedulable,
      row.free_mask,
      row.free_count,
      row.largest_set,
      row.key_1,
      row.key_2,
      row.key_4,
      row.key_8,
      row.key_node,
    ],
  );
};

/** The database of a fleet, ready for placement. */
const makeFleet = async (url: string, nodes: number): Promise<Database> => {
  const log = silentLog();
  await migrate({ url, log });
  const database = createDatabase({ url, log, role: APP_ROLE, poolMax: 20 });
  await applyDemoSite(database);
  const owner = new Client({ connectionString: url });
  await owner.connect();
  await owner.query(INVENTORY.replaceAll('NODES', String(nodes)));
  await summaries(database, owner);
  await neverRestored(owner);
  // Excludes tables that are still empty: key checks planned for an empty table would always read all of it.
  await owner.query(
    'vacuum analyze nodes, node_resource_slots, node_fabric_partitions, node_placement_summary, organizations, projects, sku_catalog',
  );
  await owner.end();
  return database;
};

export type Fleet = Readonly<{
  database: Database;
  /** As the owner role. */
  url: string;
  /** For files that belong to the fleet. */
  dir: string;
}>;

/** A fleet on its own database server that writes to disk as in production; it is removed afterwards. */
export const withFleet = async <T>(nodes: number, fn: (fleet: Fleet) => Promise<T>): Promise<T> => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-bench-'));
  const dataDir = join(dir, 'pg');
  const postgres = await startEmbeddedPostgres({ dataDir, durability: 'safe' });
  try {
    const database = await makeFleet(postgres.url, nodes);
    try {
      return await fn({ database, url: postgres.url, dir });
    } finally {
      await database.end();
    }
  } finally {
    await postgres.stop();
    await removeEmbeddedPostgres(dataDir);
    await rm(dir, { recursive: true, force: true });
  }
};
