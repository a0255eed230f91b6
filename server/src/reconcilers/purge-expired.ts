/**
 * Deletes expired rows: sent events, idempotency records, service account access tokens, web sessions, user data of
 * ended allocations, unused tickets, session calls of agents, recordings, old sessions, answered certificate requests
 * of gateways and the marks of processes that have ended. History is deleted after `history_days`: ended runs,
 * certificates that ended, expired enrollments without a certificate and superseded discoveries. A turn deletes a bounded
 * number of rows of each, in short transactions; what is left waits for the next turn. Nothing is deleted while the clock
 * of the database is not trusted.
 */
import { deleteExpiredAccessTokens } from '../db/api-token.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { isClockTrusted } from '../db/clock-guard.ts';
import { deleteExpiredIdempotencyKeys } from '../db/idempotency.ts';
import { deleteOldListenerRequests } from '../db/listener-request.ts';
import { deleteOldCertificates, deleteOldEnrollments } from '../db/node-certificate.ts';
import { deleteOldStreamTasks } from '../db/node-task.ts';
import { deleteOldEvents } from '../db/outbox.ts';
import { deleteEndedHolders } from '../db/platform-key.ts';
import { deleteOldRuns } from '../db/statements/purge-runs.ts';
import { deleteEndedUserData } from '../db/statements/remove-user-data.ts';
import { deleteOldRecordings } from '../db/terminal-recording.ts';
import { deleteOldSessions, deleteUnusedTickets } from '../db/terminal-session.ts';
import { deleteOldDiscoveries } from '../db/topology.ts';
import { deleteOverWebSessions } from '../db/web-session.ts';

const BATCH_ROWS = 1_000;
const BATCHES_MAX = 20;
const PURGES: readonly ((tx: Tx, limit: number, historyDays: number) => Promise<number>)[] = [
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
  deleteOldRuns,
  deleteOldCertificates,
  deleteOldEnrollments,
  deleteOldDiscoveries,
];

export const purgeExpired = async (
  deps: Readonly<{ database: Database; history_days: number }>,
  signal?: AbortSignal,
  batchRows: number = BATCH_ROWS,
): Promise<void> => {
  const failures: unknown[] = [];
  for (const purge of PURGES)
    try {
      for (let batch = 0; batch < BATCHES_MAX && !signal?.aborted; batch++) {
        const deleted = await deps.database.write(PLATFORM, async (tx) =>
          (await isClockTrusted(tx)) ? purge(tx, batchRows, deps.history_days) : 0,
        );
        if (deleted < batchRows) break;
      }
    } catch (err) {
      failures.push(err);
    }
  // One that fails does not keep the others from their turn.
  if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures, 'Purges failed.');
};
