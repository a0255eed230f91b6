/**
 * Every boundary of the workflows that change a host, and the expected database state after a worker died there. The
 * expected state verifies the harness: a worker that died elsewhere leaves another state.
 */
import type { CapacityShape, WorkflowDeclaration } from '../../server/src/domain/workflow-declaration.ts';
import {
  INSTALL_KEYS,
  PROVISION_BAREMETAL,
  PROVISION_SLICE,
  REBOOT_SLICE,
  REINSTALL_SLICE,
  RELEASE_ALLOCATION,
  REPAIR_SLOT,
  START_SLICE,
  STOP_SLICE,
  WIPE_DISK,
} from '../../server/src/domain/workflow-steps.ts';
import { type Execution, executionsOf } from '../../server/test/executions.ts';
import type { Boundary } from './paused-worker.ts';

/** Before the step acts, after it acted, after its outcome was committed. */
const POINTS = ['claimed', 'acted', 'committed'] as const;

type Step = Omit<Execution, 'execution'> & Pick<Boundary, 'execution'>;
export type Path = Readonly<{
  workflow: string;
  executions: readonly Step[];
  /** The run gives its finished task away, so that it can request another one. */
  releases_task?: true;
}>;
const path = (declared: WorkflowDeclaration, shape: CapacityShape): Path => ({
  workflow: declared.name,
  executions: executionsOf(declared, shape),
});

/** After an installation the keys are compared again: others may have been granted meanwhile. */
const repeatingPath = (declared: WorkflowDeclaration, shape: CapacityShape): Path => {
  const { workflow, executions } = path(declared, shape);
  const last = executions.slice(-1).map((each) => ({ ...each, execution: 'again' as const }));
  return { workflow, executions: [...executions, ...last], releases_task: true };
};

/** The executions of an undisturbed run, in order. */
export const PATHS = {
  provisionSlice: path(PROVISION_SLICE, 'gpu_slice'),
  provisionBaremetal: path(PROVISION_BAREMETAL, 'baremetal'),
  releaseSlice: path(RELEASE_ALLOCATION, 'gpu_slice'),
  releaseBaremetal: path(RELEASE_ALLOCATION, 'baremetal'),
  stop: path(STOP_SLICE, 'gpu_slice'),
  start: path(START_SLICE, 'gpu_slice'),
  reboot: path(REBOOT_SLICE, 'gpu_slice'),
  reinstall: path(REINSTALL_SLICE, 'gpu_slice'),
  installKeys: repeatingPath(INSTALL_KEYS, 'gpu_slice'),
  repairSlot: path(REPAIR_SLOT, 'gpu_slice'),
  wipeDisk: path(WIPE_DISK, 'gpu_slice'),
} as const;

export const boundariesOf = ({ workflow, executions }: Path): readonly Omit<Boundary, 'subject_id'>[] =>
  executions.flatMap((execution) => POINTS.map((point) => ({ workflow, point, ...execution })));

export type Picture = Readonly<{
  step: string;
  /** Whether the run has ended. */
  is_done: boolean;
  /** The tasks that the run has sent to its host so far. */
  kinds: readonly string[];
}>;

export const pictureAt = ({ executions, releases_task }: Path, at: Omit<Boundary, 'subject_id'>): Picture => {
  const index = executions.findIndex(({ step, execution }) => step === at.step && execution === at.execution);
  const recorded = at.point === 'committed' ? index + 1 : index;
  const acted = at.point === 'claimed' ? index : index + 1;
  const isReleased =
    releases_task === true && recorded > executions.findIndex(({ execution }) => execution === 'go_on');
  const kinds = executions.slice(0, acted).flatMap(({ kind }) => kind ?? []);
  return {
    step: (executions[recorded] ?? executions[index])?.step ?? '',
    is_done: recorded === executions.length,
    kinds: isReleased ? [] : [...new Set(kinds)].sort(),
  };
};
