/**
 * Rows of inventory and placement that satisfy every constraint, for tests about one or two of their columns. Nothing
 * is relaxed for a test: slots are complete, claims pin their node's mode, quota counts the claims.
 */
import { HGX_PARTITIONS } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { Tx } from '../src/db/client.ts';
import type { DataDisk } from '../src/db/node.ts';
import { insertWipeProof } from '../src/db/statements/prove.ts';
import { haveImages } from './available-images.ts';
import { candidate, DISK_BYTES } from './candidate.ts';

/** A transaction, or a client signed in as the owner of the tables. */
export type Sql = Readonly<{
  query(text: string, values?: unknown[]): Promise<Readonly<{ rows: readonly unknown[] }>>;
}>;

export const REGION = 'us-test-1';
export const GPU_MODEL = 'H200 SXM';
export const SLICE_SKU = 'test-slice';
export const BAREMETAL_SKU = 'test-baremetal';
export const PRICE_MINOR = 450;

/** Not in PCI order, and such that the first 1, 2, 4 or 8 slots make a partition. */
const MODULE_IDS = [1, 3, 2, 4, 5, 7, 6, 8];

/** A shared pool and the operator who approves slots. */
const aPool = async (sql: Sql): Promise<Readonly<{ pool_id: string; user_id: string }>> => {
  await sql.query(
    "insert into pools (id, name) values ('pol_00000000000000000000000000', 'test') on conflict do nothing",
  );
  await sql.query(
    "insert into users (id, issuer, subject, name) values ('usr_00000000000000000000000000', 'test', 'operator', 'Operator') on conflict do nothing",
  );
  return { pool_id: 'pol_00000000000000000000000000', user_id: 'usr_00000000000000000000000000' };
};

/** What a launch of the slice SKU gets that names no image. */
const anImage = async (sql: Sql): Promise<void> => {
  await sql.query(
    `with image as (insert into os_images (name, display_name, os_family, os_version, trust)
         values ('test-image', 'Test', 'linux', '1', 'verified') on conflict do nothing returning name),
       used as (insert into os_image_skus (image_name, sku_name) select name, $1 from image)
     insert into os_image_versions (image_name, digest, format, size_bytes, driver_strategy, source, digest_authority)
       select name, 'sha256:' || repeat('7e', 32), 'raw', 1, 'none', 'test', 'test' from image`,
    [SLICE_SKU],
  );
  await haveImages(sql, REGION);
};

/** Region, SKUs and a shared pool; repeated calls change nothing. Regions and SKUs need the owner's rights. */
export const aCatalog = async (sql: Sql): Promise<Readonly<{ pool_id: string; user_id: string }>> => {
  // A test of a migration has the schema of an earlier version.
  const { rows } = await sql.query("select to_regclass('sku_prices') is null as has_no_prices");
  const hasNoPrices = (rows[0] as { has_no_prices?: boolean } | undefined)?.has_no_prices === true;
  await sql.query(
    "insert into regions (name, display_name, enabled) values ($1, 'Test', true) on conflict do nothing",
    [REGION],
  );
  for (const [name, shape, counts] of [
    [SLICE_SKU, 'gpu_slice', [1, 2, 4, 8]],
    [BAREMETAL_SKU, 'baremetal', [8]],
  ] as const)
    await sql.query(
      `insert into sku_catalog (name, display_name, vendor, gpu_model, capacity_shape, gpus_per_node, allowed_gpu_counts
         ${hasNoPrices ? ', gpu_hourly_price_minor, currency' : ''})
       values ($1, $1, 'NVIDIA', $2, $3, 8, $4 ${hasNoPrices ? `, ${PRICE_MINOR}, 'USD'` : ''}) on conflict do nothing`,
      [name, GPU_MODEL, shape, counts],
    );
  if (hasNoPrices) return aPool(sql);
  await sql.query(
    `insert into sku_prices (id, sku_name, gpu_hourly_price_minor, currency, valid_from, correlation_id)
     select 'prc_' || left(md5(name), 26), name, $2, 'USD', now(), 'test' from unnest($1::text[]) as name on conflict do nothing`,
    [[SLICE_SKU, BAREMETAL_SKU], PRICE_MINOR],
  );
  // Not the default, so that a test that needs sizes can set its own.
  await sql.query(
    `insert into sku_vm_profiles (name, sku_name, gpu_count, vcpu_count, memory_mib, is_default)
     values ('test_profile', $1, 1, 4, 4096, false) on conflict do nothing`,
    [SLICE_SKU],
  );
  await anImage(sql);
  return aPool(sql);
};

export type Tenant = Readonly<{ organization_id: string; project_id: string }>;

