/**
 * What can be done with an allocation now, or why not. The operations refuse by these rules and the allocation shows them
 * as `actions`. Power and sessions have their rules in power.ts and session.ts.
 */
import { type Permission, roleRefusal } from '@gpuaas/contract';
import { type AllocationState, isHeld, isReleasable } from './allocation.ts';
import { POWER_DURING, type PowerChange, type PowerFacts, powerRefusal } from './power.ts';
import { type Action, action, done, firstOf, type Refusal, refused } from './refusal.ts';
import { REFUSALS } from './sentences.ts';
import { type SessionFacts, sessionRefusal } from './session.ts';

export type ReleaseFacts = Readonly<{ state: AllocationState; is_protected: boolean }>;

/** A release in progress is accepted again, even if protected. */
export const releaseRefusal = ({ state, is_protected }: ReleaseFacts): Refusal | null =>
  firstOf(
    state === 'releasing' && done('The allocation is being released.'),
    !isReleasable(state) && refused(`The allocation is ${state}; there is nothing to release.`),
    is_protected && refused(REFUSALS.allocation_protected),
  );

/** Operators can release protected allocations. */
export const forceReleaseRefusal = (state: AllocationState): Refusal | null =>
  releaseRefusal({ state, is_protected: false });

export const updateRefusal = (state: AllocationState): Refusal | null =>
  state === 'released' || state === 'failed' ? refused(`The allocation is ${state}.`) : null;

/** A maximum in the past would release at once, through a field that looks like a later limit. */
export const maxDurationRefusal = (activeS: number, maxDurationS: number): Refusal | null =>
  activeS < maxDurationS
    ? null
    : refused(
        `The allocation has been active for ${activeS} s, longer than the maximum duration of ${maxDurationS} s. Release it, or set a longer maximum.`,
      );

export const grantRefusal = (state: AllocationState): Refusal | null =>
  isHeld(state) ? null : refused(`The allocation is ${state} and accepts no SSH keys.`);

const POWER_CHANGES = Object.keys(POWER_DURING) as PowerChange[];

/** A missing role is named before the state. Bare metal has no power control of ours, so it has no power actions. */
export const allocationActions = (
  facts: PowerFacts & SessionFacts,
  holds: (permission: Permission) => boolean,
): Action[] => {
  const of = (name: string, permission: Permission, reason: string | null): Action =>
    action(name, holds(permission) ? reason : roleRefusal(permission));
  return [
    of('update', 'allocation.update', updateRefusal(facts.state)?.reason ?? null),
    of('release', 'allocation.release', releaseRefusal(facts)?.reason ?? null),
    of('connect', 'allocation.connect', sessionRefusal(facts, 'terminal')),
    of('console', 'allocation.session.create', sessionRefusal(facts, 'console')),
    of('grant', 'allocation.grant.create', grantRefusal(facts.state)?.reason ?? null),
    ...(facts.capacity_shape === 'baremetal' ? [] : POWER_CHANGES).map((change) =>
      of(change, 'allocation.power', powerRefusal(facts, change)),
    ),
  ];
};
