/**
 * Runs one handler: time limit, cancellation and result. A handler that does not stop when aborted gets a result after
 * a grace period, but `ended` waits for it: nothing else touches its resources before.
 */
import { setTimeout as timeout } from 'node:timers/promises';
import type { TaskKind, TaskOutput, TaskParams, TaskPayload } from '@gpuaas/contract/node';
import { HostError } from './host/host.ts';
import { outputMismatch } from './schemas.ts';
import type { TaskContext, TaskHandler, TaskHandlers } from './tasks/task.ts';

/** The abort reason of an agent that stops: the task stays begun and is executed again at the next start. */
export class Stopping extends Error {}

export type Outcome =
  | Readonly<{ kind: 'completed'; output: object }>
  | Readonly<{ kind: 'failed'; error: HostError; cause: unknown }>
  | Readonly<{ kind: 'stopped' }>;

const callHandler = async <K extends TaskKind>(
  handler: TaskHandler<K> | undefined,
  kind: K,
  ctx: TaskContext,
  params: TaskParams<K>,
): Promise<TaskOutput<K>> => {
  if (handler === undefined) throw new HostError('unsupported', `This host does not support ${kind}.`);
  const work = () => handler(ctx, params);
  const output = await (ctx.host.during?.({ kind, params }, work) ?? work());
  const wrong = outputMismatch(kind, output);
  if (wrong !== null) throw new HostError('host_error', `The result of ${kind} does not match the contract: ${wrong}.`);
  return output;
};

/** A handler that timed out and states what did not end is more informative than the limit. */
const isOutOfTime = (reason: unknown, err: unknown): boolean =>
  reason instanceof HostError && reason.code === 'timeout' && err instanceof HostError;

const failed = (why: unknown): Outcome => {
  if (why instanceof Stopping) return { kind: 'stopped' };
  const error = why instanceof HostError ? why : new HostError('host_error', `The agent failed: ${String(why)}`);
  return { kind: 'failed', error, cause: why };
};

export const execute = (
  options: Readonly<{
    handlers: TaskHandlers;
    payload: TaskPayload;
    ctx: TaskContext;
    controller: AbortController;
    limit_s: number;
    grace_ms: number;
  }>,
): { outcome: Promise<Outcome>; ended: Promise<unknown> } => {
  const { payload, controller } = options;
  const { signal } = controller;
  const timer = setTimeout(
    () => controller.abort(new HostError('timeout', `The task did not finish within ${options.limit_s} s.`)),
    options.limit_s * 1000,
  );
  const handler = options.handlers[payload.kind] as TaskHandler<TaskKind> | undefined;
  const ended = callHandler(handler, payload.kind, options.ctx, payload.params as TaskParams<TaskKind>).then(
    (output): Outcome => ({ kind: 'completed', output }),
    (err: unknown): Outcome => failed(signal.aborted && !isOutOfTime(signal.reason, err) ? signal.reason : err),
  );
  const grace = new AbortController();
  const abandoned = new Promise<Outcome>((resolve) => {
    const leave = (): void => {
      void timeout(options.grace_ms, undefined, { signal: grace.signal }).then(
        () => resolve(failed(signal.reason)),
        () => {},
      );
    };
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
  const outcome = Promise.race([ended, abandoned]).finally(() => {
    clearTimeout(timer);
    grace.abort();
  });
  return { outcome, ended };
};
