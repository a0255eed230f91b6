/**
 * Records how a step ended, in one transaction: the fence, the step's commit, the move of the run, its timeline entry
 * and its event. The run is locked before the decision, so a cancellation or signal that came during the step is seen.
 * A worker that lost its lease writes nothing.
 */
import { invariant } from '@gpuaas/kit';
import { type Database, PLATFORM, type Tx } from '../../db/client.ts';
import { type LastEntry, type LeasedRun, lockLeasedRun, moveRun } from '../../db/workflow-run.ts';
import { consumeSignals, listPendingSignals } from '../../db/workflow-signal.ts';
import { insertStep, prolongStep } from '../../db/workflow-step.ts';
import { type Move, settle } from '../../domain/workflow.ts';
import type { Acted } from './act.ts';
import { emitRunChanged } from './run.ts';
import type { BoundWorkflow } from './workflow.ts';

/** The run belongs to another worker. Never an error of the step. */
export class LeaseLost extends Error {
  override name = 'LeaseLost';
}

export type Recording = Readonly<{
  database: Database;
  bound: BoundWorkflow;
  run: LeasedRun;
  acted: Acted;
  lease_ms: number;
  /** False while the worker stops: another worker runs the next step. */
  go_on: boolean;
  /** Called inside the transaction, after the step's commit; tests make it fail. */
  committing?: (() => Promise<void>) | undefined;
}>;

const repeatsWait = (run: LastEntry, move: Move): boolean => {
  const [entry, ...more] = move.entries;
  return (
    more.length === 0 &&
    entry?.outcome === 'wait' &&
    run.last_outcome === 'wait' &&
    run.last_step === entry.step &&
    run.last_detail === entry.detail
  );
};

const writeTimeline = (tx: Tx, run: LeasedRun, move: Move): void => {
  move.entries.forEach((entry, index) => {
    // Only the step that ran has a duration; later entries of the same move are notes.
    const started = entry.attempt > 0 && index === 0 ? run.attempt_started_at : null;
    const place = { id: run.id, organization_id: run.organization_id, sequence: run.step_count + index + 1 };
    tx.defer(insertStep(tx, { ...place, started_at: started }, entry));
  });
};

type Written = Readonly<{
  /** Deferred: it is sent with the commit. */
  moved: Promise<LeasedRun | undefined>;
}>;

const write = async (tx: Tx, recording: Recording): Promise<Written> => {
  const { acted, bound } = recording;
  const run = await lockLeasedRun(tx, recording.run);
  if (run === undefined) throw new LeaseLost(`run ${recording.run.id} is no longer held by this worker`);

  const settled = settle(run, bound.plan, acted.result);
  const move: Move =
    settled.state === 'running' && !recording.go_on ? { ...settled, state: 'pending', attempt: 0 } : settled;
  const awaited = move.wake?.kind === 'signal' ? move.wake.name : undefined;

  if (acted.commit) await acted.commit(tx, run);
  await recording.committing?.();

  const consumed = acted.taken.length;
  if (consumed > 0) tx.defer(consumeSignals(tx, run.id, acted.taken));
  const pending = awaited === undefined || run.signals_pending <= consumed ? [] : await listPendingSignals(tx, run.id);
  const repeats = repeatsWait(run, move);

  if (repeats) tx.defer(prolongStep(tx, run.id, run.step_count));
  else writeTimeline(tx, run, move);
  const moved = moveRun(tx, run, move, {
    lease_ms: recording.lease_ms,
    consumed,
    entries_added: repeats ? 0 : move.entries.length,
    due_now: pending.some((signal) => signal.name === awaited),
    keep_signal_deadline: awaited !== undefined && awaited === run.waiting_for && !run.signal_overdue,
  });
  tx.defer(moved);
  if (!repeats) emitRunChanged(tx, { ...run, step: move.step, state: move.state });
  return { moved };
};

/** The run after the move. Throws LeaseLost when the lease was lost; then nothing was written. */
export const record = async (recording: Recording): Promise<LeasedRun> => {
  const { moved } = await recording.database.write(PLATFORM, (tx) => write(tx, recording));
  const run = await moved;
  invariant(run !== undefined, `run ${recording.run.id} is moved while it is locked`);
  return run;
};
