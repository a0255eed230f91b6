/** Builds the result of a task, with secrets removed from its reason. */
import type { TaskPayload, TaskResult } from '@gpuaas/contract/node';
import { type Log, redactText } from '@gpuaas/kit';
import type { Outcome } from './execute.ts';
import type { HostError } from './host/host.ts';

type Times = Readonly<{ started_at: string | null; finished_at: Date }>;
type Failure = HostError | Readonly<{ code: 'expired'; message: string }>;

export const EXPIRED: Failure = { code: 'expired', message: 'The task expired before it started.' };

const resultOf = (
  payload: TaskPayload,
  times: Times,
  outcome: Pick<TaskResult, 'state' | 'error_code' | 'reason' | 'output'>,
): TaskResult => ({
  attempt: payload.attempt,
  ...outcome,
  reason: outcome.reason === null ? null : redactText(outcome.reason).slice(0, 2000),
  started_at: times.started_at,
  finished_at: times.finished_at.toISOString(),
});

export const failureOf = (payload: TaskPayload, times: Times, err: Failure): TaskResult =>
  resultOf(payload, times, {
    state: 'failed',
    error_code: err.code,
    reason: err.message,
    output: 'output' in err ? err.output : null,
  });

/** Undefined: the agent stopped the task and starts it again at its next start. */
export const buildResult = (
  payload: TaskPayload,
  startedAt: string,
  outcome: Outcome,
  now: () => Date,
  log: Log,
): TaskResult | undefined => {
  if (outcome.kind === 'stopped') return undefined;
  const times = { started_at: startedAt, finished_at: now() };
  if (outcome.kind === 'completed')
    return resultOf(payload, times, { state: 'completed', error_code: null, reason: null, output: outcome.output });
  if (outcome.cause !== outcome.error) log.error({ err: outcome.cause }, 'task handler threw an unexpected error');
  return failureOf(payload, times, outcome.error);
};
