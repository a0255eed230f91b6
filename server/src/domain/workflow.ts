/**
 * The moves of a run, decided from values. `settle` takes the facts of a run and the outcome of its step and returns
 * the one move that follows; the engine only executes it. Cancellation and the deadline take effect between two steps:
 * a step that ended the run wins over both, because its work is done.
 *
 * There is no automatic undo. A workflow that must clean up names a step for it (`onCancel`, `onDeadline`,
 * `onFailure`); the run then winds up through ordinary steps, once, with the same time limit again.
 */
import { LIVE_WORKFLOW_STATES, type StepOutcome } from '@gpuaas/contract';
import type { EventData } from '@gpuaas/contract/events';
import { invariant } from '@gpuaas/kit/invariant';
import { REASONS } from './reasons.ts';
import { done, type Refusal, refused } from './refusal.ts';
import { REFUSALS } from './sentences.ts';

export type WorkflowState = EventData<'workflow_run.changed'>['state'];
export type Winding = 'cancel' | 'deadline' | 'failure';

export const workflowMoves = {
  pending: ['running', 'stuck'],
  running: ['running', 'pending', 'waiting', 'done', 'stuck', 'cancelled'],
  waiting: ['running', 'stuck'],
  stuck: ['pending', 'cancelled'],
  done: [],
  cancelled: [],
} as const satisfies Record<WorkflowState, readonly WorkflowState[]>;

/** States in which a worker still picks up the run. `stuck` is an end that an operator may undo. */
export const isLive = (state: WorkflowState): boolean => (LIVE_WORKFLOW_STATES as readonly string[]).includes(state);

/** Why a run cannot be retried or cancelled now. */
export const retryRefusal = ({ state }: Readonly<{ state: WorkflowState }>): Refusal | null =>
  state === 'stuck' ? null : refused(`Only a stuck run can be retried; this one is ${state}.`);

export const cancelRefusal = (run: Readonly<{ state: WorkflowState; is_cancelling: boolean }>): Refusal | null => {
  if (!isLive(run.state)) return refused(REFUSALS.run_ended);
  return run.is_cancelling ? done('Cancellation is already requested.') : null;
};

export type RunFacts = Readonly<{
  step: string;
  attempt: number;
  /** How often in a row a worker stopped while it ran this step. Not a failure of the step. */
  workers_lost: number;
  /** How many of them stopped while it ran alone and other runs went on: the run may be the cause. */
  workers_killed: number;
  winding: Winding | null;
  cancel_requested: boolean;
  cancel_reason: string | null;
  overdue: boolean;
  state_detail: string | null;
}>;

/**
 * A run that may have stopped this many workers becomes stuck. The first loss may be the fault of another run; from then on
 * the run is executed alone, and a loss counts while other runs go on. In a crash loop none does, and no run is the cause.
 */
export const WORKERS_KILLED_MAX = 4;
/** After this many losses in a row a run is stuck in any case. */
export const WORKERS_LOST_MAX = 25;

const stopsWorkers = ({ workers_killed, workers_lost }: RunFacts): boolean =>
  workers_killed >= WORKERS_KILLED_MAX || workers_lost >= WORKERS_LOST_MAX;

export type Plan = Readonly<{
  onCancel: string | null;
  onDeadline: string | null;
  onFailure: string | null;
  attemptsMax: number;
  retryDelayMs(attempt: number): number;
}>;

export type StepResult =
  | Readonly<{ kind: 'next'; step: string; failed?: string }>
  | Readonly<{ kind: 'wait'; ms: number; reason: string }>
  | Readonly<{ kind: 'wait_for_signal'; name: string; timeout_ms: number; reason: string }>
  | Readonly<{ kind: 'done'; failed?: string }>
  | Readonly<{ kind: 'stuck'; reason: string }>
  | Readonly<{ kind: 'error' | 'timeout'; reason: string; detail: string | null }>
  /** No step ran: the run was found at a boundary that it must not pass. */
  | Readonly<{ kind: 'boundary' }>;

export type TimelineEntry = Readonly<{
  step: string;
  attempt: number;
  outcome: StepOutcome;
  detail: string | null;
  internal_detail: string | null;
}>;

export type Wake =
  | Readonly<{ kind: 'timer'; ms: number }>
  | Readonly<{ kind: 'signal'; name: string; ms: number }>
  /** Like a timer, but the run still waits for the earlier signal. */
  | Readonly<{ kind: 'retry'; ms: number }>;

export type Move = Readonly<{
  /** A step is settled while its run is `running`. */
  state: (typeof workflowMoves)['running'][number];
  step: string;
  attempt: number;
  reason: string | null;
  detail: string | null;
  wake: Wake | null;
  winding: Winding | null;
  /** The cleanup gets as much time as the run had. */
  extend_deadline: boolean;
  entries: readonly TimelineEntry[];
}>;

type NextMove = Omit<Move, 'entries'>;

const rest = { wake: null, extend_deadline: false, detail: null } as const;

const windUp = (step: string, winding: Winding, reason: string, detail: string | null): NextMove => ({
  ...rest,
  state: 'running',
  step,
  attempt: 1,
  reason,
  detail,
  winding,
  extend_deadline: true,
});

const end = (
  facts: RunFacts,
  state: 'done' | 'stuck' | 'cancelled',
  reason: string | null,
  detail?: string | null,
): NextMove => ({
  ...rest,
  state,
  step: facts.step,
  attempt: facts.attempt,
  reason,
  detail: detail ?? null,
  winding: facts.winding,
});

