/**
 * Whether an allocation may be released or changed, or why not. The operations refuse by these rules and the allocation
 * shows them. Power has rules of its own in power.ts.
 */
import { type AllocationState, isReleasable } from './allocation.ts';
import { done, firstOf, type Refusal, refused } from './refusal.ts';

export type ReleaseFacts = Readonly<{ state: AllocationState; is_protected: boolean }>;

/** A release that is under way is accepted again, protected or not. */
export const releaseRefusal = ({ state, is_protected }: ReleaseFacts): Refusal | null =>
  firstOf(
    state === 'releasing' && done('The allocation is being released.'),
    !isReleasable(state) && refused(`The allocation is ${state}; there is nothing to release.`),
    is_protected && refused('The allocation is protected. Remove the protection first.'),
  );

/** Operators release what is protected as well. */
export const forceReleaseRefusal = (state: AllocationState): Refusal | null =>
  releaseRefusal({ state, is_protected: false });

export const updateRefusal = (state: AllocationState): Refusal | null =>
  state === 'released' || state === 'failed' ? refused(`The allocation is ${state}.`) : null;

/** A maximum that has passed would release at once, through a field that reads like a promise for later. */
export const maxDurationRefusal = (activeS: number, maxDurationS: number): Refusal | null =>
  activeS < maxDurationS
    ? null
    : refused(
        `The allocation has been active for ${activeS} s, longer than the maximum duration of ${maxDurationS} s. Release it, or set a longer maximum.`,
      );
