/**
 * Compares the clock of the database with the time of this process. While a hold stands, `CLOCK_TRUSTED` of
 * `db/predicates.ts` is false: nothing is released, ended, deleted or marked because a time has passed. If no worker
 * completes this for `CLOCK_STEP_MAX_MS`, the fragment is false as well; the loop watch ends such a process.
 */
import { randomUUID } from 'node:crypto';
import type { Log } from '@gpuaas/kit';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import {
  acceptClock,
  countAgentClocks,
  endClockHold,
  holdClock,
  lockClockGuard,
  readClock,
} from '../db/clock-guard.ts';
import { CLOCK_STEP_MAX_MS, type ClockFacts, type ClockReading, judgeClock } from '../domain/clock-guard.ts';

export type ClockWatchDeps = Readonly<{
  database: Database;
  log: Log;
  /** Time of the process in milliseconds, which only runs forward. */
  monotonic?: () => number;
}>;

const NO_AGENTS = { known: 0, expected: 0, reported: 0, agreeing: 0 };

const audit = (tx: Tx, action: string, policy: string, metadata: Readonly<Record<string, unknown>>): void =>
  tx.defer(
    insertSystemAudit(tx, {
      organization_id: null,
      project_id: null,
      action,
      target_kind: 'clock',
      target_id: 'database',
      policy,
      correlation_id: `c-${randomUUID()}`,
      metadata,
    }),
  );

const ENDED = { agents: 'agents agree with the clock', clock: 'the clock returned' } as const;

export const createClockWatch = (deps: ClockWatchDeps): (() => Promise<void>) => {
  const { database, log, monotonic = () => performance.now() } = deps;
  let trusted: ClockFacts['trusted'];

  const check = async (tx: Tx): Promise<ClockFacts['trusted']> => {
    const row = await lockClockGuard(tx);
    const before_ms = monotonic();
    const { database_ms } = await readClock(tx);
    const now: ClockReading = { database_ms, before_ms, after_ms: monotonic() };
    const is_held = row !== undefined && row.hold_since !== null;
    const guard = row === undefined ? undefined : { seen_ms: row.seen_ms, is_held, version: row.version };
    const agents = is_held ? await countAgentClocks(tx) : NO_AGENTS;
    const verdict = judgeClock({ guard, now, trusted, agents });
    switch (verdict.kind) {
      case 'held':
        return trusted;
      case 'hold':
        await holdClock(tx, { reason: verdict.reason, jump_ms: verdict.step_ms });
        audit(tx, 'clock.hold', verdict.reason, { jump_ms: verdict.step_ms });
        log.error({ jump_ms: verdict.step_ms, error_code: 'clock_held' }, verdict.reason);
        return trusted;
      case 'end': {
        const ended = await endClockHold(tx, guard?.version ?? 0, verdict.by);
        audit(tx, 'clock.confirm', ENDED[verdict.by], { ...agents });
        log.info({ by: verdict.by, ...agents }, 'the clock of the database is trusted again');
        tx.wake();
        return ended === undefined ? trusted : { reading: now, version: ended.version };
      }
      case 'trusted':
        if (verdict.step_ms < -CLOCK_STEP_MAX_MS)
          log.warn({ jump_ms: verdict.step_ms }, 'the clock of the database stepped back');
        return { reading: now, version: await acceptClock(tx) };
    }
  };

  return async () => {
    trusted = await database.write(PLATFORM, check);
  };
};
