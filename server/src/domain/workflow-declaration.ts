/**
 * What is declared of a workflow before any of it runs: its steps in order, each with its words for people, its usual
 * time and the host task it asks for. Pure data, so that the API, the trace, the documents, the tests and the mock API
 * derive what they show from the same declaration that the engine runs.
 */
import type { WORKFLOW_PHASES } from '@gpuaas/contract';
import type { TaskKind } from '@gpuaas/contract/node';

export type CapacityShape = 'baremetal' | 'gpu_slice';

/** What a run is for. */
export type Phase = (typeof WORKFLOW_PHASES)[number];

/** The kind of task, by the shape of the allocation where shapes differ. */
export type HostTask = TaskKind | Readonly<Record<CapacityShape, TaskKind>>;

/** Tenants read every word here: none names a host, a device or an address. */
type Words = Readonly<{
  /** What the step does, as an imperative. */
  label: string;
  /** How long it usually takes, in seconds; what hosts really took replaces it where there is history. */
  usual_s: number;
  /** Outside the straight path: taken only when something went wrong or is in the way. */
  is_off_path?: true;
}>;

/** A step that the server does alone. */
export type ServerStep = Words & Readonly<{ task: null }>;
/** A step that asks a host for one task and waits for its result. */
export type HostStep = Words &
  Readonly<{
    task: HostTask;
    /** Shown while the step waits. */
    doing: string;
    /** Why the run stopped, when the host could not do it. */
    failed: string;
  }>;
export type StepDeclaration = ServerStep | HostStep;

export type WorkflowDeclaration<Step extends string = string> = Readonly<{
  name: string;
  /** Raised when live runs of the old steps could not go on with the new ones; both versions are registered meanwhile. */
  version: number;
  /** What a run does, as one word for people. */
  label: string;
  phase: Phase;
  /** In the order in which an undisturbed run takes them; the first is where a run starts. */
  steps: { readonly [K in Step]: StepDeclaration };
}>;

export const declare = <const D extends WorkflowDeclaration>(declaration: D): D => declaration;

export type StepOf<D extends WorkflowDeclaration> = Extract<keyof D['steps'], string>;
type KindOf<T> = T extends string ? T : T extends Readonly<Record<CapacityShape, string>> ? T[CapacityShape] : never;
/** Every kind of task that a declaration asks for, as a type: a table over it cannot lack one. */
export type TaskKindOf<D extends WorkflowDeclaration> = D extends WorkflowDeclaration
  ? KindOf<D['steps'][keyof D['steps']]['task']>
  : never;

/** The kind of task that a step asks a host for; null where no host is asked. */
export const taskKindOf = ({ task }: StepDeclaration, shape: CapacityShape): TaskKind | null =>
  task === null || typeof task === 'string' ? task : task[shape];

export const stepEntries = ({ steps }: WorkflowDeclaration): readonly (readonly [string, StepDeclaration])[] =>
  Object.entries(steps);

/** The steps of a run that nothing disturbs, in order. */
export const pathOf = (declaration: WorkflowDeclaration): readonly (readonly [string, StepDeclaration])[] =>
  stepEntries(declaration).filter(([, { is_off_path }]) => is_off_path !== true);
