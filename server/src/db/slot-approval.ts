/**
 * The owner of `node_resource_slots`: every write of that table alone is here, those with other tables are in
 * `statements/`. The caller has locked the node's index row.
 */
import type { Candidate } from '@gpuaas/contract/node';
import type { SourceOf } from '../domain/moves.ts';
import { REASONS } from '../domain/reasons.ts';
import type { TakenBinding } from '../domain/slot-binding.ts';
import type { SlotStatus, slotMoves } from '../domain/slot-state.ts';
import type { Reader, Tx } from './client.ts';
import type { NewHealth } from './health-report.ts';
import { HELD } from './lifecycle.ts';
import {
  APPROVAL_TO_DISABLE,
  claimIsLive,
  claimReachesDisk,
  DISK_OPEN,
  deviceIsHeldElsewhere,
  SLOT_TO_QUARANTINE,
  slotIsClaimed,
  slotIsProven,
  TASK_OPEN,
} from './predicates.ts';
import { approvedDiskSize, type NewSlot } from './slot.ts';
import { statement } from './statement.ts';
import type { NodeResourceSlots } from './types.gen.ts';

export type ApprovedSlot = Readonly<
  Pick<
    NodeResourceSlots,
    | 'id'
    | 'node_id'
    | 'slot_index'
    | 'approval'
    | 'status'
    | 'generation'
    | 'gpu_pci_address'
    | 'nvme_serial'
    | 'version'
  > & {
    wipe_method: NodeResourceSlots['wipe_method'];
    content: Candidate | null;
    drift: Record<string, unknown> | null;
    is_claimed: boolean;
  }
>;

const APPROVED = `select s.id, s.node_id, s.slot_index, s.approval, s.status, s.generation, s.gpu_pci_address, s.nvme_serial, s.wipe_method, s.content,
    s.drift, ${slotIsClaimed('s')} as is_claimed, s.version
  from node_resource_slots s where s.node_id = $1 order by s.slot_index`;

export const listApprovedSlots = async (reader: Reader, nodeId: string): Promise<ApprovedSlot[]> =>
  (await reader.query<ApprovedSlot>(APPROVED, [nodeId])).rows;

/** Every slot of the node with what was approved, locked for change. */
export const lockSlots = async (tx: Tx, nodeId: string): Promise<ApprovedSlot[]> =>
  (await tx.query<ApprovedSlot>(`${APPROVED} for update of s`, [nodeId])).rows;

export type SlotApproval = Readonly<{
  node: Readonly<{ id: string; region_name: string }>;
  approved_by: string;
  discovery_task_id: string;
}>;

type Written = NewSlot & Readonly<{ content_hash: string; content: Candidate }>;

const RECORD = `(id text, slot_index integer, gpu_pci_address text, gpu_uuid text, module_id integer, numa_node integer,
  nvme_serial text, nvme_device text, mac_address macaddr, private_ip inet, fabric_vf_pci_address text, wipe_method text,
  content_hash text, content jsonb)`;

/** A GPU is known by its UUID, which only a driver reads; without it by its address. */
const DEVICE_CHANGED = `((t.nvme_serial, ${approvedDiskSize('t')}) is distinct from (s.nvme_serial, ${approvedDiskSize('s')})
  or coalesce(t.gpu_uuid <> s.gpu_uuid, t.gpu_pci_address is distinct from s.gpu_pci_address))`;

/**
 * The proof of an unclaimed slot that is used again, where an allocation had its disk or GPU in another place since. It
 * ends, and with it the generation: an override that was requested before does not count either.
 */
const OUTDATED = (t: string): string =>
  `(${t}.status in ('available', 'quarantined') and ${t}.wipe_proof_id is not null and not ${slotIsProven(t)})`;

