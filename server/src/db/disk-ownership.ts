/** Disks that an operator approved for wiping, by serial. */
import type { DiskUse } from '../domain/disk-use.ts';
import type { Reader, Tx } from './client.ts';
import { claimIsLive, claimReachesDisk, DISK_OPEN, slotIsClaimed } from './predicates.ts';
import { statement } from './statement.ts';
import type { DiskOwnerships } from './types.gen.ts';

export type DiskOwnershipRow = Readonly<
  Pick<
    DiskOwnerships,
    | 'id'
    | 'node_id'
    | 'serial'
    | 'device'
    | 'size_bytes'
    | 'state'
    | 'state_reason'
    | 'state_since'
    | 'approved_by'
    | 'reason'
    | 'wipe_proof_id'
    | 'version'
    | 'correlation_id'
    | 'created_at'
  >
>;

const OWNERSHIP =
  'id, node_id, serial, device, size_bytes, state, state_reason, state_since, approved_by, reason, wipe_proof_id, version, correlation_id, created_at';

export const findOwnership = async (reader: Reader, id: string): Promise<DiskOwnershipRow | undefined> =>
  (await reader.query<DiskOwnershipRow>(`select ${OWNERSHIP} from disk_ownerships where id = $1`, [id])).rows[0];

const INSERT_OWNERSHIP = statement(
  {
    id: 'text',
    node_id: 'text',
    region_name: 'text',
    serial: 'text',
    device: 'text',
    size_bytes: 'bigint | null',
    state: 'text',
    approved_by: 'text',
    reason: 'text',
    correlation_id: 'text',
  },
  `insert into disk_ownerships (id, node_id, region_name, serial, device, size_bytes, state, approved_by, reason, correlation_id)
   values (:id, :node_id, :region_name, :serial, :device, :size_bytes, :state, :approved_by, :reason, :correlation_id)
   on conflict do nothing returning ${OWNERSHIP}`,
);

/** Undefined when the disk is already approved, about to be, or excluded. */
export const insertOwnership = async (
  tx: Tx,
  row: Pick<DiskOwnershipRow, 'id' | 'node_id' | 'serial' | 'device' | 'approved_by' | 'reason' | 'correlation_id'> &
    Readonly<{ region_name: string; size_bytes: number | null; state: 'approved' | 'excluded' }>,
): Promise<DiskOwnershipRow | undefined> => (await INSERT_OWNERSHIP.query<DiskOwnershipRow>(tx, row)).rows[0];

/** Completes an approval of an earlier build. Undefined when there is none without a size. */
export const recordDiskSize = async (
  tx: Tx,
  disk: Readonly<{ node_id: string; serial: string; size_bytes: number }>,
): Promise<DiskOwnershipRow | undefined> =>
  (
    await tx.query<DiskOwnershipRow>(
      `update disk_ownerships set size_bytes = $3, version = version + 1
       where node_id = $1 and serial = $2 and size_bytes is null and state not in ('excluded', 'revoked') returning ${OWNERSHIP}`,
      [disk.node_id, disk.serial, disk.size_bytes],
    )
  ).rows[0];

export const listOwnerships = async (
  reader: Reader,
  nodeId: string,
  page: Readonly<{ after: string | null; limit: number }>,
): Promise<DiskOwnershipRow[]> =>
  (
    await reader.query<DiskOwnershipRow>(
      `select ${OWNERSHIP} from disk_ownerships where node_id = $1 and ($2::text is null or id > $2) order by id limit $3`,
      [nodeId, page.after, page.limit],
    )
  ).rows;

/** Undefined when it was in none of the from-states. */
export const moveOwnership = async (
  tx: Tx,
  move: Readonly<{
    id: string;
    from: readonly DiskOwnerships['state'][];
    to: DiskOwnerships['state'];
    reason: string | null;
    wipe_proof_id?: string;
  }>,
): Promise<DiskOwnershipRow | undefined> =>
  (
    await tx.query<DiskOwnershipRow>(
      `update disk_ownerships set state = $3, state_reason = $4, state_since = case when state = $3 then state_since else clock_timestamp() end,
         wipe_proof_id = coalesce($5, wipe_proof_id), version = version + 1
       where id = $1 and state = any ($2) returning ${OWNERSHIP}`,
      [move.id, move.from, move.to, move.reason, move.wipe_proof_id ?? null],
    )
  ).rows[0];

