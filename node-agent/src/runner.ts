/**
 * Runs accepted tasks: asks the control plane whether to start, journals, acts, journals the result and reports it.
 * Each step is journaled before the next, so the process may end anywhere: `resume` continues from the journal.
 */
import { setTimeout as timeout } from 'node:timers/promises';
import { TASKS, type TaskKind, type TaskPayload, type TaskResult } from '@gpuaas/contract/node';
import type { Log } from '@gpuaas/kit';
import { ControlPlaneError } from './control-plane/errors.ts';
import type { TaskApi } from './control-plane/task-api.ts';
import { execute, Stopping } from './execute.ts';
import { type Host, HostError } from './host/host.ts';
import { type Journal, slotsOf, type TaskRecord } from './journal.ts';
import { createProgressReporter } from './progress-reporter.ts';
import { createQueue } from './queue.ts';
import { createResultReporter } from './result-reporter.ts';
import { DEFAULT_RETRY, type RetrySettings, untilResponse } from './send-result.ts';
import { buildResult, EXPIRED, failureOf } from './task-result.ts';
import type { TaskContext, TaskHandlers } from './tasks/task.ts';

/** The points between two journal writes where crash tests stop the agent. */
export type Boundary = 'accepted' | 'allowed' | 'begun' | 'acted' | 'finished' | 'reported' | 'acknowledged';

export type RunnerOptions = Readonly<{
  node_id: string;
  state: string;
  host: Host;
  handlers: TaskHandlers;
  journal: Journal;
  api: TaskApi;
  log: Log;
  now: () => Date;
  limits_s?: Partial<Readonly<Record<TaskKind, number>>>;
  concurrent_max?: number;
  retry?: RetrySettings;
  progress_every_ms?: number;
  /** How long an aborted task may take to end before its result is reported without waiting. */
  grace_ms?: number;
  at?: (boundary: Boundary, taskId: string) => void;
}>;

export type Runner = Readonly<{
  /** A task that the journal has accepted. */
  begin(taskId: string): void;
  /** Reports the result of a finished task again, unless a report is in progress. */
  repeat(taskId: string): void;
  resume(): void;
  cancel(taskId: string): void;
  idle(): Promise<void>;
  /** Running tasks are aborted and stay begun in the journal. */
  stop(): Promise<void>;
}>;

/** Work on one slot, one disk or one allocation runs in order. */
const keysOf = (payload: TaskPayload): string[] => {
  const { disks } = payload.params as { disks?: { serial: string }[] };
  return [
    ...slotsOf(payload).flatMap((slot) => [`slot:${slot.slot_id}`, `disk:${slot.nvme_serial}`]),
    ...(disks ?? []).map((disk) => `disk:${disk.serial}`),
    ...(payload.allocation_id === null ? [] : [`allocation:${payload.allocation_id}`]),
  ];
};

const cancelled = (): HostError => new HostError('conflict', 'The control plane cancelled the task while it ran.');

