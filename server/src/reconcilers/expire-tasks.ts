/** Ends host tasks that were not completed in time. The run that waits for one then sees it as expired. */

import { expireOverdueTasks } from '../agents/end-task.ts';
import { type Database, PLATFORM } from '../db/client.ts';

const BATCH_ROWS = 100;

export const expireTasks = (deps: Readonly<{ database: Database }>): Promise<void> =>
  deps.database.write(PLATFORM, async (tx) => {
    await expireOverdueTasks(tx, BATCH_ROWS, { now: new Date() });
  });
