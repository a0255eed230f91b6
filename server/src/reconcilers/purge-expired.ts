/**
 * Deletes what has expired: sent events, idempotency records, access tokens of machines, browsers' sessions, user data of ended allocations,
 * tickets that nobody used, the calls of hosts to sessions, recordings past their time and sessions long over.
 */
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import {
  deleteEndedUserData,
  deleteExpiredAccessTokens,
  deleteExpiredIdempotencyKeys,
  deleteOldEvents,
  deleteOldRecordings,
  deleteOldSessions,
  deleteOldStreamTasks,
  deleteOverWebSessions,
  deleteUnusedTickets,
} from '../db/expiry.ts';

const BATCH_ROWS = 1_000;
const PURGES: readonly ((tx: Tx, limit: number) => Promise<number>)[] = [
  deleteOldEvents,
  deleteExpiredIdempotencyKeys,
  deleteExpiredAccessTokens,
  deleteOverWebSessions,
  deleteEndedUserData,
  deleteUnusedTickets,
  deleteOldStreamTasks,
  deleteOldRecordings,
  deleteOldSessions,
];

export const purgeExpired = async (
  deps: Readonly<{ database: Database }>,
  signal?: AbortSignal,
  batchRows: number = BATCH_ROWS,
): Promise<void> => {
  for (const purge of PURGES)
    while (!signal?.aborted && (await deps.database.write(PLATFORM, (tx) => purge(tx, batchRows))) === batchRows);
};
