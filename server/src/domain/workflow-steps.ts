/**
 * The steps of every workflow. This is the only place for a step's name, texts and host task: progress, timeline,
 * trace, documents and tests read it here. The functions are in `workflows/`.
 */
import { TASKS, type TaskKind } from '@gpuaas/contract/task-kinds';
import {
  declare,
  type HostStep,
  type Phase,
  type ServerStep,
  type StepDeclaration,
  stepEntries,
  type TaskKindOf,
  type WorkflowDeclaration,
} from './workflow-declaration.ts';

/** A host step carries the label of its task. */
const host = <const Kind extends TaskKind>(task: Kind, words: Omit<HostStep, 'label' | 'task'>) => ({
  ...words,
  label: TASKS[task].label,
  task,
});

const COPY_IMAGE = host('slice.image_clone', {
  usual_s: 60,
  doing: 'The image is being copied.',
  failed: 'The image could not be copied.',
});

const START_VM = host('slice.vm_start', {
  usual_s: 10,
  doing: 'The VM is starting.',
  failed: 'The VM could not be started.',
});

const AWAIT_SSH = host('slice.vm_readiness', {
  usual_s: 60,
  doing: 'The VM is booting and not yet reachable by SSH.',
  failed: 'The VM did not become ready.',
});

const STOP_VM = host('slice.vm_stop', {
  usual_s: 15,
  doing: 'The VM is being stopped.',
  failed: 'The VM could not be stopped.',
});

const WIPE_STEP = {
  ...host('slice.cleanup', {
    usual_s: 300,
    doing: 'The disks are being wiped.',
    failed: 'The disks could not be wiped.',
  }),
  task: { gpu_slice: 'slice.cleanup', baremetal: 'node.cleanup' },
} as const;

/** A step of the server takes no time worth showing. */
const server = (label: string): ServerStep => ({ label, usual_s: 0, task: null });
const offPath = (label: string): ServerStep => ({ ...server(label), is_off_path: true });

const ABORT = offPath('Abort');
const MARK_ON = server('Mark as running');
const MARK_UNKNOWN = offPath('Mark as unknown');

export const PROVISION_SLICE = declare({
  name: 'provision-slice',
  version: 1,
  label: 'Launch',
  phase: 'launch',
  steps: {
    leaseBundle: host('slice.bundle_lease', {
      usual_s: 5,
      doing: 'The GPUs are being reserved on the host.',
      failed: 'The GPUs could not be reserved on the host.',
    }),
    cloneImage: COPY_IMAGE,
    startVm: START_VM,
    awaitSsh: AWAIT_SSH,
    activate: server('Activate'),
    abort: ABORT,
  },
});

export const PROVISION_BAREMETAL = declare({
  name: 'provision-baremetal',
  version: 1,
  label: 'Launch',
  phase: 'launch',
  steps: {
    provisionUser: host('allocation.provision_user', {
      usual_s: 10,
      doing: 'Access is being set up.',
      failed: 'Access could not be set up.',
    }),
    activate: server('Activate'),
    abort: ABORT,
  },
});

export const STOP_SLICE = declare({
  name: 'stop-slice',
  version: 1,
  label: 'Stop',
  phase: 'power',
  steps: { stopVm: STOP_VM, markOff: server('Mark as stopped'), markUnknown: MARK_UNKNOWN },
});

export const START_SLICE = declare({
  name: 'start-slice',
  version: 1,
  label: 'Start',
  phase: 'power',
  steps: { startVm: START_VM, awaitSsh: AWAIT_SSH, markOn: MARK_ON, markUnknown: MARK_UNKNOWN },
});

export const REBOOT_SLICE = declare({
  name: 'reboot-slice',
  version: 1,
  label: 'Reboot',
  phase: 'power',
  steps: {
    rebootVm: host('slice.vm_reboot', {
      usual_s: 15,
      doing: 'The VM is being rebooted.',
      failed: 'The VM could not be rebooted.',
    }),
    awaitSsh: AWAIT_SSH,
    markOn: MARK_ON,
    markUnknown: MARK_UNKNOWN,
  },
});

export const REINSTALL_SLICE = declare({
  name: 'reinstall-slice',
  version: 1,
  label: 'Reinstall',
  phase: 'power',
  steps: {
    stopVm: STOP_VM,
    cloneImage: COPY_IMAGE,
    startVm: START_VM,
    awaitSsh: AWAIT_SSH,
    markOn: MARK_ON,
    markUnknown: MARK_UNKNOWN,
  },
});

