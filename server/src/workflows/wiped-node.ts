/**
 * What a node looks like once some of its slots are proven clean, as the release's transaction leaves it. The index row
 * is made from it and leaves with that transaction; the statement checks every slot again as it frees it.
 */
import { isComplete, type SchedulerNode, type SchedulerSlot } from '@gpuaas/scheduler';
import type { Holding } from '../db/statements/release.ts';

/**
 * Whether a wiped slot is available again. What was set apart before stays apart. Approval and health are facts of their
 * own: a slot that drifted or is ill is not sold whatever its status, and needs no second wipe once that is over.
 */
export const isFit = (slot: SchedulerSlot): boolean => slot.status !== 'quarantined' && isComplete(slot);

export const wipedNode = (
  node: SchedulerNode,
  /** Slots that were wiped, and whether each is fit. */
  wiped: ReadonlyMap<string, boolean>,
  { is_shared, claimed_at_s }: Pick<Holding, 'is_shared' | 'claimed_at_s'>,
): SchedulerNode => {
  const slots = node.slots.map((slot): SchedulerSlot => {
    const fit = wiped.get(slot.id);
    return fit === undefined ? slot : { ...slot, status: fit ? 'available' : 'quarantined' };
  });
  const freed = new Set(slots.filter((slot) => slot.status === 'available').map((slot) => slot.id));
  const left = Object.entries(claimed_at_s).filter(([id]) => !freed.has(id));
  return {
    ...node,
    occupancy: is_shared ? node.occupancy : 'free',
    oldest_claim_at_s: left.length === 0 ? null : Math.min(...left.map(([, at]) => at)),
    slots,
  };
};
