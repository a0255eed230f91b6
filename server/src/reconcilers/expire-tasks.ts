/** Ends host tasks that were not completed in time. The run that waits for one then sees it as expired. */
import { type Database, PLATFORM } from '../db/client.ts';
import { expireOverdueTasks } from '../workflows/finish-task.ts';

const BATCH_ROWS = 100;

export const expireTasks = (deps: Readonly<{ database: Database; wake: () => void }>): Promise<void> =>
  deps.database.write(PLATFORM, async (tx) => {
    await expireOverdueTasks(tx, BATCH_ROWS, deps.wake);
  });
