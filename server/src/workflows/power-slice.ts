/**
 * Stop, start, reboot and reinstall of an active slice. Each is made of what a host can do, in an order that keeps what the
 * tenant has: a machine is stopped before its boot disk is written over, and counts as on only when it was seen ready.
 */
import type { AllocationRow } from '../db/allocation.ts';
import type { PowerChange } from '../domain/power.ts';
import type { AllocationDeps } from './allocation-steps.ts';
import { type BoundWorkflow, bind, type Startable, workflow } from './engine/workflow.ts';
import { comeToRest, leaveUnknown, powerBy, type Refused } from './power-steps.ts';

const HOUR_MS = 3_600_000;

const NOT_STOPPED: Refused = { to: 'unknown', advice: 'Stop it again, or without grace.' };
const NOT_STARTED: Refused = { to: 'off', advice: 'It is off and still yours: start it again, or release it.' };
/** It may be up by now, or still busy with its disks, so it is left running. */
const NOT_REACHED: Refused = {
  to: 'unknown',
  advice: 'It was started and is left as it is: look at it, reboot it, or stop it.',
};
const NOT_COPIED: Refused = {
  to: 'off',
  advice: 'It is off. Unless the copy never began, its boot disk holds no system: reinstall it again, or release it.',
};

const common = {
  version: 1,
  deadlineMs: HOUR_MS,
  onCancel: 'leaveUnknown',
  onDeadline: 'leaveUnknown',
  onFailure: 'leaveUnknown',
  load: (deps: AllocationDeps, id: string): Promise<AllocationRow> => deps.load(id),
} as const;

export const stopSlice = workflow<AllocationDeps, AllocationRow, 'stopVm' | 'settleOff' | 'leaveUnknown'>({
  ...common,
  name: 'stop-slice',
  first: 'stopVm',
  steps: { stopVm: powerBy('slice.vm_stop', 'settleOff', NOT_STOPPED), settleOff: comeToRest('off'), leaveUnknown },
});

export const startSlice = workflow<
  AllocationDeps,
  AllocationRow,
  'startVm' | 'awaitReady' | 'settleOn' | 'leaveUnknown'
>({
  ...common,
  name: 'start-slice',
  first: 'startVm',
  steps: {
    startVm: powerBy('slice.vm_start', 'awaitReady', NOT_STARTED),
    awaitReady: powerBy('slice.vm_readiness', 'settleOn', NOT_REACHED),
    settleOn: comeToRest('on'),
    leaveUnknown,
  },
});

export const rebootSlice = workflow<
  AllocationDeps,
  AllocationRow,
  'rebootVm' | 'awaitReady' | 'settleOn' | 'leaveUnknown'
>({
  ...common,
  name: 'reboot-slice',
  first: 'rebootVm',
  steps: {
    rebootVm: powerBy('slice.vm_reboot', 'awaitReady', { to: 'unknown', advice: 'Start it, or stop it and start it.' }),
    awaitReady: powerBy('slice.vm_readiness', 'settleOn', NOT_REACHED),
    settleOn: comeToRest('on'),
    leaveUnknown,
  },
});

export const reinstallSlice = workflow<
  AllocationDeps,
  AllocationRow,
  'stopVm' | 'cloneImage' | 'startVm' | 'awaitReady' | 'settleOn' | 'leaveUnknown'
>({
  ...common,
  name: 'reinstall-slice',
  first: 'stopVm',
  steps: {
    stopVm: powerBy('slice.vm_stop', 'cloneImage', {
      to: 'unknown',
      advice: 'Nothing was erased. Stop it without grace, and reinstall it then.',
    }),
    cloneImage: powerBy('slice.image_clone', 'startVm', NOT_COPIED),
    startVm: powerBy('slice.vm_start', 'awaitReady', NOT_STARTED),
    awaitReady: powerBy('slice.vm_readiness', 'settleOn', NOT_REACHED),
    settleOn: comeToRest('on'),
    leaveUnknown,
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