/** New slots, quarantined until their first wipe is proven: the database refuses whatever is incomplete or bound twice. */
export const insertCandidateSlots = async (tx: Tx, by: SlotApproval, slots: readonly Written[]): Promise<void> => {
  await tx.query(
    `insert into node_resource_slots (id, node_id, region_name, slot_index, approval, status, health, gpu_pci_address, gpu_uuid, module_id,
       numa_node, nvme_serial, nvme_device, mac_address, private_ip, network_id, fabric_claim_mode, fabric_vf_pci_address,
       wipe_method, approved_by, approved_at, discovery_task_id, content_hash, content, status_reason)
     select s.id, $1, $2, s.slot_index, 'approved', 'quarantined', 'ok', s.gpu_pci_address, s.gpu_uuid, s.module_id, s.numa_node,
       s.nvme_serial, s.nvme_device, s.mac_address, s.private_ip, $1, 'per_slot_vf', s.fabric_vf_pci_address,
       s.wipe_method, $3, clock_timestamp(), $4, s.content_hash, s.content, $6
     from jsonb_to_recordset($5) as s ${RECORD}`,
    [by.node.id, by.node.region_name, by.approved_by, by.discovery_task_id, JSON.stringify(slots), REASONS.first_wipe],
  );
};

/** Those of the slots that get another GPU or disk while a task of the host names them. */
export const listChangedInTask = async (tx: Tx, nodeId: string, slots: readonly Written[]): Promise<number[]> =>
  (
    await tx.query<{ slot_index: number }>(
      `select s.slot_index from jsonb_to_recordset($2) as s ${RECORD} join node_resource_slots t on t.id = s.id
       where t.node_id = $1 and ${DEVICE_CHANGED} and exists (select from node_tasks k where k.node_id = $1 and k.state ${TASK_OPEN}
         and k.params -> 'slots' @> jsonb_build_array(jsonb_build_object('slot_id', t.id))) order by 1`,
      [nodeId, JSON.stringify(slots)],
    )
  ).rows.map(({ slot_index }) => slot_index);

const ENDED = `(${DEVICE_CHANGED} or ${OUTDATED('t')})`;

/**
 * What a slot has become is approved. With another GPU or disk, or another size of it, or one that an allocation had
 * elsewhere since, it is quarantined until it is wiped, and of another generation: no wipe and no override of what it had
 * before counts for it.
 */
export const reapproveSlots = async (tx: Tx, by: SlotApproval, slots: readonly Written[]): Promise<void> => {
  await tx.query(
    `update node_resource_slots t set approval = 'approved', drift = null, gpu_pci_address = s.gpu_pci_address,
       gpu_uuid = coalesce(s.gpu_uuid, t.gpu_uuid), module_id = s.module_id, numa_node = s.numa_node, nvme_serial = s.nvme_serial,
       nvme_device = s.nvme_device, mac_address = s.mac_address, private_ip = s.private_ip, fabric_claim_mode = 'per_slot_vf',
       fabric_vf_pci_address = s.fabric_vf_pci_address, wipe_method = s.wipe_method,
       approved_by = $2, approved_at = clock_timestamp(), discovery_task_id = $3, content_hash = s.content_hash, content = s.content,
       status = case when t.status = 'available' and ${ENDED} then 'quarantined' else t.status end,
       status_reason = case when ${DEVICE_CHANGED} then $5 when ${OUTDATED('t')} then $6 else t.status_reason end,
       wipe_proof_id = case when not ${ENDED} then t.wipe_proof_id end,
       wiped_at = case when not ${ENDED} then t.wiped_at end,
       wipe_outcome = case when not ${ENDED} then t.wipe_outcome end,
       generation = case when ${ENDED} then greatest(t.generation, t.host_generation) + 1 else t.generation end,
       version = t.version + 1
     from jsonb_to_recordset($4) as s ${RECORD} where t.id = s.id and t.node_id = $1`,
    [
      by.node.id,
      by.approved_by,
      by.discovery_task_id,
      JSON.stringify(slots),
      REASONS.device_changed,
      REASONS.device_used,
    ],
  );
};

