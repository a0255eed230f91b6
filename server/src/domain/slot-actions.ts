/**
 * Whether each action on a slot is allowed, or why not. The operations refuse by these rules and the slot's page shows
 * them. A claimed slot is never changed: the cleanup of its allocation wipes it, and that cleanup can be retried.
 */

import type { OperationId, SLOT_STATUSES } from '@gpuaas/contract';
import { REASONS } from '../domain/reasons.ts';
import type { AllocationState } from './allocation.ts';
import { HOST_CHANGES_PREVENTED } from './health.ts';
import type { NodeFacts } from './node-actions.ts';
import { isNodeOver } from './node-state.ts';
import { done, firstOf, type Refusal, refused } from './refusal.ts';
import { REFUSALS } from './sentences.ts';

export type SlotFacts = Readonly<{
  approval: 'approved' | 'disabled' | 'needs_reapproval';
  status: (typeof SLOT_STATUSES)[number];
  has_hardware_change: boolean;
  node_state: NodeFacts['state'];
  node_occupancy: NodeFacts['occupancy'];
  /** The holder of the live claim on the slot or on its whole node. */
  holder: Readonly<{ state: AllocationState; is_whole_node: boolean }> | null;
  is_repairing: boolean;
  /** An alert blocks host changes. */
  prevents_host_changes: boolean;
  /** Bindings of this slot that another slot has now, one sentence each. */
  taken: readonly string[];
  /** The caller requested the two-person override, and it is not confirmed. */
  is_override_by_caller: boolean;
}>;

const onNode = ({ node_state }: SlotFacts): Refusal | false =>
  isNodeOver(node_state) && refused(`The node is ${node_state}; its slots are disabled.`);

const held = ({ holder }: SlotFacts): Refusal | false => holder !== null && refused(REFUSALS.slot_claimed);

const CAN_QUARANTINE_FROM: readonly SlotFacts['status'][] = ['available', 'cleanup_blocked', 'quarantined'];
const settled = ({ status }: SlotFacts, participle: string): Refusal | false =>
  !CAN_QUARANTINE_FROM.includes(status) && refused(`The slot is ${status}; it cannot be ${participle} now.`);

/** Whether the cleanup of an allocation in this state may be restarted. */
export const cleanupRefusal = (state: AllocationState): Refusal | null => {
  if (state === 'released') return refused('The allocation is released and needs no cleanup.');
  return state === 'releasing' || state === 'release_failed' || state === 'failed'
    ? null
    : refused(`The allocation is ${state}; release it instead.`);
};

const retry = (slot: SlotFacts): Refusal | null => {
  if (slot.holder === null)
    return slot.status === 'cleanup_blocked'
      ? refused('No allocation holds the slot. Repair it instead.')
      : refused(`The slot is ${slot.status}; there is no cleanup to retry.`);
  const isBlocked = slot.holder.is_whole_node
    ? slot.node_occupancy === 'cleanup_blocked'
    : slot.status === 'cleanup_blocked';
  return firstOf(cleanupRefusal(slot.holder.state), !isBlocked && done('The cleanup of its allocation is running.'));
};

const RULES = {
  disable: (slot) => firstOf(onNode(slot), slot.approval === 'disabled' && done('The slot is already disabled.')),
  enable: (slot) =>
    firstOf(
      onNode(slot),
      slot.approval === 'approved' && done('The slot is already enabled.'),
      (slot.approval === 'needs_reapproval' || slot.has_hardware_change) &&
        refused('The hardware of the slot differs from its approval. Review the change and approve the slot again.'),
      slot.taken.length > 0 && refused(slot.taken.join(' ')),
    ),
  quarantine: (slot) =>
    firstOf(
      onNode(slot),
      held(slot),
      // Set apart for its repair, it would be available after that.
      slot.status === 'quarantined' && !slot.is_repairing && done('The slot is already quarantined.'),
      settled(slot, 'quarantined'),
    ),
  repair: (slot) =>
    firstOf(
      onNode(slot),
      held(slot),
      slot.prevents_host_changes && refused(HOST_CHANGES_PREVENTED),
      settled(slot, 'repaired'),
      slot.is_repairing && done(REASONS.slot_in_repair),
    ),
  mark_wiped: (slot) =>
    firstOf(
      onNode(slot),
      held(slot),
      slot.status !== 'quarantined' &&
        slot.status !== 'cleanup_blocked' &&
        refused(`The slot is ${slot.status}; there is no wipe to override.`),
      slot.is_repairing && refused('The slot is being repaired. Wait for the repair, or cancel the run.'),
      slot.is_override_by_caller && done('You requested the override. Another operator must confirm it.'),
    ),
  retry_cleanup: retry,
} as const satisfies Record<string, (slot: SlotFacts) => Refusal | null>;

export type SlotAction = keyof typeof RULES;

/** The operation behind each action: without permission for the operation the action is not offered. */
export const SLOT_OPERATIONS = {
  disable: 'adminNodeSlotDisable',
  enable: 'adminNodeSlotEnable',
  quarantine: 'adminNodeSlotQuarantine',
  repair: 'adminNodeSlotRepair',
  mark_wiped: 'adminNodeSlotMarkWiped',
  retry_cleanup: 'adminAllocationForceCleanup',
} as const satisfies Record<SlotAction, OperationId>;

export const slotRefusal = (action: SlotAction, slot: SlotFacts): Refusal | null => RULES[action](slot);
