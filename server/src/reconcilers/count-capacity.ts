/**
 * Maintains the capacity counters: counts the fleet when the placement index changed, and periodically without a
 * change, because health may change free capacity without a claim. One process counts for all.
 */
import { countFleet, readFleetMark, replaceCounters } from '../db/capacity.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import type { ExpectedRow } from '../db/expected-capacity.ts';
import { listExpected } from '../db/expected-capacity.ts';
import { runExclusively } from '../db/lock.ts';
import { fleetMedians } from '../db/progress.ts';
import { CLEANUP_KINDS, cleanupSeconds } from '../domain/expected-capacity.ts';

const KEY = ['region_name', 'gpu_model', 'pool_organization_id'] as const;
/** Counted at least this often. */
const STALE_AFTER_MS = 5_000;
/** Counting takes at most this share of the time: a large fleet is counted less often. */
const BUSY_RATIO = 0.1;

export type CapacityCounter = Readonly<{ run(): Promise<void> }>;

type Counted = Awaited<ReturnType<typeof countFleet>>[number];

const withExpected = (counted: readonly Counted[], expected: readonly ExpectedRow[]): Counted[] =>
  counted.map((row) => {
    const of = (shape: ExpectedRow['shape']) => ({
      ...row.counts[shape],
      expected:
        expected.find((one) => KEY.every((name) => one[name] === row[name]) && one.shape === shape)?.entries ?? [],
    });
    return { ...row, counts: { ...row.counts, gpu_slice: of('gpu_slice'), baremetal: of('baremetal') } };
  });

/** Counts once, regardless of changes. */
export const countCapacity = async (deps: Readonly<{ database: Database }>): Promise<void> => {
  const rows = await deps.database.read(PLATFORM, async (reader) => {
    const medians = await fleetMedians(reader, CLEANUP_KINDS);
    const cleanupS = {
      gpu_slice: cleanupSeconds('gpu_slice', medians),
      baremetal: cleanupSeconds('baremetal', medians),
    };
    return withExpected(await countFleet(reader), await listExpected(reader, cleanupS));
  });
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
