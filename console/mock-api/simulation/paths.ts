/**
 * The runs of the mock by their steps, as the server declares them. A step takes a twelfth of its usual time: a launch
 * takes about 12 seconds, so that a visitor of the demo sees its end.
 */
import type { TaskKind } from '@gpuaas/contract/node';
import {
  type CapacityShape,
  pathOf,
  taskKindOf,
  type WorkflowDeclaration,
} from '../../../server/src/domain/workflow-declaration.ts';
import { RELEASE_ALLOCATION, WORKFLOWS } from '../../../server/src/domain/workflow-steps.ts';
import type { PathStep } from '../core/rows.ts';

const FASTER = 12;
const HOST_STEP_S = { min: 1, max: 6 } as const;
const SERVER_STEP_S = 0.3;
const DISK_BYTES = 3_840_755_982_336;

/** The bytes that a task of this kind moves; its speed is shown. */
const TASK_BYTES: Readonly<Partial<Record<TaskKind, number>>> = {
  'slice.image_clone': 20 * 1024 ** 3,
  'slice.cleanup': DISK_BYTES,
  'node.cleanup': DISK_BYTES,
};

const stepsOf = (declaration: WorkflowDeclaration, shape: CapacityShape): readonly PathStep[] =>
  pathOf(declaration).map(([step, declared]) => {
    const kind = taskKindOf(declared, shape);
    if (kind === null) return { step, label: declared.label, kind, seconds: SERVER_STEP_S };
    const seconds = Math.min(HOST_STEP_S.max, Math.max(HOST_STEP_S.min, declared.usual_s / FASTER));
    const bytes = TASK_BYTES[kind];
    return { step, label: declared.label, kind, seconds, ...(bytes === undefined ? {} : { bytes }) };
  });

type WorkflowName = (typeof WORKFLOWS)[number]['name'];
export type PathName = WorkflowName | 'release-baremetal';

export const PATHS: Readonly<Record<PathName, readonly PathStep[]>> = {
  ...(Object.fromEntries(WORKFLOWS.map((one) => [one.name, stepsOf(one, 'gpu_slice')])) as Record<
    WorkflowName,
    readonly PathStep[]
  >),
  'release-baremetal': stepsOf(RELEASE_ALLOCATION, 'baremetal'),
};

/** A release of a whole node has other tasks under the same name. */
export const workflowOf = (path: PathName): string => (path === 'release-baremetal' ? 'release-allocation' : path);

/** The step at which a run fails if its host fails, and the step at which it fails if the server cannot end it. */
export const lastHostStep = (path: PathName): string => PATHS[path].findLast(({ kind }) => kind !== null)?.step ?? '';
export const lastStep = (path: PathName): string => PATHS[path].at(-1)?.step ?? '';
