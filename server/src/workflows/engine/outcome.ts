/** The outcome of a step, as a value: the engine and the tests can inspect it before anything is written. */
import type { Tx } from '../../db/client.ts';
import type { WorkflowRunRow } from '../../db/workflow-run.ts';

/** What a commit records its changes under. */
export type CommittingRun = Pick<WorkflowRunRow, 'id' | 'correlation_id'>;

/** Runs in the transaction that moves the run. It may run again after a serialization failure. */
export type Commit = (tx: Tx, run: CommittingRun) => Promise<void>;

export type Outcome<Step extends string> =
  | Readonly<{ kind: 'next'; step: Step; commit: Commit | undefined; failed?: string }>
  | Readonly<{ kind: 'wait'; ms: number; reason: string }>
  | Readonly<{ kind: 'wait_for_signal'; name: string; timeout_ms: number; reason: string }>
  | Readonly<{ kind: 'done'; commit: Commit | undefined; failed?: string }>
  | Readonly<{ kind: 'stuck'; reason: string; commit: Commit | undefined }>;

/** Continue with another step. */
export const next = <const Step extends string>(step: Step, commit?: Commit): Outcome<Step> => ({
  kind: 'next',
  step,
  commit,
});

/** Run this step again after a delay. Users see the reason meanwhile. */
export const wait = (ms: number, reason: string): Outcome<never> => ({ kind: 'wait', ms, reason });

/** Run this step again when the signal arrives or the time is up; `signals` says which. */
export const waitForSignal = (name: string, timeoutMs: number, reason: string): Outcome<never> => ({
  kind: 'wait_for_signal',
  name,
  timeout_ms: timeoutMs,
  reason,
});

export const done = (commit?: Commit): Outcome<never> => ({ kind: 'done', commit });

/** The step failed, and the run continues with another one. The timeline shows the reason. */
export const failedNext = <const Step extends string>(step: Step, failed: string, commit?: Commit): Outcome<Step> => ({
  kind: 'next',
  step,
  commit,
  failed,
});

/** The step failed, and the run has handled it: nothing is left for an operator. The reason stays with the run. */
export const failedDone = (failed: string, commit?: Commit): Outcome<never> => ({ kind: 'done', commit, failed });

/** Stop until an operator retries. Everyone who may see the run sees the reason. */
export const stuck = (reason: string, commit?: Commit): Outcome<never> => ({ kind: 'stuck', reason, commit });
