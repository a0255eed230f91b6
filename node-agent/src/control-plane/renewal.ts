/** Renews the certificate at half its lifetime, with jitter, and retries until it succeeds. */
import type { HostReport } from '@gpuaas/contract/node';
import { type Log, pause } from '@gpuaas/kit';
import { createConditionLog } from './condition.ts';
import type { Connection } from './connection.ts';
import { retryMs } from './errors.ts';

/** Timers hold at most 2^31 ms, and a host that slept wakes up late: check at least this often. */
const CHECK_MS = 60_000;

export const keepRenewed = async (
  options: Readonly<{
    connection: Connection;
    host: () => Promise<HostReport>;
    log: Log;
    now: () => Date;
    signal: AbortSignal;
    random?: () => number;
    interval_ms?: number;
  }>,
): Promise<void> => {
  const random = options.random ?? Math.random;
  const condition = createConditionLog(options.log, 'certificate renewal');
  const dueMs = (): number => {
    const { renew_after, not_after } = options.connection.identity();
    const left = Math.max(0, Date.parse(not_after) - Date.parse(renew_after));
    return Date.parse(renew_after) + left * 0.2 * random();
  };
  let due = dueMs();
  let renewAfter = options.connection.identity().renew_after;
  for (let attempt = 0; !options.signal.aborted; ) {
    const identity = options.connection.identity();
    if (identity.renew_after !== renewAfter) {
      renewAfter = identity.renew_after;
      due = dueMs();
      attempt = 0;
    }
    const waitMs = due - options.now().getTime();
    if (waitMs > 0) {
      await pause(Math.min(waitMs, options.interval_ms ?? CHECK_MS), options.signal);
      continue;
    }
    try {
      await options.connection.renew(await options.host());
      condition.ok();
      options.log.info({ not_after: options.connection.identity().not_after }, 'certificate renewed');
    } catch (err) {
      if (options.signal.aborted) return;
      condition.failed(err);
      attempt += 1;
      await pause(retryMs(err, attempt, { baseMs: 1000, capMs: options.interval_ms ?? 300_000 }), options.signal);
    }
  }
};