/** A device that is known to be in one place now: in the slot `id`, or as a data disk. */
export type PlacedDevice = Readonly<{ id: string | null; nvme_serial: string | null; gpu_uuid: string | null }>;

export const findDevices = async (reader: Reader, slotId: string): Promise<PlacedDevice[]> =>
  (
    await reader.query<PlacedDevice>('select id, nvme_serial, gpu_uuid from node_resource_slots where id = $1', [
      slotId,
    ])
  ).rows;

/** Unclaimed slots that have or had one of these disks or GPUs, on any node. */
const ELSEWHERE = `from jsonb_to_recordset($1) as s (id text, nvme_serial text, gpu_uuid text)
  join node_resource_slots t on (t.nvme_serial = s.nvme_serial or t.gpu_uuid = s.gpu_uuid) and t.status in ('available', 'quarantined')
    and not exists (select from jsonb_to_recordset($1) as o (id text) where o.id = t.id)`;

export const listNodesElsewhere = async (reader: Reader, devices: readonly PlacedDevice[]): Promise<string[]> =>
  (
    await reader.query<{ node_id: string }>(
      `select t.node_id ${ELSEWHERE} union
       select d.node_id from disk_ownerships d join jsonb_to_recordset($1) as s (nvme_serial text) on s.nvme_serial = d.serial
       where d.state in ('owned', 'excluded') order by 1`,
      [JSON.stringify(devices)],
    )
  ).rows.map(({ node_id }) => node_id);

/** A device has one proof, at the slot that has it now: wherever it was before, it must be wiped before it is used again. */
export const endProofsElsewhere = async (tx: Tx, devices: readonly PlacedDevice[]): Promise<void> => {
  await tx.query(
    `update node_resource_slots n set wipe_proof_id = null, wiped_at = null, wipe_outcome = null, version = n.version + 1,
       status = 'quarantined', status_reason = $2,
       status_since = case when n.status = 'quarantined' then n.status_since else clock_timestamp() end
     from (select distinct t.id ${ELSEWHERE}) e where n.id = e.id`,
    [JSON.stringify(devices), REASONS.device_elsewhere],
  );
};

/** What the newest discovery found otherwise. Slots that were disabled stay so; what runs is untouched. */
export const markDrift = async (tx: Tx, drifts: readonly Readonly<{ id: string; drift: object }>[]): Promise<void> => {
  await tx.query(
    `update node_resource_slots t set approval = case t.approval when 'approved' then 'needs_reapproval' else t.approval end,
       drift = d.drift, version = t.version + 1
     from jsonb_to_recordset($1) as d (id text, drift jsonb) where t.id = d.id and t.drift is distinct from d.drift`,
    [JSON.stringify(drifts)],
  );
};

const RETURNED = `($3 = 'approved' and ${OUTDATED('s')})`;

/**
 * True when the slot still had this version. A slot that is enabled is quarantined if an allocation had its disk or GPU
 * elsewhere since its wipe.
 */
export const setApproval = async (
  tx: Tx,
  change: Readonly<{ id: string; version: number; approval: 'approved' | 'disabled'; reason: string }>,
): Promise<boolean> =>
  (
    await tx.query(
      `update node_resource_slots s set approval = $3, drift = case $3 when 'approved' then null else s.drift end, version = s.version + 1,
         status_reason = case when ${RETURNED} then $5 else $4 end,
         status = case when ${RETURNED} then 'quarantined' else s.status end,
         status_since = case when ${RETURNED} and s.status = 'available' then clock_timestamp() else s.status_since end,
         wipe_proof_id = case when not ${RETURNED} then s.wipe_proof_id end,
         wiped_at = case when not ${RETURNED} then s.wiped_at end,
         wipe_outcome = case when not ${RETURNED} then s.wipe_outcome end,
         generation = case when ${RETURNED} then greatest(s.generation, s.host_generation) + 1 else s.generation end
       where s.id = $1 and s.version = $2`,
      [change.id, change.version, change.approval, change.reason, REASONS.device_used],
    )
  ).rowCount === 1;

