/**
 * The workflows by their steps, in the server's names and words. The seconds are what a step takes here: a launch is over
 * in about twelve of them, so that somebody who looks at the demo sees the end.
 */
import type { PathStep } from '../core/rows.ts';

const GIB = 1024 ** 3;

const COPY: PathStep = {
  step: 'cloneImage',
  label: 'Copy the image',
  kind: 'slice.image_clone',
  seconds: 5,
  bytes: 20 * GIB,
};
const BOOT: PathStep = { step: 'awaitReady', label: 'Boot', kind: 'slice.vm_readiness', seconds: 3.5 };
const START: readonly PathStep[] = [
  { step: 'startVm', label: 'Start the machine', kind: 'slice.vm_start', seconds: 2 },
  BOOT,
];
const STOP: PathStep = { step: 'stopVm', label: 'Stop the machine', kind: 'slice.vm_stop', seconds: 3 };
const onAgain: PathStep = { step: 'settleOn', label: 'Hand it over', kind: null, seconds: 0.3 };
const wipe = (kind: string): PathStep => ({
  step: 'wipe',
  label: 'Erase the disks',
  kind,
  seconds: 6,
  bytes: 3_840_755_982_336,
});
const prove: PathStep = { step: 'prove', label: 'Check the erasure', kind: null, seconds: 1 };
const look: PathStep = {
  step: 'rediscover',
  label: 'Look at the host',
  kind: 'slice.topology_discover',
  seconds: 3,
};

export const PATHS = {
  'provision-slice': [
    { step: 'leaseBundle', label: 'Set the GPUs aside', kind: 'slice.bundle_lease', seconds: 1 },
    COPY,
    ...START,
    { step: 'activate', label: 'Hand it over', kind: null, seconds: 0.3 },
  ],
  'provision-baremetal': [
    { step: 'provisionUser', label: 'Set up access', kind: 'allocation.provision_user', seconds: 8 },
    { step: 'activate', label: 'Hand it over', kind: null, seconds: 0.3 },
  ],
  'stop-slice': [STOP, { step: 'settleOff', label: 'Keep it for you', kind: null, seconds: 0.3 }],
  'start-slice': [...START, onAgain],
  'reboot-slice': [
    { step: 'rebootVm', label: 'Reboot the machine', kind: 'slice.vm_reboot', seconds: 2 },
    BOOT,
    onAgain,
  ],
  'reinstall-slice': [STOP, COPY, ...START, onAgain],
  'release-allocation': [
    { step: 'stopRuntime', label: 'Stop what runs', kind: 'slice.vm_stop', seconds: 3 },
    wipe('slice.cleanup'),
    prove,
  ],
  'release-baremetal': [
    { step: 'stopRuntime', label: 'Stop what runs', kind: 'allocation.deprovision_user', seconds: 3 },
    wipe('node.cleanup'),
    prove,
  ],
  'repair-slot': [
    { step: 'rebind', label: 'Bind the devices anew', kind: 'slice.reconcile', seconds: 2 },
    look,
    wipe('node.cleanup'),
  ],
  'own-disk': [wipe('node.cleanup'), look],
} as const satisfies Record<string, readonly PathStep[]>;

export type PathName = keyof typeof PATHS;
/** A release of a whole node asks other things of the host; its name is the same. */
export const workflowOf = (path: PathName): string => (path === 'release-baremetal' ? 'release-allocation' : path);

const ASIDE: Readonly<Record<string, string>> = { abandon: 'Give it up', block: 'Leave it to an operator' };

export const stepLabel = (path: readonly PathStep[], step: string): string =>
  path.find((one) => one.step === step)?.label ?? ASIDE[step] ?? step;