export const aTenant = async (sql: Sql): Promise<Tenant> => {
  const organization_id = mintId('org');
  const project_id = mintId('prj');
  const name = organization_id.slice(-12).toLowerCase();
  await sql.query(
    `with made as (insert into organizations (id, name, display_name, kind) values ($1, $2, 'Tenant', 'personal') returning id)
     insert into quotas (organization_id) select id from made`,
    [organization_id, `t-${name}`],
  );
  await sql.query(
    "insert into projects (id, organization_id, name, display_name) values ($1, $2, 'default', 'Default')",
    [project_id, organization_id],
  );
  return { organization_id, project_id };
};

export type NodeFacts = Readonly<{
  id?: string;
  name?: string;
  region_name?: string;
  pool_id?: string;
  gpu_model?: string;
  gpu_count?: number;
  host_role?: 'platform_control' | 'app_control' | 'worker_compute';
  state?: string;
  capacity_mode?: 'slice' | 'baremetal' | 'flexible';
  health?: string;
  is_runtime_passed?: boolean;
  data_disks?: readonly DataDisk[];
  /** False creates a node without slots. */
  slots?: boolean;
  /** False creates a board without NVSwitch. */
  partitions?: boolean;
}>;

export type TestNode = Readonly<{ id: string; slot_ids: readonly string[] }>;

export type SlotFacts = Readonly<{
  region_name?: string;
  approval?: string;
  status?: string;
  health?: string;
  module_id?: number;
  numa_node?: number;
  network_id?: string;
}>;

const hex = (value: number, width: number): string => value.toString(16).padStart(width, '0');
let serial = 0;

/** A verified wipe of a slot, with its audit row; its id. */
export const aProof = (
  sql: Sql,
  of: Readonly<{ node_id: string; slot_id: string; serial: string; allocation_id?: string; task_id?: string }>,
): Promise<string> =>
  insertWipeProof(sql as Tx, {
    node_id: of.node_id,
    slot_id: of.slot_id,
    allocation_id: of.allocation_id ?? null,
    disk_serial: of.serial,
    task_id: of.task_id ?? 'tsk_first_wipe',
    method: 'nvme_sanitize',
    is_verified: true,
    evidence: { serial: of.serial, gpu_reset: { is_ok: true } },
    correlation_id: 'test-first-wipe',
  });

/** One approved, complete and available slot, wiped. */
export const aSlot = async (sql: Sql, nodeId: string, index: number, facts: SlotFacts = {}): Promise<string> => {
  const id = mintId('slt');
  const n = ++serial;
  const isApproved = (facts.approval ?? 'approved') !== 'disabled';
  const found = candidate(index, {
    gpu_pci_address: `0000:${hex(16 + index, 2)}:00.0`,
    gpu_uuid: `GPU-${id}`,
    module_id: facts.module_id ?? MODULE_IDS[index] ?? index + 1,
    numa_node: facts.numa_node ?? Math.floor(index / 4),
    nvme_serial: `NVME-${id}`,
    nvme_device: `/dev/disk/by-id/nvme-${id}`,
    mac_address: `02:${hex(Math.floor(Math.random() * 2 ** 24), 6).replace(/(..)(..)(..)/, '$1:$2:$3')}:${hex(Math.floor(n / 256) % 256, 2)}:${hex(n % 256, 2)}`,
    private_ip: `10.77.0.${index + 2}`,
    fabric_vf_pci_address: `0000:${hex(64 + index, 2)}:00.1`,
    wipe_method: 'nvme_sanitize',
  });
  const status = facts.status ?? 'available';
  await sql.query(
    `insert into node_resource_slots (id, node_id, region_name, slot_index, approval, status, health, gpu_pci_address, gpu_uuid,
       module_id, numa_node, nvme_serial, nvme_device, mac_address, private_ip, network_id, fabric_claim_mode,
       fabric_vf_pci_address, wipe_method, approved_by, approved_at, discovery_task_id, content)
     select $1, $2, $3, $4, $5, $6, $7, c.gpu_pci_address, c.gpu_uuid, c.module_id, c.numa_node, c.nvme_serial, c.nvme_device,
       c.mac_address, c.private_ip, $8, 'per_slot_vf', c.fabric_vf_pci_address, c.wipe_method,
       $9, case when $9::text is not null then now() end, case when $9::text is not null then 'tsk_discovery' end, $10
     from jsonb_to_record($10) as c (gpu_pci_address text, gpu_uuid text, module_id integer, numa_node integer, nvme_serial text,
       nvme_device text, mac_address macaddr, private_ip inet, fabric_vf_pci_address text, wipe_method text)`,
    [
      id,
      nodeId,
      facts.region_name ?? REGION,
      index,
      facts.approval ?? 'approved',
      status === 'available' ? 'quarantined' : status,
      facts.health ?? 'ok',
      facts.network_id ?? nodeId,
      isApproved ? 'usr_00000000000000000000000000' : null,
      JSON.stringify(found),
    ],
  );
  if (status === 'available') {
    const proofId = await aProof(sql, { node_id: nodeId, slot_id: id, serial: `NVME-${id}` });
    await sql.query("update node_resource_slots set status = 'available', wipe_proof_id = $2 where id = $1", [
      id,
      proofId,
    ]);
  }
  return id;
};