/**
 * Set apart by an operator, who thereby outdates what the host has of it, also what a restored database does not know.
 * `quarantine_reason` keeps it so when the wipe that runs is proven.
 */
export const quarantineSlot = async (
  tx: Tx,
  change: Readonly<{ id: string; version: number; reason: string; quarantine_reason: string | null }>,
): Promise<boolean> =>
  (
    await tx.query(
      `update node_resource_slots set status = 'quarantined', status_reason = $3, quarantine_reason = $4, status_since = clock_timestamp(), version = version + 1,
         generation = case when host_generation > generation then host_generation + 1 else generation end
       where id = $1 and version = $2 and status in ('available', 'cleanup_blocked', 'quarantined')`,
      [change.id, change.version, change.reason, change.quarantine_reason],
    )
  ).rowCount === 1;

/** Why the slot stays quarantined when its wipe is proven; null if it does not. */
export const lockQuarantineReason = async (tx: Tx, id: string): Promise<string | null> =>
  (
    await tx.query<{ quarantine_reason: string | null }>(
      'select quarantine_reason from node_resource_slots where id = $1 for update',
      [id],
    )
  ).rows[0]?.quarantine_reason ?? null;

/** A slot as it was read: its devices change only with its generation. */
export type SlotAsRead = Readonly<{ id: string; generation: number; nvme_serial: string | null }>;

/** Quarantined or blocked, unclaimed as are its devices elsewhere, and unchanged since it was read. */
export const isRepairable = async (reader: Reader, slot: SlotAsRead): Promise<boolean> =>
  (
    await reader.query<{ is_repairable: boolean }>(
      `select s.status in ('quarantined', 'cleanup_blocked') and not ${slotIsClaimed('s')} and not ${deviceIsHeldElsewhere('s')} as is_repairable
       from node_resource_slots s where s.id = $1 and s.generation = $2 and s.nvme_serial is not distinct from $3`,
      [slot.id, slot.generation, slot.nvme_serial],
    )
  ).rows[0]?.is_repairable ?? false;

/** Nodes with slots that only an override made available, in the order of locks. */
export const listOverriddenNodes = async (reader: Reader, regionName: string): Promise<string[]> =>
  (
    await reader.query<{ node_id: string }>(
      'select distinct node_id from node_resource_slots where region_name = $1 and needs_override order by node_id',
      [regionName],
    )
  ).rows.map(({ node_id }) => node_id);

export const quarantineOverridden = async (tx: Tx, regionName: string, reason: string): Promise<number> =>
  (
    await tx.query(
      `update node_resource_slots set status = 'quarantined', status_reason = $2, status_since = clock_timestamp(), version = version + 1
       where region_name = $1 and needs_override`,
      [regionName, reason],
    )
  ).rowCount;

/** Back by proof, or kept in quarantine by an override that its region does not allow; nothing else leads here. What differed and differs no more is approved again; health stays as reported. False unless the slot is as it was read: a proof is about one disk. */
export const restoreSlot = async (
  tx: Tx,
  slot: SlotAsRead,
  change: Readonly<{ wipe_proof_id: string; status: 'available' | 'quarantined'; reason: string | null }>,
): Promise<boolean> =>
  (
    await tx.query(
      `update node_resource_slots s set status = $4, status_reason = $3, quarantine_reason = null, status_since = clock_timestamp(),
         wipe_proof_id = $2,
         approval = case when drift = '{}' and approval = 'needs_reapproval' then 'approved' else approval end,
         drift = nullif(drift, '{}'), version = version + 1
       where id = $1 and generation = $5 and nvme_serial is not distinct from $6
         and status in ('quarantined', 'cleanup_blocked', 'available') and not ${deviceIsHeldElsewhere('s')}
         and not exists (select from allocation_resource_claims c where c.node_id = s.node_id and ${claimIsLive('c')}
           and (c.slot_id = $1 or c.claim_kind = 'node_exclusive'))`,
      [slot.id, change.wipe_proof_id, change.reason, change.status, slot.generation, slot.nvme_serial],
    )
  ).rowCount === 1;

