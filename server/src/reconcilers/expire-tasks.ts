/**
 * Ends host tasks that were not completed in time. The run that waits for one then sees it as expired. Each task ends in
 * its own transaction: one that cannot be ended does not block the others.
 */
import { expireTask } from '../agents/end-task.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { listOverdueTasks } from '../db/node-task.ts';

const BATCH_ROWS = 100;

/** Returns how many expired. Throws after the last one if any could not be ended. */
export const expireTasks = async (deps: Readonly<{ database: Database }>, signal?: AbortSignal): Promise<number> => {
  const ids = await deps.database.read(PLATFORM, (reader) => listOverdueTasks(reader, BATCH_ROWS));
  const failures: unknown[] = [];
  let expired = 0;
  for (const id of ids) {
    if (signal?.aborted) break;
    try {
      if (await deps.database.write(PLATFORM, (tx) => expireTask(tx, id, { now: new Date() }))) expired += 1;
    } catch (err) {
      failures.push(err);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} of ${ids.length} could not be ended`);
  return expired;
};
