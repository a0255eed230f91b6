/**
 * The states of a node and of its occupancy, and the only lists of their moves. A node begins as `bootstrap_issued` and free.
 * Once it is over, its agent has no access and its slots are disabled.
 */
import { type NODE_STATES, type OCCUPANCIES, OVER_NODE_STATES } from '@gpuaas/contract';
import { deadlineOf, type Moves, type Waits } from './moves.ts';

export type NodeState = (typeof NODE_STATES)[number];
export type Occupancy = (typeof OCCUPANCIES)[number];

export const isNodeOver = (state: NodeState): boolean => OVER_NODE_STATES.some((over) => over === state);

/** States in which its GPUs count as delivered capacity. */
export const DELIVERED_NODE_STATES = ['active', 'offline', 'draining'] as const satisfies readonly NodeState[];

/** A node that is bound to another host begins anew. */
export const nodeMoves = {
  bootstrap_issued: ['enrolling', 'retired'],
  enrolling: ['active', 'bootstrap_issued', 'retired'],
  active: ['offline', 'draining'],
  offline: ['active', 'bootstrap_issued', 'retired'],
  draining: ['active', 'bootstrap_issued', 'retired'],
  retired: ['deleted'],
  deleted: [],
} as const satisfies Moves<NodeState>;

/** Only a proof frees a node that was exclusive. A record of an earlier build may be in cleanup when it is claimed. */
export const occupancyMoves = {
  free: ['sliced', 'exclusive', 'cleaning', 'cleanup_blocked'],
  sliced: ['free'],
  exclusive: ['cleaning'],
  cleaning: ['free', 'cleanup_blocked'],
  cleanup_blocked: ['cleaning'],
} as const satisfies Moves<Occupancy>;

const HOUR_S = 3_600;

/** What must be left, by whom it is waited for, and how long that may take. In the other states a node may stay. */
export const NODE_WAITS: Waits<NodeState> = {
  bootstrap_issued: { owner: 'operator', until: 'the host enrolls', deadline_s: 7 * 24 * HOUR_S },
  enrolling: { owner: 'host', until: 'the first heartbeat', deadline_s: HOUR_S / 4 },
  active: null,
  offline: { owner: 'operator', until: 'the agent reconnects or the node is retired', deadline_s: 24 * HOUR_S },
  draining: { owner: 'operator', until: 'the node is resumed or retired', deadline_s: 7 * 24 * HOUR_S },
  retired: null,
  deleted: null,
};

export const nodeDeadline = ({
  state,
  state_since,
}: Readonly<{ state: NodeState; state_since: string }>): string | null => deadlineOf(NODE_WAITS[state], state_since);
