/** Whether a disk of a node may be wiped outside a release, or excluded from wipes; otherwise the reason. */
import { REFUSALS } from './sentences.ts';

export type DiskUse = Readonly<{
  node_state: string;
  capacity_mode: string;
  occupancy: string;
  /** The slot it belongs to, if any. */
  slot_index: number | null;
  /** An approved or claimed slot of another node that has it. */
  slot_elsewhere: Readonly<{ slot_index: number; node_name: string }> | null;
  /** Another node that is allocated as a whole with it. */
  node_elsewhere: string | null;
  /** Another node where an allocation used it, with no verified wipe since. */
  unwiped_since: string | null;
}>;

const RECHECK_MIN_MS = 60_000;
const RECHECK_MAX_MS = 3_600_000;

/** The pause before a disk in use is checked again: a quarter of the time since its approval, 1 minute to 1 hour. */
export const recheckDiskMs = (sinceApprovalMs: number): number =>
  Math.min(RECHECK_MAX_MS, Math.max(RECHECK_MIN_MS, sinceApprovalMs / 4));

const whyNotElsewhere = ({ slot_elsewhere, node_elsewhere }: DiskUse): string | undefined => {
  if (slot_elsewhere !== null)
    return `The disk belongs to slot ${slot_elsewhere.slot_index} of ${slot_elsewhere.node_name}. Disable that slot while it is free.`;
  if (node_elsewhere !== null)
    return `The disk is part of ${node_elsewhere}, which is allocated as a whole. Wait until that allocation is released.`;
  return undefined;
};

export const whyNotErase = (use: DiskUse | undefined): string | undefined => {
  if (use === undefined) return 'The node no longer exists.';
  if (use.slot_index !== null) return `The disk belongs to slot ${use.slot_index}; repair that slot instead.`;
  const elsewhere = whyNotElsewhere(use);
  if (elsewhere !== undefined) return elsewhere;
  if (!['free', 'sliced'].includes(use.occupancy))
    return 'The whole node is allocated. The check repeats until it is free.';
  // On a slice node only slots are allocated, and this disk belongs to none. Any other node could be allocated as a
  // whole meanwhile.
  if (use.capacity_mode !== 'slice' && use.node_state === 'active')
    return 'The node can be allocated as bare metal at any time. Drain it first.';
  return undefined;
};

/**
 * An excluded disk passes from tenant to tenant of its node unwiped. It must bring nothing there: no data of another place,
 * and no claim that an allocation still has on it.
 */
export const whyNotExclude = (use: DiskUse | undefined): string | undefined => {
  if (use === undefined) return 'The node no longer exists.';
  if (use.slot_index !== null) return REFUSALS.disk_of_slot(use.slot_index);
  const elsewhere = whyNotElsewhere(use);
  if (elsewhere !== undefined) return elsewhere;
  if (!['free', 'sliced'].includes(use.occupancy))
    return 'The whole node is allocated. Exclude the disk when the node is free.';
  if (use.unwiped_since !== null)
    return `An allocation used the disk in ${use.unwiped_since}, and no wipe since is verified. Approve the disk instead, so that it is wiped.`;
  return undefined;
};
