/**
 * Every boundary of the allocation workflows, and the expected database state after a worker died there. The expected
 * state verifies the harness: a worker that died elsewhere leaves another state.
 */
import type { CapacityShape, WorkflowDeclaration } from '../../server/src/domain/workflow-declaration.ts';
import { PROVISION_BAREMETAL, PROVISION_SLICE, RELEASE_ALLOCATION } from '../../server/src/domain/workflow-steps.ts';
import { type Execution, executionsOf } from '../../server/test/executions.ts';
import type { Boundary } from './paused-worker.ts';

/** Before the step acts, after it acted, after its outcome was committed. */
const POINTS = ['claimed', 'acted', 'committed'] as const;

export type Path = Readonly<{ workflow: string; executions: readonly Execution[] }>;
const path = (declared: WorkflowDeclaration, shape: CapacityShape): Path => ({
  workflow: declared.name,
  executions: executionsOf(declared, shape),
});

/** The executions of an undisturbed run, in order. */
export const PATHS = {
  provisionSlice: path(PROVISION_SLICE, 'gpu_slice'),
  provisionBaremetal: path(PROVISION_BAREMETAL, 'baremetal'),
  releaseSlice: path(RELEASE_ALLOCATION, 'gpu_slice'),
  releaseBaremetal: path(RELEASE_ALLOCATION, 'baremetal'),
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

export const pictureAt = ({ executions }: Path, at: Omit<Boundary, 'subject_id'>): Picture => {
  const index = executions.findIndex(({ step, execution }) => step === at.step && execution === at.execution);
  const recorded = at.point === 'committed' ? index + 1 : index;
  const acted = at.point === 'claimed' ? index : index + 1;
  return {
    step: (executions[recorded] ?? executions[index])?.step ?? '',
    is_done: recorded === executions.length,
    kinds: [...new Set(executions.slice(0, acted).flatMap(({ kind }) => kind ?? []))].sort(),
  };
};
