/**
 * Deletes expired rows: sent events, idempotency records, service account access tokens, web sessions, user data of
 * ended allocations, unused tickets, session calls of agents, recordings, old sessions, answered certificate requests
 * of gateways and the marks of processes that have ended.
 */
import { deleteExpiredAccessTokens } from '../db/api-token.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { deleteExpiredIdempotencyKeys } from '../db/idempotency.ts';
import { deleteOldListenerRequests } from '../db/listener-request.ts';
import { deleteOldStreamTasks } from '../db/node-task.ts';
import { deleteOldEvents } from '../db/outbox.ts';
import { deleteEndedHolders } from '../db/platform-key.ts';
import { deleteEndedUserData } from '../db/statements/remove-user-data.ts';
import { deleteOldRecordings } from '../db/terminal-recording.ts';
import { deleteOldSessions, deleteUnusedTickets } from '../db/terminal-session.ts';
import { deleteOverWebSessions } from '../db/web-session.ts';

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
  deleteOldListenerRequests,
  deleteEndedHolders,
];

export const purgeExpired = async (
  deps: Readonly<{ database: Database }>,
  signal?: AbortSignal,
  batchRows: number = BATCH_ROWS,
): Promise<void> => {
  for (const purge of PURGES)
    while (!signal?.aborted && (await deps.database.write(PLATFORM, (tx) => purge(tx, batchRows))) === batchRows);
};
