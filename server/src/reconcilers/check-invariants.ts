/**
 * Checks the invariants every minute and reports them as metrics and logs. It repairs nothing: a broken invariant is a
 * defect or a manual change in the database, and needs a person. A failed check does not stop the others; its last
 * result stays, with its age.
 */
import { type Clock, type Log, systemClock } from '@gpuaas/kit';
import { type Database, PLATFORM } from '../db/client.ts';
import { INVARIANTS, listViolations } from '../db/invariant.ts';
import type { Invariant } from '../db/invariant-rule.ts';

export type InvariantWatch = Readonly<{
  run(signal?: AbortSignal): Promise<void>;
  /** The number of violating rows per invariant at the last check; empty before the first. */
  counts(): ReadonlyMap<string, number>;
  /** Seconds since the last check of each invariant, or since the start of the reconciler. */
  ages(): ReadonlyMap<string, number>;
}>;

export type InvariantWatchDeps = Readonly<{
  database: Database;
  log: Log;
  clock?: Clock;
  invariants?: readonly Invariant[];
}>;

export const createInvariantWatch = (deps: InvariantWatchDeps): InvariantWatch => {
  const { database, log, clock = systemClock, invariants = INVARIANTS } = deps;
  const counts = new Map<string, number>();
  const checkedAt = new Map(invariants.map(({ name }) => [name, clock.now().getTime()]));

  const checkOne = async (invariant: Invariant): Promise<void> => {
    const { name, rule } = invariant;
    const violations = await database.read(PLATFORM, (reader) => listViolations(reader, invariant));
    counts.set(name, violations.length);
    checkedAt.set(name, clock.now().getTime());
    if (violations.length > 0)
      log.error(
        { invariant: name, rule, violations: violations.slice(0, 10), count: violations.length },
        'invariant violated',
      );
  };

  return {
    run: async (signal) => {
      for (const invariant of invariants) {
        if (signal?.aborted) return;
        try {
          await checkOne(invariant);
        } catch (err) {
          log.error({ err, invariant: invariant.name }, 'failed to check invariant');
        }
      }
    },
    counts: () => counts,
    ages: () => new Map([...checkedAt].map(([name, at]) => [name, (clock.now().getTime() - at) / 1000])),
  };
};
