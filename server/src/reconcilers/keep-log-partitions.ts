/** Creates the log partitions of the next days and drops expired ones. */
import { type Database, PLATFORM } from '../db/client.ts';
import { keepLogPartitions as keep } from '../db/log-line.ts';

export const keepLogPartitions = (deps: Readonly<{ database: Database; days: number }>): Promise<number> =>
  deps.database.write(PLATFORM, (tx) => keep(tx, deps.days));
