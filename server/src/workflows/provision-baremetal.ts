/** Provisions bare metal: the host installs the tenant's SSH keys. */
import type { AllocationRow } from '../db/allocation.ts';
import type { StepOf } from '../domain/workflow-declaration.ts';
import { PROVISION_BAREMETAL } from '../domain/workflow-steps.ts';
import { type AllocationDeps, abort, activate, PROVISION_DEADLINE_MS, provisionFrom } from './allocation-steps.ts';
import { workflow } from './engine/workflow.ts';

const provisionThen = provisionFrom('provisionUser');

export const provisionBaremetal = workflow<AllocationDeps, AllocationRow, StepOf<typeof PROVISION_BAREMETAL>>({
  declared: PROVISION_BAREMETAL,
  deadlineMs: PROVISION_DEADLINE_MS,
  onCancel: 'abort',
  onDeadline: 'abort',
  onFailure: 'abort',
  load: (deps, id) => deps.load(id),
  steps: {
    provisionUser: provisionThen('activate'),
    activate,
    abort,
  },
});
