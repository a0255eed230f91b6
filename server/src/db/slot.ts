/** Slots of a node and the GPU sets its fabric allows. */
import type { TaskSlot } from '@gpuaas/contract/node';
import type { Reader, Tx } from './client.ts';
import { claimHoldsSlot, slotIsComplete } from './predicates.ts';
import type { NodeResourceSlots } from './types.gen.ts';

export type SlotRow = Readonly<
  Pick<
    NodeResourceSlots,
    | 'id'
    | 'node_id'
    | 'slot_index'
    | 'approval'
    | 'status'
    | 'status_reason'
    | 'status_since'
    | 'health'
    | 'generation'
    | 'host_generation'
    | 'module_id'
    | 'numa_node'
    | 'gpu_pci_address'
    | 'nvme_serial'
    | 'mac_address'
    | 'private_ip'
    | 'fabric_vf_pci_address'
    | 'last_claimed_at'
    | 'wiped_at'
    | 'wipe_outcome'
    | 'wipe_proof_id'
    | 'approved_by'
    | 'approved_at'
    | 'version'
  > & {
    health_detail: Readonly<Record<string, unknown>>;
    /** Its holder, by the live claim on the slot or on its whole node. */
    allocation_id: string | null;
    drift: Record<string, { approved: unknown; found: unknown }> | null;
  }
>;

const SLOT = `s.id, s.node_id, s.slot_index, s.approval, s.status, s.status_reason, s.status_since, s.health, s.health_detail, s.generation,
  case when s.host_generation > s.generation then s.host_generation end as host_generation,
  s.module_id, s.numa_node, s.gpu_pci_address, s.nvme_serial, s.mac_address::text, host(s.private_ip) as private_ip,
  s.fabric_vf_pci_address,
  (select c.allocation_id from allocation_resource_claims c where ${claimHoldsSlot('c', 's')} limit 1) as allocation_id,
  s.last_claimed_at, s.wiped_at, s.wipe_outcome, s.wipe_proof_id, s.drift, s.approved_by, s.approved_at, s.version`;

export const listSlots = async (
  reader: Reader,
  nodeId: string,
  page: Readonly<{ after: number | null; limit: number }>,
): Promise<SlotRow[]> =>
  (
    await reader.query<SlotRow>(
      `select ${SLOT} from node_resource_slots s
       where s.node_id = $1 and ($2::integer is null or s.slot_index > $2) order by s.slot_index limit $3`,
      [nodeId, page.after, page.limit],
    )
  ).rows;

export const findSlot = async (reader: Reader, nodeId: string, id: string): Promise<SlotRow | undefined> =>
  (
    await reader.query<SlotRow>(`select ${SLOT} from node_resource_slots s where s.node_id = $1 and s.id = $2`, [
      nodeId,
      id,
    ])
  ).rows[0];

export type SlotsInCleanup = Readonly<{ status: string; count: number; oldest_age_s: number }>;

/** Slots that wait for a proof: how many, and the age of the oldest. */
export const countSlotsInCleanup = async (reader: Reader): Promise<SlotsInCleanup[]> =>
  (
    await reader.query<SlotsInCleanup>(
      `select w.status, count(s.id) as count, coalesce(extract(epoch from clock_timestamp() - min(s.status_since)), 0)::float8 as oldest_age_s
       from unnest('{cleaning,cleanup_blocked}'::text[]) as w (status) left join node_resource_slots s on s.status = w.status group by w.status`,
    )
  ).rows;

/** Slots in service by status that they should have left; `deadlines` names for each status how long it may last. */
export const countOverdueSlots = async (
  reader: Reader,
  deadlines: Readonly<Record<string, number>>,
): Promise<Readonly<{ status: string; count: number }>[]> =>
  (
    await reader.query<{ status: string; count: number }>(
      `select w.key as status, count(s.id) as count from jsonb_each_text($1) w
         left join node_resource_slots s on s.status = w.key and s.approval <> 'disabled'
           and s.status_since < now() - make_interval(secs => w.value::float8) group by w.key order by 1`,
      [JSON.stringify(deadlines)],
    )
  ).rows;

