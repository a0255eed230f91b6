/**
 * Counts the nodes of the fleet for its metrics: by state, active ones with a silent agent, and those whose certificate ends
 * soon. A scrape reads the last
 * counts, so that its cost does not grow with the fleet. Counts that are too old are not exported: they would look true.
 */
import { NODE_STATES, OVER_NODE_STATES } from '@gpuaas/contract';
import { type Clock, systemClock } from '@gpuaas/kit';
import { type Database, PLATFORM } from '../db/client.ts';
import { countUnseenNodes } from '../db/node-agent.ts';
import { countEndingCertificates } from '../db/node-certificate.ts';
import { countNodesByState } from '../db/node-count.ts';
import { BREAKER_WINDOW_MIN } from '../domain/health.ts';

export type NodeCounts = Readonly<{
  by_state: ReadonlyMap<string, number>;
  unseen: number;
  certificates_ending: number;
}>;

export type NodeCounter = Readonly<{
  run(): Promise<void>;
  /** Undefined before the first count, and when the last one is too old. */
  counts(): NodeCounts | undefined;
}>;

/** A certificate lasts 24 h and is renewed after 12 h: below this, several renewals have failed. */
const ENDING_WITHIN_S = 6 * 3600;
const STALE_AFTER_MS = 5 * 60_000;
const FLEET_STATES = NODE_STATES.filter((state) => !OVER_NODE_STATES.some((over) => over === state));

export const createNodeCounter = (deps: Readonly<{ database: Database; clock?: Clock }>): NodeCounter => {
  const { database, clock = systemClock } = deps;
  let last: Readonly<{ counts: NodeCounts; at: number }> | undefined;
  return {
    run: async () => {
      const [states, { unseen }, certificates_ending] = await database.read(PLATFORM, (reader) =>
        Promise.all([
          countNodesByState(reader),
          countUnseenNodes(reader, BREAKER_WINDOW_MIN),
          countEndingCertificates(reader, ENDING_WITHIN_S),
        ]),
      );
      const counted = new Map<string, number>(states.map(({ state, count }) => [state, count]));
      const by_state = new Map(FLEET_STATES.map((state) => [state, counted.get(state) ?? 0]));
      last = { counts: { by_state, unseen, certificates_ending }, at: clock.now().getTime() };
    },
    counts: () => (last === undefined || clock.now().getTime() - last.at > STALE_AFTER_MS ? undefined : last.counts),
  };
};
