/**
 * The long poll for tasks. It reconnects with backoff and jitter, so that a thousand agents do not return in the same
 * second. Losing the control plane changes nothing on the host.
 */
import type { NodeBody, NodeResponse } from '@gpuaas/contract/node';
import { CLOCK_SKEW_MAX_MS } from '@gpuaas/contract/node';
import { type Log, pause } from '@gpuaas/kit';
import { createConditionLog } from './condition.ts';
import type { Connection } from './connection.ts';
import { retryMs } from './errors.ts';

export type PollOptions = Readonly<{
  connection: Connection;
  log: Log;
  now: () => Date;
  signal: AbortSignal;
  wait_s: number;
  retry: Readonly<{ baseMs: number; capMs: number }>;
  status: () => Promise<Pick<NodeBody<'taskWait'>, 'agent_version' | 'boot_id' | 'booted_at' | 'kinds' | 'host'>>;
  journaled_task_ids: () => readonly string[];
  onResponse: (response: NodeResponse<'taskWait'>) => Promise<void>;
}>;

const JOURNALED_MAX = 1000;
/** A server that returns at once with nothing must not be polled in a tight loop. */
const DELAY_MIN_MS = 250;

export const keepPolling = async (options: PollOptions): Promise<void> => {
  const { connection, log, signal } = options;
  const condition = createConditionLog(log, 'task wait');
  let isSkewed = false;
  let no_tasks_reason: string | undefined;

  const noteSkew = (serverTime: string): void => {
    const skewMs = options.now().getTime() - Date.parse(serverTime);
    const isNow = Math.abs(skewMs) > CLOCK_SKEW_MAX_MS;
    if (isNow === isSkewed) return;
    isSkewed = isNow;
    if (isNow)
      log.error(
        { skew_ms: skewMs, error_code: 'clock_skew' },
        'clock of this host is wrong; refusing tasks until it is set',
      );
    else log.info({ skew_ms: skewMs }, 'clock of this host is correct again');
  };

  const noteNoTasks = (reason: string | undefined): void => {
    if (reason !== undefined && no_tasks_reason === undefined)
      log.warn({ reason }, 'control plane sends no tasks to this host');
    no_tasks_reason = reason;
  };

  const once = async (): Promise<NodeResponse<'taskWait'>> => {
    // The first call after an interruption returns at once: identity and trust are settled before a long poll.
    const waitS = condition.get() === 'connected' ? options.wait_s : 0;
    const response = await connection.call('taskWait', {
      params: { node_id: connection.node_id },
      body: {
        ...(await options.status()),
        journaled_task_ids: options.journaled_task_ids().slice(0, JOURNALED_MAX),
        trust_version: connection.trust().version,
        clock: options.now().toISOString(),
        wait_s: waitS,
      },
      signal,
      timeout_ms: (waitS + 15) * 1000,
    });
    condition.ok();
    noteSkew(response.server_time);
    noteNoTasks(response.no_tasks_reason);
    if (response.trust_version !== connection.trust().version)
      await connection
        .refreshTrust()
        .catch((err: unknown) => log.warn({ err }, 'failed to apply the new trust bundle'));
    return response;
  };

  for (let failures = 0; !signal.aborted; ) {
    const beganMs = performance.now();
    try {
      const isFirst = condition.get() !== 'connected';
      const response = await once();
      failures = 0;
      await options.onResponse(response);
      const delayMs = DELAY_MIN_MS - (performance.now() - beganMs);
      if (response.tasks.length === 0 && delayMs > 0 && !isFirst) await pause(delayMs, signal);
    } catch (err) {
      if (signal.aborted) return;
      failures += 1;
      const kind = condition.failed(err);
      if (kind === 'refused' || kind === 'untrusted') await useNewIdentity(connection, log);
      await pause(retryMs(err, failures, options.retry), signal);
    }
  }
};

const useNewIdentity = async (connection: Connection, log: Log): Promise<void> => {
  try {
    if (await connection.reload()) log.info('host was enrolled again; using its new certificate');
  } catch (err) {
    log.warn({ err }, 'failed to read the new certificate of this host');
  }
};
