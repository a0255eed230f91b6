/** Stores a sample of the capacity counters every five minutes, for 90 days. */
import { deleteOldSamples, insertCapacitySamples } from '../db/capacity-sample.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { isClockTrusted } from '../db/clock-guard.ts';

export const sampleCapacity = (deps: Readonly<{ database: Database }>): Promise<void> =>
  deps.database.write(PLATFORM, async (tx) => {
    // Old ones are deleted with each new one, so most turns only read.
    if ((await insertCapacitySamples(tx)) > 0 && (await isClockTrusted(tx))) await deleteOldSamples(tx);
  });
