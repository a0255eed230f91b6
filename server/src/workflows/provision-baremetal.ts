/** Hands a whole node to its tenant: the host lets the tenant's keys in. */
import type { AllocationRow } from '../db/allocation.ts';
import { type AllocationDeps, abandon, activate, PROVISION_DEADLINE_MS, provisionBy } from './allocation-steps.ts';
import { workflow } from './engine/workflow.ts';

type Step = 'provisionUser' | 'activate' | 'abandon';

export const provisionBaremetal = workflow<AllocationDeps, AllocationRow, Step>({
  name: 'provision-baremetal',
  version: 1,
  first: 'provisionUser',
  deadlineMs: PROVISION_DEADLINE_MS,
  onCancel: 'abandon',
  onDeadline: 'abandon',
  onFailure: 'abandon',
  load: (deps, id) => deps.load(id),
  steps: {
    provisionUser: provisionBy('allocation.provision_user', 'activate'),
    activate,
    abandon,
  },
});
