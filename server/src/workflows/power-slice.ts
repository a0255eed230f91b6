/**
 * Stop, start, reboot and reinstall of an active slice. The order of the host tasks protects the tenant's data: a VM is
 * stopped before its boot disk is overwritten, and counts as on only when it was seen ready.
 */
import type { AllocationRow } from '../db/allocation.ts';
import type { PowerChange } from '../domain/power.ts';
import type { StepOf } from '../domain/workflow-declaration.ts';
import { REBOOT_SLICE, REINSTALL_SLICE, START_SLICE, STOP_SLICE } from '../domain/workflow-steps.ts';
import type { AllocationDeps } from './allocation-steps.ts';
import { type BoundWorkflow, bind, type Startable, workflow } from './engine/workflow.ts';
import { type IfRefused, mark, markUnknown, powerThen } from './power-steps.ts';

const HOUR_MS = 3_600_000;

const NOT_STOPPED: IfRefused = { to: 'unknown', advice: 'Stop the VM again, or stop it without grace.' };
const NOT_STARTED: IfRefused = { to: 'off', advice: 'The VM is off. Start it again, or release the allocation.' };
/** It may be up by now, or still busy with its disks, so it keeps running. */
const NOT_REACHED: IfRefused = {
  to: 'unknown',
  advice: 'The VM was started. Open its console, reboot it, or stop it.',
};
const NOT_COPIED: IfRefused = {
  to: 'off',
  advice: 'The VM is off and its boot disk may not boot. Reinstall it again, or release the allocation.',
};

const common = {
  deadlineMs: HOUR_MS,
  onCancel: 'markUnknown',
  onDeadline: 'markUnknown',
  onFailure: 'markUnknown',
  load: (deps: AllocationDeps, id: string): Promise<AllocationRow> => deps.load(id),
} as const;

export const stopSlice = workflow<AllocationDeps, AllocationRow, StepOf<typeof STOP_SLICE>>({
  ...common,
  declared: STOP_SLICE,
  steps: { stopVm: powerThen('markOff', NOT_STOPPED), markOff: mark('off'), markUnknown },
});

export const startSlice = workflow<AllocationDeps, AllocationRow, StepOf<typeof START_SLICE>>({
  ...common,
  declared: START_SLICE,
  steps: {
    startVm: powerThen('awaitSsh', NOT_STARTED),
    awaitSsh: powerThen('markOn', NOT_REACHED),
    markOn: mark('on'),
    markUnknown,
  },
});

export const rebootSlice = workflow<AllocationDeps, AllocationRow, StepOf<typeof REBOOT_SLICE>>({
  ...common,
  declared: REBOOT_SLICE,
  steps: {
    rebootVm: powerThen('awaitSsh', { to: 'unknown', advice: 'Start the VM, or stop and start it.' }),
    awaitSsh: powerThen('markOn', NOT_REACHED),
    markOn: mark('on'),
    markUnknown,
  },
});

export const reinstallSlice = workflow<AllocationDeps, AllocationRow, StepOf<typeof REINSTALL_SLICE>>({
  ...common,
  declared: REINSTALL_SLICE,
  steps: {
    stopVm: powerThen('cloneImage', {
      to: 'unknown',
      advice: 'Nothing was wiped. Stop the VM without grace, then reinstall it.',
    }),
    cloneImage: powerThen('startVm', NOT_COPIED),
    startVm: powerThen('awaitSsh', NOT_STARTED),
    awaitSsh: powerThen('markOn', NOT_REACHED),
    markOn: mark('on'),
    markUnknown,
  },
});

/** All four, for a worker. */
export const bindPower = (deps: AllocationDeps): readonly BoundWorkflow[] => [
  bind(stopSlice, deps),
  bind(startSlice, deps),
  bind(rebootSlice, deps),
  bind(reinstallSlice, deps),
];

export const POWER_WORKFLOWS = {
  stop: stopSlice,
  start: startSlice,
  reboot: rebootSlice,
  reinstall: reinstallSlice,
} as const satisfies Record<PowerChange, Startable>;
