/**
 * The port to the external event stream. Every implementation gives these guarantees, and `publisher.contract.ts` tests
 * each of them:
 *
 * - Events are stored unchanged, in the given order. `acknowledged` counts from the first: that many are stored
 *   durably.
 * - After a failure some events may be stored without being counted, but only the next ones in order.
 * - An event with an id that the stream holds is acknowledged and not stored again. So a caller publishes again from
 *   the first event that was not acknowledged, and the stream holds each event once, in order.
 * - A failure is returned as `error`, never thrown, after at most the timeout. The next call starts again: an outage, a
 *   stalled or emptied stream needs no restart of the caller.
 */
export type OutgoingEvent = Readonly<{ id: string; type: string }> & Readonly<Record<string, unknown>>;

export type Published = Readonly<{ acknowledged: number; error: Error | null }>;

export type Publisher = Readonly<{
  publish(events: readonly OutgoingEvent[]): Promise<Published>;
  /** May be called twice. */
  close(): Promise<void>;
}>;

/** How long an acknowledgement may take. */
export const ACK_TIMEOUT_MS = 5_000;