/** What had the disk with the serial number $2: slots, and whole nodes with a decision about it. */
const DISK_USES = `select s.node_id, s.last_claimed_at as used_at from node_resource_slots s
    where s.nvme_serial = $2 and s.last_claimed_at is not null
  union all select d.node_id, c.created_at from disk_ownerships d
    join allocation_resource_claims c on ${claimReachesDisk('c', 'd')} where d.serial = $2`;

/** Proofs are found by their chain, of a slot or a node: there is no index by disk. */
const DISK_IS_WIPED_SINCE = (time: string): string =>
  `exists (select from wipe_proofs p where p.outcome = 'verified' and p.created_at > ${time}
    and coalesce(p.disk_serial, p.evidence ->> 'serial') = $2
    and p.target_id in (select s.id from node_resource_slots s where s.nvme_serial = $2
      union select d.node_id from disk_ownerships d where d.serial = $2))`;

/** The current use of a disk, and whether it may be allocated. */
export const findDiskUse = async (reader: Reader, nodeId: string, serial: string): Promise<DiskUse | undefined> =>
  (
    await reader.query<DiskUse>(
      `select n.state as node_state, n.capacity_mode, n.occupancy,
         (select s.slot_index from node_resource_slots s where s.node_id = n.id and s.nvme_serial = $2 limit 1) as slot_index,
         (select jsonb_build_object('slot_index', s.slot_index, 'node_name', o.name) from node_resource_slots s join nodes o on o.id = s.node_id
          where s.node_id <> n.id and s.nvme_serial = $2 and (s.approval <> 'disabled' or ${slotIsClaimed('s')}) limit 1) as slot_elsewhere,
         (select o.name from disk_ownerships d join allocation_resource_claims c on ${claimReachesDisk('c', 'd')} and ${claimIsLive('c')}
          join nodes o on o.id = d.node_id where d.serial = $2 and d.node_id <> n.id limit 1) as node_elsewhere,
         (select o.name from (${DISK_USES}) u join nodes o on o.id = u.node_id
          where u.node_id <> n.id and not ${DISK_IS_WIPED_SINCE('u.used_at')} limit 1) as unwiped_since
       from nodes n where n.id = $1`,
      [nodeId, serial],
    )
  ).rows[0];

/** Disks of a node that are about to be wiped: they must not be allocated. */
export const listOpenOwnerships = async (
  reader: Reader,
  nodeId: string,
): Promise<Pick<DiskOwnershipRow, 'serial' | 'state'>[]> =>
  (
    await reader.query<Pick<DiskOwnershipRow, 'serial' | 'state'>>(
      `select serial, state from disk_ownerships where node_id = $1 and state ${DISK_OPEN} order by id`,
      [nodeId],
    )
  ).rows;

/** Whether an operator excluded the disk on this node. */
export const isExcluded = async (reader: Reader, nodeId: string, serial: string): Promise<boolean> =>
  (
    await reader.query("select from disk_ownerships where node_id = $1 and serial = $2 and state = 'excluded'", [
      nodeId,
      serial,
    ])
  ).rowCount === 1;

/** Disks removed with the node or its host may be approved elsewhere. A disk that is being wiped stays. */
export const revokeOwnedDisks = async (tx: Tx, nodeId: string, reason: string): Promise<number> =>
  (
    await tx.query(
      `update disk_ownerships set state = 'revoked', state_reason = $2, state_since = clock_timestamp(), version = version + 1
       where node_id = $1 and state in ('owned', 'approved', 'blocked', 'excluded')`,
      [nodeId, reason],
    )
  ).rowCount;

/** Disks of these nodes that are in another place now; returns those that were data disks. */
export const revokeDisksElsewhere = async (
  tx: Tx,
  nodeIds: readonly string[],
  serials: readonly string[],
  reason: string,
): Promise<Pick<DiskOwnershipRow, 'node_id' | 'serial'>[]> =>
  (
    await tx.query<Pick<DiskOwnershipRow, 'node_id' | 'serial'>>(
      `update disk_ownerships set state = 'revoked', state_reason = $3, state_since = clock_timestamp(), version = version + 1
       where node_id = any ($1) and serial = any ($2) and state in ('owned', 'excluded') returning node_id, serial`,
      [nodeIds, serials, reason],
    )
  ).rows;
