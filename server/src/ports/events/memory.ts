/**
 * The fake of NATS: a stream in the memory of this process. A server without NATS publishes to one that stores nothing,
 * because its events are read through the API. Tests store every event and inject faults of a real stream: outages,
 * stalls, a full disk, a lost store.
 */
import { setImmediate } from 'node:timers/promises';
import { ACK_TIMEOUT_MS, type OutgoingEvent, type Publisher } from './publisher.ts';

export type MemoryStream = Readonly<{
  connect(options?: Readonly<{ timeout_ms?: number }>): Publisher;
  stored(): readonly OutgoingEvent[];
  /** Refuses connections and drops open ones, also in the middle of a batch. */
  stop(): void;
  /** Accepts batches and acknowledges none until `start`, when it stores the accepted ones. */
  stall(): void;
  start(): void;
  /** Loses all stored events. */
  clear(): void;
  /** Stores this many more events, then refuses one. */
  failAfter(events: number): void;
}>;

/** The number stored before yielding: an outage can come in between. */
const AT_ONCE = 50;

export const createMemoryStream = (options: Readonly<{ events_max?: number }> = {}): MemoryStream => {
  const eventsMax = options.events_max ?? Number.POSITIVE_INFINITY;
  const events = new Map<string, OutgoingEvent>();
  let state: 'started' | 'stopped' | 'stalled' = 'started';
  let room = Number.POSITIVE_INFINITY;
  /** Batches are stored one after the other, as a stream has one order. */
  let last: Promise<void> = Promise.resolve();
  let resumed = Promise.withResolvers<void>();

  const store = (event: OutgoingEvent): void => {
    if (events.has(event.id)) return;
    if (room === 0) {
      room = Number.POSITIVE_INFINITY;
      throw new Error('The stream refused the event.');
    }
    room -= 1;
    events.set(event.id, structuredClone(event));
    for (const oldest of events.keys()) {
      if (events.size <= eventsMax) break;
      events.delete(oldest);
    }
  };

  const enter = (next: typeof state): void => {
    state = next;
    resumed.resolve();
    resumed = Promise.withResolvers();
  };

  const storeAll = async (batch: readonly OutgoingEvent[], count: () => void): Promise<void> => {
    for (const [index, event] of batch.entries()) {
      if (index % AT_ONCE === 0) await setImmediate();
      while (state === 'stalled') await resumed.promise;
      if (state === 'stopped') throw new Error('The stream is stopped.');
      store(event);
      count();
    }
  };

  return {
    connect: ({ timeout_ms = ACK_TIMEOUT_MS } = {}) => ({
      publish: async (batch) => {
        let acknowledged = 0;
        const before = last;
        const storing = before.then(() =>
          storeAll(batch, () => {
            acknowledged += 1;
          }),
        );
        last = storing.catch(() => {});
        const late = Promise.withResolvers<never>();
        const timer = setTimeout(() => late.reject(new Error('The stream did not acknowledge in time.')), timeout_ms);
        try {
          await Promise.race([storing, late.promise]);
          return { acknowledged, error: null };
        } catch (err) {
          return { acknowledged, error: err as Error };
        } finally {
          clearTimeout(timer);
        }
      },
      close: async () => {},
    }),
    stored: () => [...events.values()],
    stop: () => enter('stopped'),
    stall: () => enter('stalled'),
    start: () => enter('started'),
    clear: () => events.clear(),
    failAfter: (more) => {
      room = more;
    },
  };
};
