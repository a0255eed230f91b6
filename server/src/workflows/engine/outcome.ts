/** What a step gives back. A value, so that the engine and the tests can look at it before anything is written. */
import type { Tx } from '../../db/client.ts';

/** Runs in the transaction that moves the run: both happen or neither. It may run again when the database asks for it. */
export type Commit = (tx: Tx) => Promise<void>;

export type Outcome<Step extends string> =
  | Readonly<{ kind: 'next'; step: Step; commit: Commit | undefined }>
  | Readonly<{ kind: 'wait'; ms: number; reason: string }>
  | Readonly<{ kind: 'wait_for_signal'; name: string; timeout_ms: number; reason: string }>
  | Readonly<{ kind: 'done'; commit: Commit | undefined }>
  | Readonly<{ kind: 'stuck'; reason: string; commit: Commit | undefined }>;

/** Go on with another step. */
export const next = <const Step extends string>(step: Step, commit?: Commit): Outcome<Step> => ({
  kind: 'next',
  step,
  commit,
});

/** Take this step again after a while. The reason is what a user reads meanwhile. */
export const wait = (ms: number, reason: string): Outcome<never> => ({ kind: 'wait', ms, reason });

/** Take this step again when the signal arrives, or when the time is up: `signals` tells which. */
export const waitForSignal = (name: string, timeoutMs: number, reason: string): Outcome<never> => ({
  kind: 'wait_for_signal',
  name,
  timeout_ms: timeoutMs,
  reason,
});

export const done = (commit?: Commit): Outcome<never> => ({ kind: 'done', commit });

/** Stop here until an operator retries. The reason is for everybody who may see the run. */
export const stuck = (reason: string, commit?: Commit): Outcome<never> => ({ kind: 'stuck', reason, commit });
