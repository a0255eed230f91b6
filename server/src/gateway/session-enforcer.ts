/**
 * Looks every second, in one query for all sessions of this replica, whether each may go on. What took a right away does not
 * have to know that sessions exist: it changes its row, and this finds it. A replica that cannot look cannot promise that,
 * so after the time at which the others take it for dead it carries nothing on.
 */
import type { GatewaySessions } from '../sessions/gateway-session.ts';
import { UNSEEN_S } from '../sessions/gateway-session.ts';
import type { Registry } from './registry.ts';

/** Well within the time after which the others take this replica for dead. */
const NOTE_MS = 5_000;
/** A database that is cut off does not answer with an error, nor with anything else for a long time. */
const ANSWER_MS = 5_000;

const answered = async <T>(work: Promise<T>, withinMs: number): Promise<T> => {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('database unreachable')), withinMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
};

export type SessionEnforcer = Readonly<{ run(): Promise<void> }>;

export const createSessionEnforcer = (
  options: Readonly<{ registry: Registry; sessions: GatewaySessions; nowMs: () => number; answer_ms?: number }>,
): SessionEnforcer => {
  const { registry, sessions, nowMs, answer_ms = ANSWER_MS } = options;
  let lookedMs = nowMs();
  let notedMs = Number.NEGATIVE_INFINITY;

  const look = async (): Promise<void> => {
    const looks = registry.all().map((session) => session.look());
    const ends = looks.length === 0 ? new Map() : await answered(sessions.judge(looks), answer_ms);
    for (const [id, end] of ends) registry.find(id)?.end(end);
    lookedMs = nowMs();
  };

  const note = async (): Promise<void> => {
    if (nowMs() - notedMs < NOTE_MS) return;
    const counts = registry.all().map((session) => session.count());
    if (counts.length > 0) await answered(sessions.note(counts), answer_ms);
    await answered(sessions.closeAbandoned(), answer_ms);
    notedMs = nowMs();
  };

  return {
    run: async () => {
      try {
        await look();
      } catch (err) {
        if (nowMs() - lookedMs >= UNSEEN_S * 1000)
          registry.endAll({
            reason: 'gateway_stopped',
            message: 'The gateway cannot check access at the moment. Retry later.',
          });
        throw err;
      }
      // First: the others close what this replica does not say that it has.
      await note();
      await answered(registry.catchUp(), answer_ms);
    },
  };
};