/** An active, validated compute node whose eight slots are schedulable. It has no row in the placement index. */
export const aNode = async (sql: Sql, facts: NodeFacts = {}): Promise<TestNode> => {
  // A node in an existing region needs no catalog of its own.
  const { pool_id } = facts.region_name === undefined ? await aCatalog(sql) : await aPool(sql);
  if (facts.region_name !== undefined) await haveImages(sql, facts.region_name);
  const id = facts.id ?? mintId('nod');
  const count = facts.gpu_count ?? 8;
  await sql.query(
    `insert into nodes (id, name, region_name, pool_id, gpu_model, gpu_count, host_role, state, capacity_mode, health,
       booted_at, runtime_checked_at, is_runtime_passed, data_disks)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now() - interval '1 hour', now() - interval '30 minutes', $11, $12)`,
    [
      id,
      facts.name ?? `node-${id.slice(4)}`,
      facts.region_name ?? REGION,
      facts.pool_id ?? pool_id,
      facts.gpu_model ?? GPU_MODEL,
      count,
      facts.host_role ?? 'worker_compute',
      facts.state ?? 'active',
      facts.capacity_mode ?? 'flexible',
      facts.health ?? 'ok',
      facts.is_runtime_passed ?? true,
      JSON.stringify(
        facts.data_disks ?? [
          { serial: `DATA-${id}`, device: `/dev/disk/by-id/nvme-data-${id}`, size_bytes: DISK_BYTES },
        ],
      ),
    ],
  );
  if (facts.partitions ?? count === 8)
    for (const [index, modules] of HGX_PARTITIONS.entries())
      await sql.query('insert into node_fabric_partitions (node_id, partition_id, module_ids) values ($1, $2, $3)', [
        id,
        index,
        modules,
      ]);
  const slot_ids: string[] = [];
  if (facts.slots ?? true)
    for (let index = 0; index < count; index++)
      slot_ids.push(await aSlot(sql, id, index, { region_name: facts.region_name ?? REGION }));
  return { id, slot_ids };
};

export type AllocationFacts = Readonly<{
  tenant?: Tenant;
  node: TestNode;
  shape?: 'baremetal' | 'gpu_slice';
  gpu_count?: number;
  state?: 'requested' | 'provisioning' | 'active' | 'releasing' | 'failed' | 'release_failed';
  /** Of the slots (default by the allocation's state). */
  slot_status?: string;
  is_protected?: boolean;
  max_duration_s?: number | null;
  tags?: Readonly<Record<string, string>>;
  price_minor?: number;
  name?: string;
}>;

export type TestAllocation = Tenant & Readonly<{ id: string; node_id: string; slot_ids: readonly string[] }>;

const SLOT_STATUS = {
  requested: 'reserved',
  provisioning: 'reserved',
  active: 'in_use',
  releasing: 'cleaning',
  failed: 'cleaning',
  release_failed: 'cleanup_blocked',
} as const;

/** Its earlier states, a millisecond apart, with an audit row for each user action. */
const PATHS = {
  requested: ['requested'],
  provisioning: ['requested', 'provisioning'],
  active: ['requested', 'provisioning', 'active'],
  releasing: ['requested', 'provisioning', 'active', 'releasing'],
  failed: ['requested', 'provisioning', 'failed'],
  release_failed: ['requested', 'provisioning', 'active', 'releasing', 'release_failed'],
} as const;

const tell = (sql: Sql, id: string, path: readonly string[]): Promise<unknown> =>
  sql.query(
    `with told as (
       insert into outbox_events (id, event_type, organization_id, project_id, subject, data, correlation_id, created_at)
       select 'evt_' || substr(a.id, 5, 25) || p.n, 'allocation.changed', a.organization_id, a.project_id, a.id,
         jsonb_build_object('allocation_id', a.id, 'name', a.name, 'state', p.state, 'state_reason', null), a.correlation_id,
         clock_timestamp() + (p.n - 100) * interval '1 millisecond'
       from allocations a cross join unnest($2::text[]) with ordinality p (state, n) where a.id = $1)
     insert into audit_logs (id, organization_id, project_id, actor_kind, action, target_kind, target_id, result, policy, correlation_id)
     select 'aud_' || substr(a.id, 5), a.organization_id, a.project_id, 'system', 'allocation.create', 'allocation', a.id, 'success', 'test',
       a.correlation_id from allocations a where a.id = $1`,
    [id, path],
  );

