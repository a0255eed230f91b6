/**
 * Ends host tasks that were not completed in time. The run that waits for one then sees it as expired. Each task ends in
 * its own transaction: one that cannot be ended does not block the others.
 */
import { expireTask } from '../agents/end-task.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { listOverdueTasks, type OverdueTask } from '../db/node-task.ts';
import { eachRow } from './each-row.ts';

const BATCH_ROWS = 100;

/** Returns how many expired. Throws after the last one if any could not be ended. */
export const expireTasks = ({ database }: Readonly<{ database: Database }>, signal?: AbortSignal): Promise<number> =>
  eachRow({
    list: (after: OverdueTask | undefined) =>
      database.read(PLATFORM, (reader) => listOverdueTasks(reader, after, BATCH_ROWS)),
    handle: ({ id }) => database.write(PLATFORM, (tx) => expireTask(tx, id, { now: new Date() })),
    failed: 'could not be ended',
    signal,
  });
