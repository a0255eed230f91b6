/** Whether a disk of a node may be wiped outside a release; otherwise the reason. */
export type DiskUse = Readonly<{
  node_state: string;
  capacity_mode: string;
  occupancy: string;
  /** The slot it belongs to, if any. */
  slot_index: number | null;
  /** An approved or claimed slot of another node that has it. */
  slot_elsewhere: Readonly<{ slot_index: number; node_name: string }> | null;
}>;

const RECHECK_MIN_MS = 60_000;
const RECHECK_MAX_MS = 3_600_000;

/** The pause before a disk in use is checked again: a quarter of the time since its approval, 1 minute to 1 hour. */
export const recheckDiskMs = (sinceApprovalMs: number): number =>
  Math.min(RECHECK_MAX_MS, Math.max(RECHECK_MIN_MS, sinceApprovalMs / 4));

export const whyNotErase = (use: DiskUse | undefined): string | undefined => {
  if (use === undefined) return 'The node no longer exists.';
  if (use.slot_index !== null) return `The disk belongs to slot ${use.slot_index}; repair that slot instead.`;
  if (use.slot_elsewhere !== null)
    return `The disk belongs to slot ${use.slot_elsewhere.slot_index} of ${use.slot_elsewhere.node_name}. Disable that slot while it is free.`;
  if (!['free', 'sliced'].includes(use.occupancy))
    return 'The whole node is allocated. The check repeats until it is free.';
  // On a slice node only slots are allocated, and this disk belongs to none. Any other node could be allocated as a
  // whole meanwhile.
  if (use.capacity_mode !== 'slice' && use.node_state === 'active')
    return 'The node can be allocated as bare metal at any time. Drain it first.';
  return undefined;
};
