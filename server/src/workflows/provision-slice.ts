/** Brings a GPU slice to life: its bundle is leased on the host, the image cloned, the machine started and seen ready. */
import type { AllocationRow } from '../db/allocation.ts';
import { type AllocationDeps, abandon, activate, PROVISION_DEADLINE_MS, provisionBy } from './allocation-steps.ts';
import { workflow } from './engine/workflow.ts';

type Step = 'leaseBundle' | 'cloneImage' | 'startVm' | 'awaitReady' | 'activate' | 'abandon';

export const provisionSlice = workflow<AllocationDeps, AllocationRow, Step>({
  name: 'provision-slice',
  version: 1,
  first: 'leaseBundle',
  deadlineMs: PROVISION_DEADLINE_MS,
  onCancel: 'abandon',
  onDeadline: 'abandon',
  onFailure: 'abandon',
  load: (deps, id) => deps.load(id),
  steps: {
    leaseBundle: provisionBy('slice.bundle_lease', 'cloneImage'),
    cloneImage: provisionBy('slice.image_clone', 'startVm'),
    startVm: provisionBy('slice.vm_start', 'awaitReady'),
    awaitReady: provisionBy('slice.vm_readiness', 'activate'),
    activate,
    abandon,
  },
});