/** An allocation as after its launch, or later in its life, with claims and quota. */
export const anAllocation = async (sql: Sql, facts: AllocationFacts): Promise<TestAllocation> => {
  const tenant = facts.tenant ?? (await aTenant(sql));
  const { node } = facts;
  const shape = facts.shape ?? 'gpu_slice';
  const state = facts.state ?? 'requested';
  const id = mintId('alc');
  const gpu_count = shape === 'baremetal' ? 8 : (facts.gpu_count ?? 1);
  const released = state === 'releasing' || state === 'release_failed';
  await sql.query(
    `insert into allocations (id, organization_id, project_id, name, capacity_shape, sku_name, region_name, gpu_count, node_id,
       state, requested_by, tags, is_protected, max_duration_s, activated_at, release_requested_at, correlation_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'usr_00000000000000000000000000', $11, $12, $13,
       case when $14 then clock_timestamp() - interval '1 hour' end, case when $15 then clock_timestamp() end, $16)`,
    [
      id,
      tenant.organization_id,
      tenant.project_id,
      facts.name ?? `a-${id.slice(-12)}`,
      shape,
      shape === 'baremetal' ? BAREMETAL_SKU : SLICE_SKU,
      REGION,
      gpu_count,
      node.id,
      state,
      JSON.stringify(facts.tags ?? {}),
      facts.is_protected ?? false,
      facts.max_duration_s ?? null,
      state === 'active' || released,
      released,
      mintId('cor'),
    ],
  );
  const status = facts.slot_status ?? SLOT_STATUS[state];
  const taken = (await sql.query(
    `update node_resource_slots set status = $3, generation = generation + 1, last_claimed_at = clock_timestamp()
     where id in (select id from node_resource_slots where node_id = $1 and status = 'available' order by slot_index limit $2)
     returning id, generation`,
    [node.id, gpu_count, status],
  )) as { rows: readonly { id: string; generation: number }[] };
  const occupancy =
    shape === 'gpu_slice'
      ? 'sliced'
      : ({ cleaning: 'cleaning', cleanup_blocked: 'cleanup_blocked' }[status] ?? 'exclusive');
  await sql.query('update nodes set occupancy = $2 where id = $1', [node.id, occupancy]);
  const claims =
    shape === 'baremetal'
      ? [{ kind: 'node_exclusive', slot: null, gpus: gpu_count }]
      : taken.rows.map((slot) => ({ kind: 'slot', slot, gpus: 1 }));
  for (const { kind, slot, gpus } of claims)
    await sql.query(
      `insert into allocation_resource_claims (id, allocation_id, organization_id, project_id, claim_kind, node_id, slot_id,
         gpu_count, slot_generation) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        mintId('clm'),
        id,
        tenant.organization_id,
        tenant.project_id,
        kind,
        node.id,
        slot?.id ?? null,
        gpus,
        slot?.generation ?? null,
      ],
    );
  const slot_ids = taken.rows.map((row) => row.id);
  await sql.query(
    `insert into allocation_placements (allocation_id, organization_id, project_id, node_id, slot_ids, gpu_count,
       gpu_hourly_price_minor, currency, scores) values ($1, $2, $3, $4, $5, $6, $7, 'USD', '{}')`,
    [id, tenant.organization_id, tenant.project_id, node.id, slot_ids, gpu_count, facts.price_minor ?? PRICE_MINOR],
  );
  for (const project of ['', tenant.project_id])
    await sql.query(
      `insert into quotas (organization_id, project_id, gpu_used) values ($1, $2, $3)
       on conflict (organization_id, project_id) do update set gpu_used = quotas.gpu_used + excluded.gpu_used`,
      [tenant.organization_id, project, gpu_count],
    );
  // An active allocation was charged, until its release if there was one.
  await sql.query(
    `insert into usage_records (id, allocation_id, organization_id, project_id, sku_name, gpu_count, gpu_hourly_price_minor,
       currency, started_at, ended_at, cost_minor, correlation_id)
     select $1, a.id, a.organization_id, a.project_id, a.sku_name, a.gpu_count, $3, 'USD', a.activated_at, a.release_requested_at,
       round(a.gpu_count * $3::bigint * extract(epoch from a.release_requested_at - a.activated_at)::numeric / 3600), a.correlation_id
     from allocations a where a.id = $2 and a.activated_at is not null`,
    [mintId('usg'), id, facts.price_minor ?? PRICE_MINOR],
  );
  await tell(sql, id, PATHS[state]);
  return { ...tenant, id, node_id: node.id, slot_ids };
};
