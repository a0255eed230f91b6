/**
 * Maintains the capacity counters: counts the fleet when the placement index changed, and periodically without a
 * change, because health may change free capacity without a claim. One process counts for all.
 */
import { countFleet, readFleetMark, replaceCounters } from '../db/capacity.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { runExclusively } from '../db/lock.ts';

/** Counted at least this often. */
const STALE_AFTER_MS = 5_000;
/** Counting takes at most this share of the time: a large fleet is counted less often. */
const BUSY_RATIO = 0.1;

export type CapacityCounter = Readonly<{ run(): Promise<void> }>;

/** Counts once, regardless of changes. */
export const countCapacity = async (deps: Readonly<{ database: Database }>): Promise<void> => {
  const rows = await deps.database.read(PLATFORM, countFleet);
  await deps.database.write(PLATFORM, (tx) => replaceCounters(tx, rows));
};

export const createCapacityCounter = (deps: Readonly<{ database: Database; now?: () => number }>): CapacityCounter => {
  const now = deps.now ?? (() => performance.now());
  let mark: string | undefined;
  let countedAt = Number.NEGATIVE_INFINITY;
  let notBefore = Number.NEGATIVE_INFINITY;
  return {
    run: async () => {
      if (now() < notBefore) return;
      // Read before counting: later changes are counted by the next turn.
      const current = await deps.database.read(PLATFORM, readFleetMark);
      if (current === mark && now() - countedAt < STALE_AFTER_MS) return;
      const startedAt = now();
      if (!(await runExclusively(deps.database, 'count_capacity', () => countCapacity(deps)))) return;
      mark = current;
      countedAt = startedAt;
      notBefore = startedAt + (now() - startedAt) / BUSY_RATIO;
    },
  };
};
