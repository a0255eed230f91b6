/**
 * Looks every minute whether what must hold does, and tells in metric and log. It repairs nothing: a broken invariant
 * is a defect or a hand in the database, and either wants a person.
 */
import type { Log } from '@gpuaas/kit';
import { type Database, PLATFORM } from '../db/client.ts';
import { INVARIANTS, listViolations } from '../db/invariant.ts';

export type InvariantWatch = Readonly<{
  run(signal?: AbortSignal): Promise<void>;
  /** How many offenders each invariant had at the last look; empty before the first. */
  counts(): ReadonlyMap<string, number>;
}>;

export const createInvariantWatch = (deps: Readonly<{ database: Database; log: Log }>): InvariantWatch => {
  const counts = new Map<string, number>();
  return {
    run: async (signal) => {
      for (const invariant of INVARIANTS) {
        if (signal?.aborted) return;
        const violations = await deps.database.read(PLATFORM, (reader) => listViolations(reader, invariant));
        counts.set(invariant.name, violations.length);
        if (violations.length > 0)
          deps.log.error(
            {
              invariant: invariant.name,
              rule: invariant.rule,
              violations: violations.slice(0, 10),
              count: violations.length,
            },
            'an invariant is broken',
          );
      }
    },
    counts: () => counts,
  };
};
