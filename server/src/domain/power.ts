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
export type FinalPowerState = 'on' | 'off' | 'unknown';

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
  requested: 'The allocation is being provisioned. Wait until it is active.',
  provisioning: 'The allocation is being provisioned. Wait until it is active.',
  releasing: 'The allocation is being released. Launch another.',
  released: 'The allocation is released. Launch another.',
  failed: 'The allocation has failed. Launch another.',
  release_failed: 'The allocation is being released. Launch another.',
};

const isFinalPowerState = (state: PowerState): state is FinalPowerState =>
  state === 'on' || state === 'off' || state === 'unknown';

/** Why this change cannot be asked for now and what to do instead, for whoever may see the allocation. */
export const powerRefusal = (facts: PowerFacts, change: PowerChange): string | null => {
  if (facts.capacity_shape === 'baremetal')
    return 'A bare-metal allocation has no power control here. Use its operating system, or release it.';
  if (facts.state !== 'active') return NOT_ACTIVE[facts.state];
  const power = facts.power_state ?? 'unknown';
  if (!isFinalPowerState(power)) return `The VM is ${power}. Wait until that completes, or release the allocation.`;
  if (change === 'reboot' && power === 'off') return 'The VM is off. Start it instead.';
  if (change === 'reinstall' && facts.is_protected) return 'The allocation is protected. Remove the protection first.';
  return null;
};