/** What stops a run at the boundary before `at`, if anything. */
const interruption = (facts: RunFacts, plan: Plan, at: string): Move | undefined => {
  const entry = (outcome: StepOutcome, detail: string): TimelineEntry[] => [
    { step: at, attempt: 0, outcome, detail, internal_detail: null },
  ];
  const here = { ...facts, step: at };
  if (facts.winding === null && facts.cancel_requested) {
    const reason = facts.cancel_reason ?? REASONS.cancel_requested;
    const turn =
      plan.onCancel === null ? end(here, 'cancelled', reason) : windUp(plan.onCancel, 'cancel', reason, null);
    return { ...turn, entries: entry('cancelled', reason) };
  }
  if (!facts.overdue) return undefined;
  if (facts.winding !== null) {
    const reason = `Cleanup missed its deadline at step ${at}.`;
    return { ...end(here, 'stuck', reason), entries: entry('timeout', reason) };
  }
  const reason = `The deadline passed at step ${at}.`;
  const turn =
    plan.onDeadline === null ? end(here, 'stuck', reason) : windUp(plan.onDeadline, 'deadline', reason, null);
  return { ...turn, entries: entry('timeout', reason) };
};

const outOfAttempts = (facts: RunFacts, plan: Plan, detail: string | null): NextMove => {
  const reason = `Step ${facts.step} did not succeed in ${facts.attempt} attempts.`;
  return plan.onFailure === null || facts.winding !== null
    ? end(facts, 'stuck', reason, detail)
    : windUp(plan.onFailure, 'failure', reason, detail);
};

const afterFailure = (
  facts: RunFacts,
  plan: Plan,
  result: Readonly<{ reason: string; detail: string | null }>,
): NextMove =>
  facts.attempt >= plan.attemptsMax
    ? outOfAttempts(facts, plan, result.detail ?? result.reason)
    : {
        ...rest,
        state: 'waiting',
        step: facts.step,
        attempt: facts.attempt,
        reason: `${result.reason} It is being retried (attempt ${facts.attempt} of ${plan.attemptsMax}).`,
        detail: result.detail,
        wake: { kind: 'retry', ms: plan.retryDelayMs(facts.attempt) },
        winding: facts.winding,
      };

/** No cleanup step: it would run in the process that this run may kill. */
const outOfWorkers = (facts: RunFacts): NextMove =>
  end(
    facts,
    'stuck',
    `The worker process stopped ${facts.workers_lost} times while it ran step ${facts.step} of this run alone. Find the cause in the log of the workers that the timeline names, then retry the run.`,
    facts.state_detail,
  );

const afterDone = (facts: RunFacts, failed: string | null): NextMove => {
  if (facts.winding === null) return end(facts, 'done', failed);
  if (facts.winding === 'cancel') return end(facts, 'cancelled', facts.cancel_reason ?? REASONS.cancel_requested);
  return end(
    facts,
    'done',
    facts.winding === 'deadline' ? 'Cleaned up after its deadline.' : 'Cleaned up after a failure.',
  );
};

const proceed = (facts: RunFacts, plan: Plan, result: StepResult): NextMove => {
  const here = { ...rest, step: facts.step, winding: facts.winding };
  switch (result.kind) {
    case 'next':
      return { ...here, state: 'running', step: result.step, attempt: 1, reason: null };
    case 'wait':
      return { ...here, state: 'waiting', attempt: 0, reason: result.reason, wake: { kind: 'timer', ms: result.ms } };
    case 'wait_for_signal': {
      const wake = { kind: 'signal', name: result.name, ms: result.timeout_ms } as const;
      return { ...here, state: 'waiting', attempt: 0, reason: result.reason, wake };
    }
    case 'done':
      return afterDone(facts, result.failed ?? null);
    case 'stuck':
      return end(facts, 'stuck', result.reason);
    case 'error':
    case 'timeout':
      return afterFailure(facts, plan, result);
    case 'boundary':
      return outOfWorkers(facts);
  }
};

const entryOf = (facts: RunFacts, result: StepResult): TimelineEntry[] => {
  if (result.kind === 'boundary') return [];
  const isOver = result.kind === 'next' || result.kind === 'done';
  const failed = isOver ? (result.failed ?? null) : null;
  const outcome = failed !== null ? 'failed' : result.kind === 'wait_for_signal' ? 'wait' : result.kind;
  const detail = isOver ? failed : result.reason;
  const internal = result.kind === 'error' || result.kind === 'timeout' ? result.detail : null;
  return [{ step: facts.step, attempt: facts.attempt, outcome, detail, internal_detail: internal }];
};

/** True when a claimed run must be settled before its step may run. */
export const isHeldAtBoundary = (facts: RunFacts): boolean =>
  stopsWorkers(facts) || facts.overdue || (facts.cancel_requested && facts.winding === null);

export const settle = (facts: RunFacts, plan: Plan, result: StepResult): Move => {
  const entries = entryOf(facts, result);
  const isEnding = result.kind === 'done' || result.kind === 'stuck';
  const cut = isEnding ? undefined : interruption(facts, plan, result.kind === 'next' ? result.step : facts.step);
  if (cut !== undefined) return { ...cut, entries: [...entries, ...cut.entries] };
  invariant(
    result.kind !== 'boundary' || stopsWorkers(facts),
    'a run may settle without running only at a step boundary',
  );
  const turn = proceed(facts, plan, result);
  const gaveUp = result.kind === 'boundary' && turn.reason !== null;
  return {
    ...turn,
    entries: gaveUp
      ? [
          {
            step: facts.step,
            attempt: facts.attempt,
            outcome: 'stuck',
            detail: turn.reason,
            internal_detail: turn.detail,
          },
        ]
      : entries,
  };
};