export const createRunner = (options: RunnerOptions): Runner => {
  const { journal, now } = options;
  const retry = options.retry ?? DEFAULT_RETRY;
  const queue = createQueue(options.concurrent_max ?? 16);
  const stopping = new AbortController();
  const held = new Map<string, AbortController>();
  const at = options.at ?? (() => {});
  const graceMs = options.grace_ms ?? 10_000;
  const reporter = createResultReporter({ ...options, patience: retry, signal: stopping.signal, at });

  const logOf = (payload: TaskPayload): Log =>
    options.log.child({
      task_id: payload.task_id,
      kind: payload.kind,
      correlation_id: payload.correlation_id,
      ...(payload.allocation_id === null ? {} : { allocation_id: payload.allocation_id }),
    });

  const finish = async (payload: TaskPayload, result: TaskResult, log: Log): Promise<void> => {
    const isWritten = await journal.finish(payload.task_id, result);
    if (!isWritten)
      log.error('failed to write result to journal; reporting it anyway and writing it when space is free');
    at('finished', payload.task_id);
    const { state, error_code, reason } = result;
    log[state === 'completed' ? 'info' : 'warn']({ state, error_code, reason }, 'task finished');
    reporter.report(payload, result, log);
  };

  /** Undefined: the agent stopped before the response. */
  const mayStart = async (record: TaskRecord, payload: TaskPayload, log: Log): Promise<boolean | undefined> => {
    const isOver = (): boolean => record.state === 'accepted' && now().getTime() > Date.parse(payload.expires_at);
    try {
      const response = await untilResponse(() => options.api.start(payload, stopping.signal), {
        signal: stopping.signal,
        retry,
        until: isOver,
      });
      if (response?.may_start === false) log.info({ reason: response.reason }, 'control plane withdrew the task');
      return response?.may_start ?? (isOver() ? true : undefined);
    } catch (err) {
      if (!(err instanceof ControlPlaneError)) throw err;
      log.info({ err }, 'control plane no longer knows the task');
      return false;
    }
  };

  const act = (payload: TaskPayload, log: Log): ReturnType<typeof execute> => {
    const controller = held.get(payload.task_id) ?? new AbortController();
    const progress = createProgressReporter({
      api: options.api,
      task: payload,
      every_ms: options.progress_every_ms ?? 2000,
      signal: controller.signal,
      onTaskClosed: () => controller.abort(cancelled()),
    });
    const ctx: TaskContext = {
      host: options.host,
      node_id: options.node_id,
      task_id: payload.task_id,
      attempt: payload.attempt,
      correlation_id: payload.correlation_id,
      log,
      signal: controller.signal,
      progress: progress.report,
      now,
      state: options.state,
    };
    const { outcome, ended } = execute({
      handlers: options.handlers,
      payload,
      ctx,
      controller,
      limit_s: options.limits_s?.[payload.kind] ?? TASKS[payload.kind].timeout_s,
      grace_ms: graceMs,
    });
    return { outcome: outcome.finally(progress.stop), ended };
  };

  const run = async (record: TaskRecord, payload: TaskPayload): Promise<void> => {
    const log = logOf(payload);
    const isAllowed = await mayStart(record, payload, log);
    if (isAllowed === undefined) return;
    if (!isAllowed) {
      await journal.acknowledge(payload.task_id);
      return;
    }
    at('allowed', payload.task_id);
    if (record.state === 'accepted') {
      if (now().getTime() > Date.parse(payload.expires_at))
        return finish(payload, failureOf(payload, { started_at: null, finished_at: now() }, EXPIRED), log);
      try {
        await journal.begin(payload.task_id);
      } catch (err) {
        if (!(err instanceof HostError)) throw err;
        return finish(payload, failureOf(payload, { started_at: null, finished_at: now() }, err), log);
      }
    }
    at('begun', payload.task_id);
    if (stopping.signal.aborted) return;
    log.info('task started');
    const startedAt = record.begun_at ?? now().toISOString();
    const { outcome, ended } = act(payload, log);
    const result = buildResult(payload, startedAt, await outcome, now, log);
    at('acted', payload.task_id);
    if (result !== undefined) await finish(payload, result, log);
    await ended;
  };

  const begin = (taskId: string): void => {
    const record = journal.find(taskId);
    if (record?.payload == null || held.has(taskId) || stopping.signal.aborted) return;
    const payload = record.payload;
    held.set(taskId, new AbortController());
    queue.add({
      id: taskId,
      keys: keysOf(payload),
      is_exclusive: payload.kind === 'agent.update',
      run: () =>
        run(record, payload)
          .catch((err: unknown) =>
            logOf(payload).error({ err }, 'failed to run task; retrying at the next start of the agent'),
          )
          .finally(() => held.delete(taskId)),
    });
  };

  return {
    begin,
    repeat: (taskId) => {
      const record = journal.find(taskId);
      if (record !== undefined) reporter.repeat(record);
    },
    resume: () => {
      for (const record of journal.open())
        if (record.state === 'finished') reporter.repeat(record);
        else begin(record.task_id);
    },
    cancel: (taskId) => {
      if (queue.remove(taskId)) {
        held.delete(taskId);
        void journal.acknowledge(taskId);
      } else held.get(taskId)?.abort(cancelled());
    },
    idle: async () => {
      await queue.idle();
      await reporter.idle();
    },
    stop: async () => {
      stopping.abort();
      queue.close();
      for (const controller of held.values()) controller.abort(new Stopping('the agent is stopping'));
      const grace = new AbortController();
      const graceOver = timeout(graceMs, undefined, { signal: grace.signal }).catch(() => {});
      await Promise.race([Promise.all([queue.idle(), reporter.idle()]), graceOver]);
      grace.abort();
    },
  };
};
