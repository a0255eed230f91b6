/**
 * The scheduler's view of a node after some of its slots are proven clean. The index row is computed from it and
 * written in the release's transaction, which checks every slot again as it frees it.
 */
import { isComplete, type SchedulerNode, type SchedulerSlot } from '@gpuaas/scheduler';
import type { Holding } from '../db/statements/release.ts';

/**
 * Whether a wiped slot becomes available. A quarantined slot stays quarantined. Approval and health are separate: a
 * changed or unhealthy slot is not schedulable in any status, and needs no second wipe afterwards.
 */
export const isFit = (slot: SchedulerSlot): boolean => slot.status !== 'quarantined' && isComplete(slot);

export const nodeAfterWipe = (
  node: SchedulerNode,
  /** Wiped slots, and whether each becomes available. */
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
