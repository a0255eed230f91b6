/**
 * Power of an active slice. `POWER_MOVES` is the only list of its moves. A change starts from a final state, has a
 * state of its own while its run works, and ends in the requested state, or in `off` or `unknown` with a reason.
 * `unknown` means that the control plane did not see the end; every change may start there, because each checks the VM
 * first. The guest OS may shut the VM down, so a start is also accepted when the state is `on`: it verifies that the VM
 * runs.
 */
import type { POWER_STATES } from '@gpuaas/contract';
import type { AllocationState } from './allocation.ts';
import { REFUSALS } from './sentences.ts';

export type PowerState = (typeof POWER_STATES)[number];
export type PowerChange = 'stop' | 'start' | 'reboot' | 'reinstall';
export type FinalPowerState = 'on' | 'off' | 'unknown';

export const POWER_MOVES = {
  // Off without a change: found off on its host.
  on: ['off', 'stopping', 'starting', 'rebooting', 'reinstalling'],
  off: ['stopping', 'starting', 'reinstalling'],
  unknown: ['stopping', 'starting', 'rebooting', 'reinstalling'],
  stopping: ['off', 'unknown'],
  starting: ['on', 'off', 'unknown'],
  rebooting: ['on', 'unknown'],
  reinstalling: ['on', 'off', 'unknown'],
} as const satisfies Record<PowerState, readonly PowerState[]>;

/** The state while the change is in progress. */
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
  requested: REFUSALS.being_provisioned,
  provisioning: REFUSALS.being_provisioned,
  releasing: 'The allocation is being released. Launch another.',
  released: REFUSALS.allocation_released,
  failed: REFUSALS.allocation_failed,
  release_failed: 'The allocation is being released. Launch another.',
};

const isFinalPowerState = (state: PowerState): state is FinalPowerState =>
  state === 'on' || state === 'off' || state === 'unknown';

/** Why this change is not possible now and what to do instead, for everyone who may see the allocation. */
export const powerRefusal = (facts: PowerFacts, change: PowerChange): string | null => {
  if (facts.capacity_shape === 'baremetal')
    return 'A bare-metal allocation has no power control here. Use its operating system, or release it.';
  if (facts.state !== 'active') return NOT_ACTIVE[facts.state];
  const power = facts.power_state ?? 'unknown';
  if (!isFinalPowerState(power)) return `The VM is ${power}. Wait until that completes, or release the allocation.`;
  if (change === 'reboot' && power === 'off') return 'The VM is off. Start it instead.';
  if (change === 'reinstall' && facts.is_protected) return REFUSALS.allocation_protected;
  return null;
};