/** Slots whose last wipe was accepted without proof. */
export const countOverriddenSlots = async (
  reader: Reader,
): Promise<Readonly<{ region_name: string; status: string; count: number }>[]> =>
  (
    await reader.query<{ region_name: string; status: string; count: number }>(
      `select region_name, status, count(*) as count from node_resource_slots
       where wipe_outcome = 'overridden' and approval <> 'disabled' group by region_name, status order by 1, 2`,
    )
  ).rows;

/** Of a slot under this alias, from the candidate that an operator approved. */
export const approvedDiskSize = (s: string): string => `(${s}.content ->> 'nvme_size_bytes')::bigint`;

/** The size is as approved. */
export type RepairSlot = Readonly<{
  node_id: string;
  task_slot: TaskSlot;
  nvme_size_bytes: number | null;
  /** As approved and never wiped. */
  is_first: boolean;
}>;

/** A slot as sent to hosts. Undefined unless it is complete. */
export const findRepairSlot = async (reader: Reader, id: string): Promise<RepairSlot | undefined> => {
  const { rows } = await reader.query<TaskSlot & Omit<RepairSlot, 'task_slot'>>(
    `select s.node_id, s.id as slot_id, s.slot_index, s.generation, s.module_id, s.gpu_pci_address, s.nvme_serial, s.nvme_device,
       s.mac_address::text, host(s.private_ip) as private_ip, s.fabric_vf_pci_address, s.wipe_method,
       ${approvedDiskSize('s')} as nvme_size_bytes, s.wipe_proof_id is null and s.approval = 'approved' as is_first
     from node_resource_slots s where s.id = $1 and ${slotIsComplete('s')}`,
    [id],
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const { node_id, nvme_size_bytes, is_first, ...task_slot } = row;
  return { node_id, nvme_size_bytes, is_first, task_slot };
};

export type NewSlot = Readonly<
  Pick<NodeResourceSlots, 'id' | 'slot_index' | 'gpu_uuid' | 'module_id' | 'numa_node'> & {
    [K in
      | 'gpu_pci_address'
      | 'nvme_serial'
      | 'nvme_device'
      | 'mac_address'
      | 'private_ip'
      | 'fabric_vf_pci_address'
      | 'wipe_method']: NonNullable<NodeResourceSlots[K]>;
  }
>;

export type Partition = Readonly<{ partition_id: number; module_ids: readonly number[] }>;

/** Replaces the node's whole table: a partition that the fabric no longer has must not stay. */
export const replacePartitions = async (tx: Tx, nodeId: string, partitions: readonly Partition[]): Promise<void> => {
  await tx.query('delete from node_fabric_partitions where node_id = $1', [nodeId]);
  await tx.query(
    `insert into node_fabric_partitions (node_id, partition_id, module_ids)
     select $1, p.partition_id, array(select jsonb_array_elements_text(p.module_ids)::integer)
     from jsonb_to_recordset($2) as p (partition_id integer, module_ids jsonb)`,
    [nodeId, JSON.stringify(partitions)],
  );
};

export const countSlots = async (reader: Reader, nodeId: string): Promise<number> =>
  (
    await reader.query<{ count: number }>('select count(*) as count from node_resource_slots where node_id = $1', [
      nodeId,
    ])
  ).rows[0]?.count ?? 0;

export type SlotFact = Readonly<Pick<NodeResourceSlots, 'slot_index' | 'approval' | 'status'>>;

export const listSlotFacts = async (reader: Reader, nodeId: string): Promise<SlotFact[]> =>
  (
    await reader.query<SlotFact>(
      'select slot_index, approval, status from node_resource_slots where node_id = $1 order by slot_index',
      [nodeId],
    )
  ).rows;
