/**
 * The declaration of a workflow: its steps in order, each with its label, usual time and host task. It is pure data, so
 * that API, trace, documents, tests and mock API derive what they show from the same declaration that the engine runs.
 */
import type { WORKFLOW_PHASES } from '@gpuaas/contract';
import type { TaskKind } from '@gpuaas/contract/node';

export type CapacityShape = 'baremetal' | 'gpu_slice';

/** The purpose of a run. */
export type Phase = (typeof WORKFLOW_PHASES)[number];

/** The task kind, by capacity shape where shapes differ. */
export type HostTask = TaskKind | Readonly<Record<CapacityShape, TaskKind>>;

/** Tenants read these texts: none names a host, a device or an address. */
type StepTexts = Readonly<{
  /** What the step does, as an imperative. */
  label: string;
  /** Usual duration in seconds; measured durations replace it where there is history. */
  usual_s: number;
  /** Outside the usual path: run only after a failure or because of a blocker. */
  is_off_path?: true;
}>;

/** A step without a host task. */
export type ServerStep = StepTexts & Readonly<{ task: null }>;
/** A step that runs one host task and waits for its result. */
export type HostStep = StepTexts &
  Readonly<{
    task: HostTask;
    /** Shown while the step waits. */
    doing: string;
    /** Why the run stopped, when the host task failed. */
    failed: string;
  }>;
export type StepDeclaration = ServerStep | HostStep;

export type WorkflowDeclaration<Step extends string = string> = Readonly<{
  name: string;
  /**
   * Raised when live runs of the old steps could not continue with the new ones; both versions are registered
   * meanwhile.
   */
  version: number;
  /** What a run does, in one word. */
  label: string;
  phase: Phase;
  /** In the order of an undisturbed run; the first is the start. */
  steps: { readonly [K in Step]: StepDeclaration };
}>;

/** A property that steps do not have, such as a misspelled flag, does not compile. */
type Exact<D extends WorkflowDeclaration> = {
  readonly [K in keyof D['steps']]: Readonly<Record<Exclude<keyof D['steps'][K], keyof HostStep>, never>>;
};

export const declare = <const D extends WorkflowDeclaration>(declaration: D & Readonly<{ steps: Exact<D> }>): D =>
  declaration;

export type StepOf<D extends WorkflowDeclaration> = Extract<keyof D['steps'], string>;
type KindOf<T> = T extends string ? T : T extends Readonly<Record<CapacityShape, string>> ? T[CapacityShape] : never;
/** Every task kind of a declaration, as a type: a table over it cannot lack one. */
export type TaskKindOf<D extends WorkflowDeclaration> = D extends WorkflowDeclaration
  ? KindOf<D['steps'][keyof D['steps']]['task']>
  : never;

/** The task kind of a step; null without a host task. */
export const taskKindOf = ({ task }: StepDeclaration, shape: CapacityShape): TaskKind | null =>
  task === null || typeof task === 'string' ? task : task[shape];

export const stepEntries = ({ steps }: WorkflowDeclaration): readonly (readonly [string, StepDeclaration])[] =>
  Object.entries(steps);

/** The steps of an undisturbed run, in order. */
export const pathOf = (declaration: WorkflowDeclaration): readonly (readonly [string, StepDeclaration])[] =>
  stepEntries(declaration).filter(([, { is_off_path }]) => is_off_path !== true);
