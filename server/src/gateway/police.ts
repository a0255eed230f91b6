/**
 * Looks every second, in one query for all sessions of this replica, whether each may go on. What took a right away does not
 * have to know that sessions exist: it changes its row, and this finds it. A replica that cannot look cannot promise that,
 * so after the time at which the others take it for dead it carries nothing on.
 */
import type { GatewaySessions } from '../services/gateway-session.ts';
import { UNSEEN_S } from '../services/gateway-session.ts';
import type { Registry } from './registry.ts';

/** Well within the time after which the others take this replica for dead. */
const NOTE_MS = 5_000;

export type Police = Readonly<{ run(): Promise<void> }>;

export const createPolice = (
  options: Readonly<{ registry: Registry; sessions: GatewaySessions; nowMs: () => number }>,
): Police => {
  const { registry, sessions, nowMs } = options;
  let lookedMs = nowMs();
  let notedMs = 0;

  const look = async (): Promise<void> => {
    const looks = registry.all().map((session) => session.look());
    const ends = looks.length === 0 ? new Map() : await sessions.judge(looks);
    for (const [id, end] of ends) registry.find(id)?.end(end);
    lookedMs = nowMs();
  };

  const note = async (): Promise<void> => {
    if (nowMs() - notedMs < NOTE_MS) return;
    const counts = registry.all().map((session) => session.count());
    if (counts.length > 0) await sessions.note(counts);
    await sessions.closeAbandoned();
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
            message: 'The gateway cannot tell at the moment who may be connected; try again later.',
          });
        throw err;
      }
      await registry.catchUp();
      await note();
    },
  };
};
