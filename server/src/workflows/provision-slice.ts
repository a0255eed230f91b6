/** Provisions a GPU slice: leases its bundle on the host, copies the image, starts the VM and waits for SSH. */
import type { AllocationRow } from '../db/allocation.ts';
import type { StepOf } from '../domain/workflow-declaration.ts';
import { PROVISION_SLICE } from '../domain/workflow-steps.ts';
import { type AllocationDeps, abort, activate, PROVISION_DEADLINE_MS, provisionFrom } from './allocation-steps.ts';
import { workflow } from './engine/workflow.ts';

const provisionThen = provisionFrom('leaseBundle');

export const provisionSlice = workflow<AllocationDeps, AllocationRow, StepOf<typeof PROVISION_SLICE>>({
  declared: PROVISION_SLICE,
  deadlineMs: PROVISION_DEADLINE_MS,
  onCancel: 'abort',
  onDeadline: 'abort',
  onFailure: 'abort',
  load: (deps, id) => deps.load(id),
  steps: {
    leaseBundle: provisionThen('cloneImage'),
    cloneImage: provisionThen('startVm'),
    startVm: provisionThen('awaitSsh'),
    awaitSsh: provisionThen('activate'),
    activate,
    abort,
  },
});
