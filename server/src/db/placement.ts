/** Nodes for the scheduler, and the placement index row that each change of a node rewrites. */
import type { SchedulerNode, SchedulerSlot } from '@gpuaas/scheduler';
import type { Reader, Tx } from './client.ts';
import { runtimeIsValidated, SLOT_PARTS, unapprovedDiskCount } from './predicates.ts';
import { statement } from './statement.ts';
import type { NodePlacementSummary, Nodes } from './types.gen.ts';

export type KeyColumn = 'key_1' | 'key_2' | 'key_4' | 'key_8' | 'key_node';

/** A node as the scheduler sees it. Slots state whether they have a device, never which. */
export const NODE = `n.id, n.region_name, n.gpu_model, n.gpu_model_conflict is not null as has_other_gpus, n.state, n.host_role, n.capacity_mode, n.occupancy, n.is_held, n.health, n.launch_failures,
  n.gpu_count, n.host_vcpu_count, n.host_memory_mib, n.host_hugepages_mib, n.host_numa_nodes, n.host_pages, n.host_boot_kinds,
  jsonb_array_length(n.data_disks) as data_disks, ${unapprovedDiskCount('n')} as unapproved_disks,
  ${runtimeIsValidated('n')} as runtime_validated,
  p.id as pool_id, p.organization_id as pool_tenant_id,
  (select json_agg(json_build_array(s.id, s.slot_index, s.module_id, s.numa_node, s.approval, s.status, s.health,
     ${SLOT_PARTS.has_gpu('s')}, ${SLOT_PARTS.has_nvme('s')}, ${SLOT_PARTS.has_mac('s')},
     ${SLOT_PARTS.has_private_ip('s')}, ${SLOT_PARTS.has_fabric_vf('s')}, s.fabric_claim_mode, s.parent_slot_id is not null,
     case when s.status <> 'available' then floor(date_part('epoch', s.last_claimed_at)) end) order by s.slot_index)
   from node_resource_slots s where s.node_id = n.id) as slots,
  (select json_agg(json_build_array(f.partition_id, f.module_ids) order by f.partition_id)
   from node_fabric_partitions f where f.node_id = n.id) as partitions`;
export const NODE_FROM = 'nodes n join pools p on p.id = n.pool_id';

type SlotTuple = [
  id: string,
  slot_index: number,
  module_id: number | null,
  numa_node: number | null,
  approval: SchedulerSlot['approval'],
  status: SchedulerSlot['status'],
  health: SchedulerSlot['health'],
  has_gpu: boolean,
  has_nvme: boolean,
  has_mac: boolean,
  has_private_ip: boolean,
  has_fabric_vf: boolean,
  fabric_claim_mode: string | null,
  /** A fraction of another slot. */
  is_part: boolean,
  /** Only of claimed slots. */
  claimed_at_s: number | null,
];

export type NodeRow = Readonly<
  Pick<
    Nodes,
    | 'id'
    | 'region_name'
    | 'gpu_model'
    | 'host_role'
    | 'is_held'
    | 'pool_id'
    | 'launch_failures'
    | 'gpu_count'
    | 'host_vcpu_count'
    | 'host_memory_mib'
    | 'host_hugepages_mib'
    | 'host_numa_nodes'
  > & {
    state: SchedulerNode['state'];
    capacity_mode: SchedulerNode['capacity_mode'];
    occupancy: SchedulerNode['occupancy'];
    health: SchedulerNode['health'];
    host_pages: NonNullable<SchedulerNode['host']>['pages_mib'] | null;
    data_disks: number;
    host_boot_kinds: SchedulerNode['boot_kinds'];
    unapproved_disks: number;
    has_other_gpus: boolean;
    runtime_validated: boolean;
    pool_tenant_id: string | null;
    slots: SlotTuple[] | null;
    partitions: [number, number[]][] | null;
  }
>;

const toSlot = (tuple: SlotTuple): SchedulerSlot => {
  const [
    id,
    slot_index,
    module_id,
    numa_node,
    approval,
    status,
    health,
    has_gpu,
    has_nvme,
    has_mac,
    has_private_ip,
    has_fabric_vf,
    fabric_claim_mode,
  ] = tuple;
  return {
    id,
    slot_index,
    module_id,
    numa_node,
    parent_slot_id: null,
    approval,
    status,
    health,
    has_gpu,
    has_nvme,
    has_mac,
    has_private_ip,
    has_fabric_vf,
    fabric_claim_mode,
  };
};

const oldestClaim = (slots: readonly SlotTuple[]): number | null => {
  let oldest: number | null = null;
  for (const [, , , , , , , , , , , , , , claimed_at_s] of slots)
    if (claimed_at_s !== null && (oldest === null || claimed_at_s < oldest)) oldest = claimed_at_s;
  return oldest;
};

const hostOf = (row: NodeRow): NonNullable<SchedulerNode['host']> | null =>
  row.host_vcpu_count === null
    ? null
    : {
        gpu_count: row.gpu_count,
        vcpu_count: row.host_vcpu_count,
        memory_mib: row.host_memory_mib ?? 0,
        hugepages_mib: row.host_hugepages_mib ?? 0,
        numa_nodes: row.host_numa_nodes ?? 1,
        pages_mib: row.host_pages ?? null,
      };

