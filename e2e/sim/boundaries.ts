/**
 * Every boundary of the workflows of an allocation, and what the database must show when a worker has died there. The
 * second half is what keeps the harness honest: a worker that died somewhere else leaves another picture.
 */
import type { Boundary } from './held-worker.ts';

type Execution = Pick<Boundary, 'step' | 'execution' | 'kind'>;
/** Before the step acts, after it acted, after its outcome was committed. */
const POINTS = ['claimed', 'acted', 'committed'] as const;

const host = (step: string, kind: string): Execution[] => [
  { step, kind, execution: 'ask' },
  { step, kind, execution: 'go_on' },
];
const alone = (step: string): Execution => ({ step, kind: null, execution: 'only' });

/** The executions of a run that nothing disturbs, in order. */
export const PATHS = {
  provisionSlice: {
    workflow: 'provision-slice',
    executions: [
      ...host('leaseBundle', 'slice.bundle_lease'),
      ...host('cloneImage', 'slice.image_clone'),
      ...host('startVm', 'slice.vm_start'),
      ...host('awaitReady', 'slice.vm_readiness'),
      alone('activate'),
    ],
  },
  provisionBaremetal: {
    workflow: 'provision-baremetal',
    executions: [...host('provisionUser', 'allocation.provision_user'), alone('activate')],
  },
  releaseSlice: {
    workflow: 'release-allocation',
    executions: [...host('stopRuntime', 'slice.vm_stop'), ...host('wipe', 'slice.cleanup'), alone('prove')],
  },
  releaseBaremetal: {
    workflow: 'release-allocation',
    executions: [
      ...host('stopRuntime', 'allocation.deprovision_user'),
      ...host('wipe', 'node.cleanup'),
      alone('prove'),
    ],
  },
} as const satisfies Record<string, Readonly<{ workflow: string; executions: readonly Execution[] }>>;
export type Path = (typeof PATHS)[keyof typeof PATHS];

export const boundariesOf = ({ workflow, executions }: Path): readonly Omit<Boundary, 'subject_id'>[] =>
  executions.flatMap((execution) => POINTS.map((point) => ({ workflow, point, ...execution })));

export type Picture = Readonly<{
  step: string;
  /** Whether the run is over. */
  is_done: boolean;
  /** What the run has asked of its host so far. */
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
