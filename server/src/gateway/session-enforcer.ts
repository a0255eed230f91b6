/**
 * Checks every second, in one query for all sessions of this replica, whether each may continue. Code that removes a
 * permission does not need to know about sessions: it changes its row, and this finds it. A replica that cannot run the
 * check ends its sessions once the other replicas consider it dead.
 */
import type { GatewaySessions } from '../sessions/gateway-session.ts';
import { ABANDONED_AFTER_S } from '../sessions/gateway-session.ts';
import type { Registry } from './registry.ts';

/** Well within the time after which the others consider this replica dead. */
const NOTE_MS = 5_000;
/** An unreachable database returns no error, and nothing else for a long time. */
const QUERY_MS = 5_000;

const withTimeout = async <T>(work: Promise<T>, withinMs: number): Promise<T> => {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeout.reject(new Error('database unreachable')), withinMs);
  try {
    return await Promise.race([work, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
};

export type SessionEnforcer = Readonly<{ run(): Promise<void> }>;

export const createSessionEnforcer = (
  options: Readonly<{ registry: Registry; sessions: GatewaySessions; nowMs: () => number; answer_ms?: number }>,
): SessionEnforcer => {
  const { registry, sessions, nowMs, answer_ms = QUERY_MS } = options;
  let lookedMs = nowMs();
  let notedMs = Number.NEGATIVE_INFINITY;

  const enforce = async (): Promise<void> => {
    const looks = registry.all().map((session) => session.activity());
    const ends = looks.length === 0 ? new Map() : await withTimeout(sessions.judge(looks), answer_ms);
    for (const [id, end] of ends) registry.find(id)?.end(end);
    lookedMs = nowMs();
  };

  const note = async (): Promise<void> => {
    if (nowMs() - notedMs < NOTE_MS) return;
    const counts = registry.all().map((session) => session.count());
    if (counts.length > 0) await withTimeout(sessions.note(counts), answer_ms);
    await withTimeout(sessions.closeAbandoned(), answer_ms);
    notedMs = nowMs();
  };

  return {
    run: async () => {
      try {
        await enforce();
      } catch (err) {
        if (nowMs() - lookedMs >= ABANDONED_AFTER_S * 1000)
          registry.endAll({
            reason: 'gateway_stopped',
            message: 'The gateway cannot check access at the moment. Retry later.',
          });
        throw err;
      }
      // First: the others close sessions that this replica does not report.
      await note();
      await withTimeout(registry.catchUp(), answer_ms);
    },
  };
};
