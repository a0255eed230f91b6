/**
 * The holdings of an allocation, from its live claims: slots, node, quota. A slice holds the slots of its slot claims;
 * a node-exclusive claim holds the node and every slot on it, because its tenant could write to all of them. Slots and
 * nodes are changed for an allocation only where one of its live claims covers them.
 *
 * A launch that moved away from a failed host still holds its claims there, until a wipe is proven. Holdings are
 * therefore always read for one node: a `Stay`.
 *
 * Locks are taken in one order everywhere: workflow run, allocation, index row of the node, slots and node, quota.
 */
import type { Reader, Tx } from './client.ts';
import type { DataDisk } from './node.ts';
import { CLOCK_TRUSTED, claimHoldsSlot, claimIsLive } from './predicates.ts';
import { approvedDiskSize } from './slot.ts';
import { statement } from './statement.ts';
import type { AllocationResourceClaims, NodeResourceSlots, Nodes } from './types.gen.ts';

/** An allocation on one node: its current node or, with the move that left it, the node where its launch failed. */
export type Stay = Readonly<{ allocation_id: string; node_id: string; move_id: string | null }>;

type OnNode = Pick<Stay, 'allocation_id' | 'node_id'>;

export type ClaimRow = Readonly<
  Pick<
    AllocationResourceClaims,
    | 'id'
    | 'allocation_id'
    | 'claim_kind'
    | 'node_id'
    | 'slot_id'
    | 'gpu_count'
    | 'slot_generation'
    | 'created_at'
    | 'released_at'
    | 'wipe_proof_id'
    | 'move_id'
  >
>;

const CLAIM = `c.id, c.allocation_id, c.claim_kind, c.node_id, c.slot_id, c.gpu_count, c.slot_generation, c.created_at,
  c.released_at, c.wipe_proof_id, c.move_id`;

export const listClaims = async (reader: Reader, allocationIds: readonly string[]): Promise<ClaimRow[]> => {
  const { rows } = await reader.query<ClaimRow>(
    `select ${CLAIM} from allocation_resource_claims c where c.allocation_id = any ($1) order by c.id`,
    [allocationIds],
  );
  return rows;
};

/** Locks the live claims on the node. */
export const lockLiveClaims = async (tx: Tx, { allocation_id, node_id }: OnNode): Promise<ClaimRow[]> => {
  const { rows } = await tx.query<ClaimRow>(
    `select ${CLAIM} from allocation_resource_claims c where c.allocation_id = $1 and c.node_id = $2 and ${claimIsLive('c')}
     order by c.id for update`,
    [allocation_id, node_id],
  );
  return rows;
};

export type HeldSlot = Readonly<
  Pick<
    NodeResourceSlots,
    | 'id'
    | 'node_id'
    | 'slot_index'
    | 'status'
    | 'status_reason'
    | 'module_id'
    | 'gpu_pci_address'
    | 'nvme_serial'
    | 'nvme_device'
    | 'mac_address'
    | 'private_ip'
    | 'fabric_vf_pci_address'
    | 'wipe_method'
  > & {
    /**
     * The generation of the claim, or the one adopted from the host by an operator; for a whole node, the slot's own.
     */
    generation: NodeResourceSlots['generation'];
    /** As approved. */
    nvme_size_bytes: number | null;
  }
>;

/** Slots that the allocation `:allocation_id` holds on the node `:node_id`. */
export const HELD = `from node_resource_slots s join allocation_resource_claims c on c.allocation_id = :allocation_id
  and c.node_id = :node_id and ${claimHoldsSlot('c', 's')} and s.parent_slot_id is null`;

const LIST_HELD = statement(
  { allocation_id: 'text', node_id: 'text' },
  `select s.id, s.node_id, s.slot_index, s.status, s.status_reason,
     case when c.slot_id is null then s.generation else coalesce(c.adopted_generation, c.slot_generation) end as generation, s.module_id,
     s.gpu_pci_address, s.nvme_serial, s.nvme_device, ${approvedDiskSize('s')} as nvme_size_bytes, s.mac_address::text as mac_address,
     host(s.private_ip) as private_ip, s.fabric_vf_pci_address, s.wipe_method
   ${HELD} order by s.slot_index`,
);

export const listHeldSlots = async (reader: Reader, { allocation_id, node_id }: OnNode): Promise<HeldSlot[]> =>
  (await LIST_HELD.query<HeldSlot>(reader, { allocation_id, node_id })).rows;

export type HeldNode = Readonly<
  Pick<Nodes, 'id' | 'occupancy'> & {
    data_disks: readonly DataDisk[];
    /** When it was claimed, in seconds; when an operator adopted the host's generation, if at all. */
    generation: number;
  }
>;

/** The node, if the allocation has an exclusive claim on it; undefined when it holds slots only. */
export const findHeldNode = async (
  reader: Reader,
  { allocation_id, node_id }: OnNode,
): Promise<HeldNode | undefined> => {
  const { rows } = await reader.query<HeldNode>(
    `select n.id, n.occupancy, n.data_disks,
       coalesce(c.adopted_generation, floor(extract(epoch from c.created_at))::integer) as generation
     from nodes n join allocation_resource_claims c on c.node_id = n.id
     where c.allocation_id = $1 and c.node_id = $2 and ${claimIsLive('c')} and c.claim_kind = 'node_exclusive'`,
    [allocation_id, node_id],
  );
  return rows[0];
};

/** Active, not protected, and past their time. */
const DUE = `release_at <= clock_timestamp() and release_requested_at is null and state = 'active' and not is_protected
  and ${CLOCK_TRUSTED}`;

export type DueAllocation = Readonly<{ id: string; release_at: string }>;

/** The longest overdue first. */
export const listDueAllocations = async (
  reader: Reader,
  after: DueAllocation | undefined,
  limit: number,
): Promise<DueAllocation[]> =>
  (
    await reader.query<DueAllocation>(
      `select id, release_at::text as release_at from allocations where ${DUE}
         and ($1::timestamptz is null or (release_at, id) > ($1, $2)) order by release_at, id limit $3`,
      [after?.release_at ?? null, after?.id ?? null, limit],
    )
  ).rows;

/** Locks the allocation; false when it is no longer due: released, extended or protected since it was listed. */
export const lockDueAllocation = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx.query(`select 1 as one from allocations where id = $1 and ${DUE} for update`, [id])).rowCount === 1;
