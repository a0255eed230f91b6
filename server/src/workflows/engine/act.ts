/**
 * Runs one step, without an open transaction. The step races its time limit. When the limit wins, the step's signal is
 * aborted and its later result is dropped, so a step that ignores its signal cannot write late.
 */
import type { Database } from '../../db/client.ts';
import { PLATFORM } from '../../db/client.ts';
import type { LeasedRun } from '../../db/workflow-run.ts';
import { listPendingSignals, type SignalRow } from '../../db/workflow-signal.ts';
import type { StepResult } from '../../domain/workflow.ts';
import { AppError } from '../../errors.ts';
import type { Commit, Outcome } from './outcome.ts';
import type { BoundWorkflow, Signals } from './workflow.ts';

export type Acted = Readonly<{ result: StepResult; commit: Commit | undefined; taken: readonly number[] }>;

const TEXT_MAX = 2_000;
const clean = (text: string): string => text.replaceAll('\0', '').slice(0, TEXT_MAX);

/** The message of an AppError is public; the text of any other exception is for operators. */
export const failureOf = (step: string, err: unknown): StepResult => ({
  kind: 'error',
  reason: clean(err instanceof AppError ? err.message : `Step ${step} failed.`),
  detail: clean(
    err instanceof AppError ? (err.details.internal ?? err.message) : String(err instanceof Error ? err.message : err),
  ),
});

/** A signal that came while the run was claimed may be counted and not among those read with it. */
const pendingOf = async (
  database: Database,
  { id, signals, signals_pending }: LeasedRun,
): Promise<readonly SignalRow[]> => {
  if (signals_pending === 0) return [];
  if (signals?.length === signals_pending) return signals;
  return database.readAtOnce(PLATFORM, (reader) => listPendingSignals(reader, id));
};

const signalsOf = (run: LeasedRun, pending: readonly SignalRow[], taken: number[]): Signals => ({
  take: (name) => {
    const found = pending.find((row) => row.name === name && !taken.includes(row.id));
    if (found !== undefined) taken.push(found.id);
    return found?.payload;
  },
  timedOut: (name) => run.waiting_for === name && run.signal_overdue && !pending.some((row) => row.name === name),
});

const TIMED_OUT = Symbol('timed out');

const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

export const act = async (
  context: Readonly<{ database: Database; bound: BoundWorkflow; run: LeasedRun; stopping: AbortSignal }>,
): Promise<Acted> => {
  const { database, bound, run, stopping } = context;
  const limitMs = Math.max(1, Math.min(bound.timeoutMs(run.step), run.deadline_in_ms));
  const expiry = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<typeof TIMED_OUT>((resolve) => {
    timer = setTimeout(
      () => {
        resolve(TIMED_OUT);
        expiry.abort(new Error(`step ${run.step} took longer than ${Math.round(limitMs)} ms`));
      },
      Math.min(limitMs, 2 ** 31 - 1),
    );
  });
  const stopped = abortOf(stopping);
  stopped.catch(() => {});
  const taken: number[] = [];
  try {
    const pending = await pendingOf(database, run);
    const step = bound.take(run.step, {
      run,
      signal: AbortSignal.any([expiry.signal, stopping]),
      signals: signalsOf(run, pending, taken),
    });
    // A step that lost the race may still fail later; the failure is ignored.
    step.catch(() => {});
    const outcome: Outcome<string> | typeof TIMED_OUT = await Promise.race([step, expired, stopped]);
    if (outcome === TIMED_OUT) {
      const reason = `Step ${run.step} took longer than ${Math.max(1, Math.round(limitMs / 1000))} s.`;
      return { result: { kind: 'timeout', reason, detail: null }, commit: undefined, taken: [] };
    }
    return { result: outcome, commit: 'commit' in outcome ? outcome.commit : undefined, taken };
  } catch (err) {
    return { result: failureOf(run.step, err), commit: undefined, taken: [] };
  } finally {
    clearTimeout(timer);
  }
};
