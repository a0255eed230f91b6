/**
 * The states of an allocation. `allocationMoves` is the only list of its moves, and every move declares its effect on
 * billing: time is charged from `active` until a release is accepted, and at no other time. `failed` ends billing, not
 * custody: the claims stay, cleanup starts automatically, and a verified wipe releases them while the state stays
 * `failed`.
 */
import { type ALLOCATION_STATES, CUSTODY_ALLOCATION_STATES, HELD_ALLOCATION_STATES } from '@gpuaas/contract';

export type AllocationState = (typeof ALLOCATION_STATES)[number];
/** No release has begun: it counts against the quota, and sessions and SSH keys are accepted. */
export const isHeld = (state: AllocationState): boolean => HELD_ALLOCATION_STATES.some((held) => held === state);
/** The claims that it still has wait for a wipe proof. */
export const isInCustody = (state: AllocationState): boolean => CUSTODY_ALLOCATION_STATES.some((one) => one === state);
/** A launch has not ended. */
export const STARTING_ALLOCATION_STATES = ['requested', 'provisioning'] as const satisfies readonly AllocationState[];
/** It has been active, and no wipe has freed what it holds. */
export const OCCUPYING_ALLOCATION_STATES = [
  'active',
  'releasing',
  'release_failed',
] as const satisfies readonly AllocationState[];
export type BillingEffect = 'open' | 'close' | 'none';

export const allocationMoves = {
  requested: ['provisioning', 'releasing', 'failed'],
  provisioning: ['active', 'releasing', 'failed'],
  active: ['releasing'],
  releasing: ['released', 'release_failed'],
  release_failed: ['releasing'],
  released: [],
  failed: [],
} as const satisfies Record<AllocationState, readonly AllocationState[]>;

type Moves = typeof allocationMoves;
export type AllocationMoveName = { [From in keyof Moves]: `${From} -> ${Moves[From][number]}` }[keyof Moves];

export const BILLING: Readonly<Record<AllocationMoveName, BillingEffect>> = {
  'requested -> provisioning': 'none',
  'requested -> releasing': 'none',
  'requested -> failed': 'none',
  'provisioning -> active': 'open',
  'provisioning -> releasing': 'none',
  'provisioning -> failed': 'none',
  'active -> releasing': 'close',
  'releasing -> released': 'none',
  'releasing -> release_failed': 'none',
  'release_failed -> releasing': 'none',
};

/** Undefined when there is no such move. */
export const billingEffect = (from: AllocationState, to: AllocationState): BillingEffect | undefined =>
  (BILLING as Readonly<Record<string, BillingEffect>>)[`${from} -> ${to}`];

/** The states from which `to` may be entered, for the `where` of the update that enters it. */
export const sourcesOf = (to: AllocationState): AllocationState[] =>
  (Object.keys(allocationMoves) as AllocationState[]).filter((from) => billingEffect(from, to) !== undefined);

/** States in which a release is accepted, again or for the first time. */
export const isReleasable = (state: AllocationState): boolean =>
  state === 'releasing' || sourcesOf('releasing').includes(state);

const MINUTE_S = 60;

/** The longest a state should last. Final states have no limit. */
export const STATE_DEADLINE_S = {
  requested: MINUTE_S,
  provisioning: 45 * MINUTE_S,
  active: null,
  releasing: 60 * MINUTE_S,
  release_failed: 24 * 60 * MINUTE_S,
  released: null,
  failed: 60 * MINUTE_S,
} as const satisfies Readonly<Record<AllocationState, number | null>>;
