/**
 * Starts, signals and cancels runs inside the caller's transaction: the run exists exactly when the change that needs
 * it does. A worker is woken after the commit.
 */

import { invariant, mintId } from '@gpuaas/kit';
import type { Tx } from '../../db/client.ts';
import { insertOutboxEvent, type NewOutboxEvent } from '../../db/outbox.ts';
import { insertSignal } from '../../db/statements/signal-run.ts';
import {
  endReplacedRuns,
  findLiveRun,
  insertRun,
  type NewRun,
  requestCancel,
  restartRun,
  type WorkflowRunRow,
} from '../../db/workflow-run.ts';
import { findRun } from '../../db/workflow-run-view.ts';
import { insertStep } from '../../db/workflow-step.ts';
import { REASONS } from '../../domain/reasons.ts';
import { REFUSALS } from '../../domain/sentences.ts';
import { retryRefusal } from '../../domain/workflow.ts';
import { conflict, notFound } from '../../errors.ts';
import type { Startable } from './workflow.ts';

type ChangedRun = Pick<
  WorkflowRunRow,
  'id' | 'workflow' | 'subject_id' | 'organization_id' | 'project_id' | 'correlation_id' | 'step' | 'state'
>;

/** The event of a run with a new state. */
export const runChanged = (run: ChangedRun) =>
  ({
    event_type: 'workflow_run.changed',
    organization_id: run.organization_id,
    project_id: run.project_id,
    subject: run.id,
    correlation_id: run.correlation_id,
    data: {
      workflow_run_id: run.id,
      workflow: run.workflow,
      subject_id: run.subject_id,
      step: run.step,
      state: run.state,
    },
  }) satisfies NewOutboxEvent;

/** Writes the run's new state to the outbox of the current transaction. Deferred to the commit. */
export const emitRunChanged = (tx: Tx, run: ChangedRun): void => tx.defer(insertOutboxEvent(tx, runChanged(run)));

export type StartRun = Readonly<{
  workflow: Startable;
  subject_id: string;
  organization_id: string | null;
  project_id: string | null;
  correlation_id: string;
  /** Another step than the workflow's first. */
  first_step?: string;
  /** Milliseconds until the deadline; the workflow's default when absent. */
  deadline_ms?: number | undefined;
}>;

/** The row of a run about to start. A caller that inserts it with its own statement also emits its event. */
export const newRun = (start: StartRun): NewRun => ({
  id: mintId('wfr'),
  workflow: start.workflow.name,
  workflow_version: start.workflow.version,
  subject_id: start.subject_id,
  organization_id: start.organization_id,
  project_id: start.project_id,
  correlation_id: start.correlation_id,
  steps: start.workflow.stepNames,
  step: start.first_step ?? start.workflow.first,
  deadline_ms: start.deadline_ms ?? start.workflow.deadlineMs,
});

/** Undefined when a run of this workflow for this subject is live. */
export const startNewRun = async (tx: Tx, start: StartRun): Promise<WorkflowRunRow | undefined> => {
  const inserted = await insertRun(tx, newRun(start));
  if (inserted === undefined) return undefined;
  for (const run of [...(await endReplacedRuns(tx, inserted)), inserted]) emitRunChanged(tx, run);
  tx.wake();
  return inserted;
};

/** Returns a live run of this workflow for this subject unchanged: starting twice has no effect. */
export const startRun = async (tx: Tx, start: StartRun): Promise<WorkflowRunRow> => {
  // The conflicting run may end before it is read; then a new one can start.
  for (let attempt = 0; attempt < 5; attempt++) {
    const started = await startNewRun(tx, start);
    if (started !== undefined) return started;
    const live = await findLiveRun(tx, start.workflow.name, start.subject_id);
    if (live !== undefined) return live;
  }
  invariant(false, `a live run of ${start.workflow.name} for ${start.subject_id} can be neither read nor replaced`);
};

/** False when the run has ended. */
export const signalRun = async (
  tx: Tx,
  signal: Readonly<{ run_id: string; name: string; payload?: object }>,
): Promise<boolean> => {
  const inserted = await insertSignal(tx, { run_id: signal.run_id, name: signal.name, payload: signal.payload ?? {} });
  if (inserted) tx.wake();
  return inserted;
};

/** Takes effect between steps. Repeating it has no effect. */
export const cancelRun = async (
  tx: Tx,
  cancel: Readonly<{ run_id: string; reason?: string | undefined }>,
): Promise<WorkflowRunRow> => {
  const run = await requestCancel(tx, cancel.run_id, cancel.reason ?? null);
  if (run === undefined) {
    if ((await findRun(tx, cancel.run_id)) === undefined) throw notFound('workflow run');
    throw conflict(REFUSALS.run_ended);
  }
  tx.wake();
  return run;
};

export const retryRun = async (
  tx: Tx,
  retry: Readonly<{ run_id: string; step?: string | undefined }>,
): Promise<WorkflowRunRow> => {
  const before = await findRun(tx, retry.run_id);
  if (before === undefined) throw notFound('workflow run');
  const refusal = retryRefusal(before);
  if (refusal !== null) throw conflict(refusal.reason);
  if (retry.step !== undefined && !before.steps.includes(retry.step))
    throw conflict(REFUSALS.run_without_step(before.workflow, retry.step, before.steps));
  const run = await restartRun(tx, retry.run_id, retry.step ?? null);
  if (run === undefined) throw conflict('A later run for the same subject replaced it.');
  tx.defer(
    insertStep(
      tx,
      { id: run.id, organization_id: run.organization_id, sequence: run.step_count, started_at: null },
      { step: run.step, attempt: 0, outcome: 'retried', detail: REASONS.run_retried, internal_detail: null },
    ),
  );
  emitRunChanged(tx, run);
  tx.wake();
  return run;
};