/**
 * Devices and addresses that an approved or claimed slot of the site, or another slot of the node, has already, and disks
 * that another node wipes or an allocation of the whole of it reaches.
 */
export const listTakenBindings = async (
  reader: Reader,
  node: Readonly<{ id: string; region_name: string }>,
  slots: readonly Pick<
    NewSlot,
    'id' | 'slot_index' | 'nvme_serial' | 'mac_address' | 'private_ip' | 'gpu_pci_address' | 'fabric_vf_pci_address'
  >[],
): Promise<TakenBinding[]> =>
  (
    await reader.query<TakenBinding>(
      `with w as (select * from jsonb_to_recordset($3) as w (id text, slot_index integer, nvme_serial text, mac_address macaddr, private_ip inet,
         gpu_pci_address text, fabric_vf_pci_address text))
       select w.slot_index, b.field, b.value, n.name as node_name, 'slot' as owner
       from w join node_resource_slots s on s.region_name = $2 and s.id <> w.id and (s.approval <> 'disabled' or ${slotIsClaimed('s')})
         and not s.id = any (select o.id from w o)
         and (s.nvme_serial = w.nvme_serial or s.mac_address = w.mac_address or s.node_id = $1)
       join nodes n on n.id = s.node_id
       cross join lateral (values ('nvme_serial', w.nvme_serial, s.nvme_serial = w.nvme_serial),
         ('mac_address', w.mac_address::text, s.mac_address = w.mac_address),
         ('private_ip', host(w.private_ip), s.node_id = $1 and s.private_ip = w.private_ip),
         ('gpu_pci_address', w.gpu_pci_address, s.node_id = $1 and s.gpu_pci_address = w.gpu_pci_address),
         ('fabric_vf_pci_address', w.fabric_vf_pci_address, s.node_id = $1 and s.fabric_vf_pci_address = w.fabric_vf_pci_address)
       ) b (field, value, is_same)
       where b.is_same
       union all select w.slot_index, 'nvme_serial', w.nvme_serial, n.name, 'node'
       from w join disk_ownerships d on d.serial = w.nvme_serial and d.region_name = $2 and d.node_id <> $1 join nodes n on n.id = d.node_id
       where d.state ${DISK_OPEN} or exists (select from allocation_resource_claims c
         where ${claimReachesDisk('c', 'd')} and ${claimIsLive('c')})
       order by 1, 2`,
      [node.id, node.region_name, JSON.stringify(slots)],
    )
  ).rows;

/** How many slots are disabled from now on; their devices and addresses are free for others. */
export const disableSlots = async (tx: Tx, nodeId: string, reason: string): Promise<number> =>
  (
    await tx.query(
      `update node_resource_slots set approval = 'disabled', status_reason = $2, version = version + 1
       where node_id = $1 and approval ${APPROVAL_TO_DISABLE}`,
      [nodeId, reason],
    )
  ).rowCount;

/**
 * Ends what was approved and proven about the slots of a host that the node no longer has; returns how many. Of another
 * generation: no wipe and no override of before counts.
 */
export const endSlots = async (tx: Tx, nodeId: string, reason: string): Promise<number> =>
  (
    await tx.query(
      `update node_resource_slots set approval = 'disabled', status = 'quarantined', status_reason = $2, status_since = clock_timestamp(),
         wipe_proof_id = null, wiped_at = null, wipe_outcome = null, drift = null,
         generation = greatest(generation, host_generation) + 1, version = version + 1
       where node_id = $1 and status ${SLOT_TO_QUARANTINE} and not ${slotIsClaimed('node_resource_slots')}`,
      [nodeId, reason],
    )
  ).rowCount;

