/** Whether a disk of a node may be erased outside any release. A sentence says why not. */
export type DiskUse = Readonly<{
  node_state: string;
  capacity_mode: string;
  occupancy: string;
  /** The slot that has it, if any. */
  slot_index: number | null;
}>;

export const whyNotErase = (use: DiskUse | undefined): string | undefined => {
  if (use === undefined) return 'The node no longer exists.';
  if (use.slot_index !== null) return `The disk belongs to slot ${use.slot_index}; repair that slot instead.`;
  if (!['free', 'sliced'].includes(use.occupancy))
    return 'The whole node is allocated. The check repeats until it is free.';
  // A slice node gives out slots only, and this disk is of none; any other could be given out whole meanwhile.
  if (use.capacity_mode !== 'slice' && use.node_state === 'active')
    return 'The node can be allocated as bare metal at any time. Drain it first.';
  return undefined;
};
