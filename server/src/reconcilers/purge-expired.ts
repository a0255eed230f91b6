/**
 * Deletes the rows that retention.ts gives an end. A turn deletes a bounded number of rows of each kind, in short
 * transactions; what is left waits for the next turn. Nothing is deleted while the clock of the database is not trusted.
 */
import { type Database, PLATFORM } from '../db/client.ts';
import { isClockTrusted } from '../db/clock-guard.ts';
import type { Ages } from '../db/keep.ts';
import { RETENTION } from './retention.ts';

const BATCH_ROWS = 1_000;
const BATCHES_MAX = 20;
const PURGES = Object.values(RETENTION).flatMap(({ purges }) => purges ?? []);

export const purgeExpired = async (
  deps: Readonly<{ database: Database }> & Ages,
  signal?: AbortSignal,
  batchRows: number = BATCH_ROWS,
): Promise<void> => {
  const failures: unknown[] = [];
  for (const purge of PURGES)
    try {
      for (let batch = 0; batch < BATCHES_MAX && !signal?.aborted; batch++) {
        const deleted = await deps.database.write(PLATFORM, async (tx) =>
          (await isClockTrusted(tx)) ? purge(tx, batchRows, deps) : 0,
        );
        if (deleted < batchRows) break;
      }
    } catch (err) {
      failures.push(err);
    }
  // One that fails does not keep the others from their turn.
  if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures, 'Purges failed.');
};
