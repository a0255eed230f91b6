/**
 * Publishes the outbox, in commit order, at least once. A row is marked sent only after it was acknowledged; a crash
 * between the two sends it again under the same message id, which the receiver knows. One relay at a time: two would
 * overtake each other. No transaction is open while it publishes.
 *
 * A row that cannot be sent holds back later ones, because order is guaranteed; its attempts and last error are in the
 * row, and the lag is a metric. Without NATS the publisher stores nothing, and the events are delivered by being
 * readable: marking them starts their retention.
 */
import { type Database, PLATFORM } from '../db/client.ts';
import { runExclusively } from '../db/lock.ts';
import { listUnsentEvents, moveEventsToSent, type OutboxRow, recordSendFailure } from '../db/outbox.ts';
import { toCloudEvent } from '../domain/cloud-event.ts';
import type { EventHub } from '../ports/events/hub.ts';
import type { Publisher } from '../ports/events/publisher.ts';

export type RelayDeps = Readonly<{ database: Database; publisher: Publisher; hub?: EventHub }>;

const BATCH_ROWS = 500;

const sendBatch = async (deps: RelayDeps, rows: readonly OutboxRow[]): Promise<void> => {
  const ids = rows.map((row) => row.id);
  const { acknowledged, error } = await deps.publisher.publish(rows.map(toCloudEvent));
  await deps.database.writeAtOnce(PLATFORM, (tx) =>
    Promise.all([
      moveEventsToSent(tx, ids.slice(0, acknowledged)),
      ...(error === null ? [] : [recordSendFailure(tx, ids.slice(acknowledged), error.message)]),
    ]),
  );
  if (error !== null) throw error;
};

const listUnsent = (database: Database, limit: number) =>
  database.readAtOnce(PLATFORM, (reader) => listUnsentEvents(reader, limit));

export const relayOutbox = async (deps: RelayDeps, signal?: AbortSignal): Promise<void> => {
  // A read without the lock, so that idling costs one read.
  if ((await listUnsent(deps.database, 1)).length === 0) return;
  await runExclusively(deps.database, 'relay_outbox', async () => {
    while (!signal?.aborted) {
      const rows = await listUnsent(deps.database, BATCH_ROWS);
      if (rows.length === 0) return;
      await sendBatch(deps, rows);
      deps.hub?.wake();
      if (rows.length < BATCH_ROWS) return;
    }
  });
};
