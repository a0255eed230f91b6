/** Creates the log partitions of the next days and drops expired ones. While the clock is not trusted it does neither. */
import { type Database, PLATFORM } from '../db/client.ts';
import { isClockTrusted } from '../db/clock-guard.ts';
import { keepLogPartitions as keep } from '../db/log-line.ts';

export const keepLogPartitions = (deps: Readonly<{ database: Database; days: number }>): Promise<number> =>
  deps.database.write(PLATFORM, async (tx) => ((await isClockTrusted(tx)) ? keep(tx, deps.days) : 0));