export const toNode = (row: NodeRow, skuNames: readonly string[]): SchedulerNode => ({
  id: row.id,
  region: row.region_name,
  sku_names: skuNames,
  state: row.state,
  host_role: row.host_role,
  pool: { id: row.pool_id, tenant_id: row.pool_tenant_id },
  capacity_mode: row.capacity_mode,
  occupancy: row.occupancy,
  held_for: row.is_held ? 'baremetal' : null,
  health: row.health,
  launch_failures: row.launch_failures,
  data_disks: row.data_disks,
  unapproved_disks: row.unapproved_disks,
  host: hostOf(row),
  boot_kinds: row.host_boot_kinds ?? null,
  has_other_gpus: row.has_other_gpus,
  runtime_validated: row.runtime_validated,
  oldest_claim_at_s: oldestClaim(row.slots ?? []),
  slots: (row.slots ?? []).filter(([, , , , , , , , , , , , , is_part]) => !is_part).map(toSlot),
  partitions: row.partitions?.map(([id, module_ids]) => ({ id: String(id), module_ids })) ?? null,
});

export type PlacementNode = Readonly<{ node: SchedulerNode; gpu_model: string }>;

export const SKUS =
  'array(select k.name from sku_catalog k where k.gpu_model = n.gpu_model order by k.name) as sku_names';

export const loadSchedulerNode = async (reader: Reader, nodeId: string): Promise<PlacementNode | undefined> => {
  const { rows } = await reader.query<NodeRow & { sku_names: string[] }>(
    `select ${NODE}, ${SKUS} from ${NODE_FROM} where n.id = $1`,
    [nodeId],
  );
  return rows[0] && { node: toNode(rows[0], rows[0].sku_names), gpu_model: rows[0].gpu_model };
};

/** A condition that was not requested leaves the text, but not its parameter: one plan must not serve both. */
const given = (value: string | null, condition: string): string =>
  value === null ? `${condition.match(/\$\d/)?.[0]}::text is null` : condition;

/** For operators' snapshots and refusals: never used by a successful placement. */
export const listSchedulerNodes = async (
  reader: Reader,
  filter: Readonly<{
    region_name: string | null;
    gpu_model: string | null;
    /** Only pools that serve this tenant: shared ones and its own. Null for operators. */
    organization_id: string | null;
    limit: number;
  }>,
): Promise<SchedulerNode[]> => {
  const { rows } = await reader.query<NodeRow & { sku_names: string[] }>(
    `select ${NODE}, ${SKUS} from ${NODE_FROM}
     where ${given(filter.region_name, 'n.region_name = $1')} and ${given(filter.gpu_model, 'n.gpu_model = $2')} and n.state <> 'deleted'
       and ${given(filter.organization_id, '(p.organization_id is null or p.organization_id = $3)')}
     order by n.id limit $4`,
    [filter.region_name, filter.gpu_model, filter.organization_id, filter.limit],
  );
  return rows.map((row) => toNode(row, row.sku_names));
};

export type SummaryRow = Readonly<
  Pick<
    NodePlacementSummary,
    | 'node_id'
    | 'region_name'
    | 'gpu_model'
    | 'pool_organization_id'
    | 'capacity_mode'
    | 'occupancy'
    | 'is_schedulable'
    | 'free_mask'
    | 'free_count'
    | 'largest_set'
    | 'key_1'
    | 'key_2'
    | 'key_4'
    | 'key_8'
    | 'key_node'
  >
>;

/** Locks the node's row of the index: any change of placement input holds it until commit. */
export const lockSummary = async (tx: Tx, nodeId: string): Promise<boolean> =>
  (await tx.query('select 1 as one from node_placement_summary where node_id = $1 for update', [nodeId])).rowCount ===
  1;

/** The part of a node's index row that a claim or a release changes. */
export const SUMMARY_STATE = {
  occupancy: 'text',
  is_schedulable: 'boolean',
  free_mask: 'bigint',
  free_count: 'integer',
  largest_set: 'integer',
  key_1: 'bigint | null',
  key_2: 'bigint | null',
  key_4: 'bigint | null',
  key_8: 'bigint | null',
  key_node: 'bigint | null',
} as const;

/** For a statement that changes the node as well: needs SUMMARY_STATE and :node_id. */
export const SET_SUMMARY = `update node_placement_summary set occupancy = :occupancy, is_schedulable = :is_schedulable, free_mask = :free_mask,
      free_count = :free_count, largest_set = :largest_set, key_1 = :key_1, key_2 = :key_2, key_4 = :key_4, key_8 = :key_8, key_node = :key_node,
      updated_at = now() where node_id = :node_id`;

const PUT_SUMMARY = statement(
  {
    node_id: 'text',
    region_name: 'text',
    gpu_model: 'text',
    pool_organization_id: 'text',
    capacity_mode: 'text',
    ...SUMMARY_STATE,
  },
  `insert into node_placement_summary (node_id, region_name, gpu_model, pool_organization_id, capacity_mode, occupancy, is_schedulable,
     free_mask, free_count, largest_set, key_1, key_2, key_4, key_8, key_node)
   values (:node_id, :region_name, :gpu_model, :pool_organization_id, :capacity_mode, :occupancy, :is_schedulable,
     :free_mask, :free_count, :largest_set, :key_1, :key_2, :key_4, :key_8, :key_node)
   on conflict (node_id) do update set region_name = excluded.region_name, gpu_model = excluded.gpu_model,
     pool_organization_id = excluded.pool_organization_id, capacity_mode = excluded.capacity_mode, occupancy = excluded.occupancy,
     is_schedulable = excluded.is_schedulable, free_mask = excluded.free_mask, free_count = excluded.free_count,
     largest_set = excluded.largest_set, key_1 = excluded.key_1, key_2 = excluded.key_2, key_4 = excluded.key_4, key_8 = excluded.key_8,
     key_node = excluded.key_node, updated_at = now()`,
);

export const putSummary = (tx: Tx, row: SummaryRow) => PUT_SUMMARY.query(tx, row);
