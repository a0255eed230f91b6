/**
 * Power of an active slice. `POWER_MOVES` is the only place where its moves are listed. A change is asked for from a state of
 * rest, passes through a state of its own while one run works at it, and comes to rest: where it was asked to, or in `off` or
 * `unknown` with a reason. `unknown` is what the platform says when it did not see the end; every change is open from there,
 * because each finds out for itself what the machine does.
 *
 * A machine may be shut down from inside, so `on` can be started: whoever asks for what is already so gets it seen to.
 */
import type { POWER_STATES } from '@gpuaas/contract';
import type { AllocationState } from './allocation.ts';

export type PowerState = (typeof POWER_STATES)[number];
export type PowerChange = 'stop' | 'start' | 'reboot' | 'reinstall';
export type PowerRest = 'on' | 'off' | 'unknown';

export const POWER_MOVES = {
  // Off without a change: it was found so on its host.
  on: ['off', 'stopping', 'starting', 'rebooting', 'reinstalling'],
  off: ['stopping', 'starting', 'reinstalling'],
  unknown: ['stopping', 'starting', 'rebooting', 'reinstalling'],
  stopping: ['off', 'unknown'],
  starting: ['on', 'off', 'unknown'],
  rebooting: ['on', 'unknown'],
  reinstalling: ['on', 'off', 'unknown'],
} as const satisfies Record<PowerState, readonly PowerState[]>;

/** What the machine is in while the change is made. */
export const POWER_DURING = {
  stop: 'stopping',
  start: 'starting',
  reboot: 'rebooting',
  reinstall: 'reinstalling',
} as const satisfies Record<PowerChange, PowerState>;

/** The states from which `to` may be entered, for the `where` of the update that enters it. */
export const powerSourcesOf = (to: PowerState): PowerState[] =>
  (Object.keys(POWER_MOVES) as PowerState[]).filter((from) =>
    (POWER_MOVES[from] as readonly PowerState[]).includes(to),
  );

export type PowerFacts = Readonly<{
  capacity_shape: 'baremetal' | 'gpu_slice';
  state: AllocationState;
  power_state: PowerState | null;
  is_protected: boolean;
}>;

const NOT_ACTIVE: Readonly<Record<Exclude<AllocationState, 'active'>, string>> = {
  requested: 'It is being provisioned; wait until it is active.',
  provisioning: 'It is being provisioned; wait until it is active.',
  releasing: 'It is being released; launch another.',
  released: 'It is released; launch another.',
  failed: 'It has failed; launch another.',
  release_failed: 'It is being released; launch another.',
};

const isAtRest = (state: PowerState): state is PowerRest => state === 'on' || state === 'off' || state === 'unknown';

/** Why this change cannot be asked for now and what to do instead, for whoever may see the allocation. */
export const powerRefusal = (facts: PowerFacts, change: PowerChange): string | null => {
  if (facts.capacity_shape === 'baremetal')
    return 'It is a whole node, whose power is its operating system’s: use that, or release it.';
  if (facts.state !== 'active') return NOT_ACTIVE[facts.state];
  const power = facts.power_state ?? 'unknown';
  if (!isAtRest(power)) return `It is ${power}; wait until that is over, or release it.`;
  if (change === 'reboot' && power === 'off') return 'It is off; start it instead.';
  if (change === 'reinstall' && facts.is_protected) return 'It is protected; remove the protection first.';
  return null;
};