const CLEANUP_STEPS = {
  stopRuntime: {
    label: 'Stop workloads',
    usual_s: 15,
    task: { gpu_slice: 'slice.vm_stop', baremetal: 'allocation.deprovision_user' },
    doing: 'Workloads are being stopped.',
    failed: 'Workloads could not be stopped.',
  },
  wipe: WIPE_STEP,
  prove: server('Verify wipe'),
  block: offPath('Mark cleanup as blocked'),
} as const;

export const RELEASE_ALLOCATION = declare({
  name: 'release-allocation',
  version: 1,
  label: 'Cleanup',
  phase: 'cleanup',
  steps: CLEANUP_STEPS,
});

/** About one move of a launch: the host that it left. */
export const CLEAN_LEFT_HOST = declare({
  name: 'clean-left-host',
  version: 1,
  label: 'Cleanup after a move',
  // Not the progress of the allocation, which is elsewhere.
  phase: 'repair',
  steps: CLEANUP_STEPS,
});

export const INSTALL_KEYS = declare({
  name: 'install-keys',
  version: 1,
  label: 'SSH keys',
  phase: 'access',
  steps: {
    installKeys: host('allocation.install_authorized_keys', {
      usual_s: 5,
      doing: 'SSH keys are being installed.',
      failed: 'SSH keys could not be installed.',
    }),
    abort: ABORT,
  },
});

export const REPAIR_SLOT = declare({
  name: 'repair-slot',
  version: 1,
  label: 'Slot repair',
  phase: 'repair',
  steps: {
    rebind: host('slice.reconcile', {
      usual_s: 10,
      doing: 'The devices are being rebound.',
      failed: 'The devices could not be rebound.',
    }),
    rediscover: host('slice.topology_discover', {
      usual_s: 10,
      doing: 'The hardware is being discovered.',
      failed: 'The hardware could not be discovered.',
    }),
    wipe: { ...WIPE_STEP, task: 'node.cleanup' },
  },
});

export const WIPE_DISK = declare({
  name: 'wipe-disk',
  version: 1,
  label: 'Disk approval',
  phase: 'repair',
  steps: {
    wipe: { ...WIPE_STEP, task: 'node.cleanup' },
    awaitFree: offPath('Wait until the disk is free'),
    rediscover: server('Request discovery'),
    abort: ABORT,
  },
});

export const WORKFLOWS = [
  PROVISION_SLICE,
  PROVISION_BAREMETAL,
  STOP_SLICE,
  START_SLICE,
  REBOOT_SLICE,
  REINSTALL_SLICE,
  RELEASE_ALLOCATION,
  CLEAN_LEFT_HOST,
  INSTALL_KEYS,
  REPAIR_SLOT,
  WIPE_DISK,
] as const satisfies readonly WorkflowDeclaration[];

/** The task kinds of the allocation workflows. */
export type AllocationTaskKind = TaskKindOf<
  | typeof PROVISION_SLICE
  | typeof PROVISION_BAREMETAL
  | typeof STOP_SLICE
  | typeof START_SLICE
  | typeof REBOOT_SLICE
  | typeof REINSTALL_SLICE
  | typeof RELEASE_ALLOCATION
>;

type Found = Readonly<{ workflow: WorkflowDeclaration; declared: StepDeclaration }>;

/** By name, and by step where several versions coexist. */
export const findStep = (
  name: string,
  step: string,
  among: readonly WorkflowDeclaration[] = WORKFLOWS,
): Found | undefined =>
  among
    .filter((workflow) => workflow.name === name)
    .flatMap((workflow) => stepEntries(workflow).map(([key, declared]) => ({ key, workflow, declared })))
    .find(({ key }) => key === step);

/** The label of a workflow; its name if it is no longer declared. */
export const workflowWords = (
  name: string,
  among: readonly WorkflowDeclaration[] = WORKFLOWS,
): Readonly<{ workflow_label: string; phase: Phase | null }> => {
  const found = among.find((one) => one.name === name);
  return { workflow_label: found?.label ?? name, phase: found?.phase ?? null };
};

/** The label of a step; its name if the workflow is no longer declared. */
export const stepLabel = (workflow: string, step: string, among?: readonly WorkflowDeclaration[]): string =>
  findStep(workflow, step, among)?.declared.label ?? step;

/** Whether a step has a host task. */
export const isHostStep = (workflow: string, step: string, among?: readonly WorkflowDeclaration[]): boolean =>
  (findStep(workflow, step, among)?.declared.task ?? null) !== null;