/** Those of the named ones that were available. Only the proof of a repair makes them available again. */
export const quarantineAvailable = async (
  tx: Tx,
  slots: ReadonlyArray<Readonly<{ slot_id: string; reason: string }>>,
): Promise<Readonly<{ id: string; reason: string }>[]> =>
  (
    await tx.query<{ id: string; reason: string }>(
      `update node_resource_slots s set status = 'quarantined', status_reason = q.reason, status_since = clock_timestamp(),
         version = s.version + 1
       from jsonb_to_recordset($1) as q (slot_id text, reason text) where s.id = q.slot_id and s.status = 'available'
       returning s.id, s.status_reason as reason`,
      [JSON.stringify(slots)],
    )
  ).rows;

/** Claimed slots that are quarantined when their wipe is proven. The first reason stays. */
export const suspectSlots = async (
  tx: Tx,
  suspect: Readonly<{
    node_id: string;
    slots: ReadonlyArray<Readonly<{ slot_id: string; generation: number }>>;
    reason: string;
  }>,
): Promise<void> => {
  await tx.query(
    `update node_resource_slots s set quarantine_reason = $3, version = s.version + 1
     from jsonb_to_recordset($2) as w (slot_id text, generation integer)
     where s.id = w.slot_id and s.node_id = $1 and s.generation = w.generation and s.status <> 'available'
       and s.quarantine_reason is null and ${slotIsClaimed('s')}`,
    [suspect.node_id, JSON.stringify(suspect.slots), suspect.reason],
  );
};

export const setSlotHealths = async (
  tx: Tx,
  healths: readonly (NewHealth & Readonly<{ id: string }>)[],
): Promise<void> => {
  await tx.query(
    `update node_resource_slots t set health = h.health, version = t.version + 1,
       health_detail = t.health_detail || jsonb_build_object('alerts', h.alerts, 'since', clock_timestamp())
     from jsonb_to_recordset($1) as h (id text, health text, alerts jsonb) where t.id = h.id`,
    [JSON.stringify(healths)],
  );
};

/** The host knows a newer generation of its slot than we do; ours stays until an operator acts on it. */
export const noteHostGeneration = async (
  tx: Tx,
  known: Readonly<{ node_id: string; slot_id: string; newest_generation: number }>,
): Promise<boolean> =>
  (
    await tx.query(
      `update node_resource_slots set host_generation = greatest(host_generation, $3), version = version + 1
       where id = $2 and node_id = $1 and generation < $3 and coalesce(host_generation, -1) < $3`,
      [known.node_id, known.slot_id, known.newest_generation],
    )
  ).rowCount === 1;

type HeldStatus = Exclude<SlotStatus, 'available' | 'reserved' | 'quarantined'>;
type Along = {
  [To in HeldStatus]: Readonly<{ from: readonly SourceOf<typeof slotMoves, To>[]; to: To }>;
}[HeldStatus];

/** Slots change with the claims of the allocation that holds them, along the graph of a slot; what a claim or a proof does is a statement of its own. */
export type SlotMove = Readonly<{
  allocation_id: string;
  node_id: string;
  reason: string | null;
  /** What the slot records of its last allocation besides its health alerts. */
  event?: 'provisioned' | 'cleanup_blocked' | null;
}> &
  Along;

const MOVE_HELD = statement(
  { allocation_id: 'text', node_id: 'text', from: 'text[]', to: 'text', reason: 'text | null', event: 'text | null' },
  `with held as (select s.id ${HELD} where s.status = any (:from))
   update node_resource_slots t set status = :to, status_reason = :reason, status_since = clock_timestamp(), version = t.version + 1,
     health_detail = case when :event is null then t.health_detail else (t.health_detail - 'wipe_proof_id') || jsonb_build_object(
       'allocation_id', :allocation_id, 'event', :event, 'reason', :reason, 'at', clock_timestamp()) end
   from held where t.id = held.id`,
);

export const moveHeldSlots = async (tx: Tx, move: SlotMove): Promise<number> =>
  (await MOVE_HELD.query(tx, { event: null, ...move })).rowCount;
