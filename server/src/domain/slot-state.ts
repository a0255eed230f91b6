/**
 * The statuses of a slot and of its approval, and the only lists of their moves. A slot begins approved and quarantined: its
 * first wipe makes it available. Only a wipe leads to `available`.
 */
import type { APPROVALS, SLOT_STATUSES } from '@gpuaas/contract';
import { STATE_DEADLINE_S } from './allocation.ts';
import { deadlineOf, type Moves, type Waits } from './moves.ts';

export type SlotStatus = (typeof SLOT_STATUSES)[number];
export type Approval = (typeof APPROVALS)[number];

/**
 * The tenant of a whole node could write to slots that were never reserved, so that available ones are cleaned too. A record
 * of an earlier build may be active or in cleanup when its slots are claimed.
 */
export const slotMoves = {
  available: ['reserved', 'in_use', 'cleaning', 'cleanup_blocked', 'quarantined'],
  reserved: ['in_use', 'cleaning'],
  in_use: ['cleaning'],
  cleaning: ['available', 'cleanup_blocked', 'quarantined'],
  cleanup_blocked: ['available', 'cleaning', 'quarantined'],
  quarantined: ['available'],
} as const satisfies Moves<SlotStatus>;

/** A difference that a discovery finds is approved again, or the slot is disabled. */
export const approvalMoves = {
  approved: ['disabled', 'needs_reapproval'],
  needs_reapproval: ['approved', 'disabled'],
  disabled: ['approved'],
} as const satisfies Moves<Approval>;

const { requested, provisioning, releasing, release_failed } = STATE_DEADLINE_S;
const DAY_S = 86_400;

/** What must be left, by whom it is waited for, and how long that may take: a claimed slot as long as its allocation. */
export const SLOT_WAITS: Waits<SlotStatus> = {
  available: null,
  reserved: { owner: 'workflow', until: 'the launch is active or fails', deadline_s: requested + provisioning },
  in_use: null,
  cleaning: { owner: 'workflow', until: 'the wipe is proven or blocked', deadline_s: releasing },
  cleanup_blocked: {
    owner: 'operator',
    until: 'the cleanup is retried or the slot repaired',
    deadline_s: release_failed,
  },
  quarantined: { owner: 'operator', until: 'the slot is repaired or disabled', deadline_s: 7 * DAY_S },
};

/** A disabled slot is out of service: nobody waits for it. */
export const slotDeadline = (
  slot: Readonly<{ status: SlotStatus; approval: Approval; status_since: string }>,
): string | null => (slot.approval === 'disabled' ? null : deadlineOf(SLOT_WAITS[slot.status], slot.status_since));
