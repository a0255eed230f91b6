/**
 * Deletes expired rows: sent events, idempotency records, service account access tokens, web sessions, user data of
 * ended allocations, unused tickets, session calls of agents, recordings, old sessions, answered certificate requests
 * of gateways and the marks of processes that have ended. History is deleted after `history_days`: ended runs,
 * certificates that ended, expired enrollments without a certificate, superseded discoveries and tasks that nothing cites.
 * Wipe proofs go after `certificate_years`. A turn deletes a bounded number of rows of each, in short transactions; what is
 * left waits for the next turn. Nothing is deleted while the clock of the database is not trusted.
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
import { cutWipeChains } from '../db/statements/cut-wipe-chains.ts';
import { deleteOldRuns } from '../db/statements/purge-runs.ts';
import { deleteKeptTasks, deleteOldTasks } from '../db/statements/purge-tasks.ts';
import { deleteEndedUserData } from '../db/statements/remove-user-data.ts';
import { deleteOldRecordings } from '../db/terminal-recording.ts';
import { deleteOldSessions, deleteUnusedTickets } from '../db/terminal-session.ts';
import { deleteOldDiscoveries } from '../db/topology.ts';
import { deleteOverWebSessions } from '../db/web-session.ts';

const BATCH_ROWS = 1_000;
const BATCHES_MAX = 20;
type Ages = Readonly<{ history_days: number; certificate_years: number }>;
type Purge = (tx: Tx, limit: number, ages: Ages) => Promise<number>;
const history =
  (purge: (tx: Tx, limit: number, days: number) => Promise<number>): Purge =>
  (tx, limit, { history_days }) =>
    purge(tx, limit, history_days);

const PURGES: readonly Purge[] = [
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
  history(deleteOldRuns),
  history(deleteOldCertificates),
  history(deleteOldEnrollments),
  history(deleteOldDiscoveries),
  (tx, limit, { certificate_years }) => cutWipeChains(tx, limit, certificate_years),
  // After everything that may cite a task.
  history(deleteOldTasks),
  deleteKeptTasks,
];

export const purgeExpired = async (
  deps: Readonly<{ database: Database }> & Ages,
  signal?: AbortSignal,
  batchRows: number = BATCH_ROWS,
): Promise<void> => {
  const failures: unknown[] = [];
  for (const purge of PURGES)
    try {
      for (let batch = 0; batch < BATCHES_MAX && !signal?.aborted; batch++) {
        const deleted = await deps.database.write(PLATFORM, async (tx) =>
          (await isClockTrusted(tx)) ? purge(tx, batchRows, deps) : 0,
        );
        if (deleted < batchRows) break;
      }
    } catch (err) {
      failures.push(err);
    }
  // One that fails does not keep the others from their turn.
  if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures, 'Purges failed.');
};
