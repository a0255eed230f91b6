/**
 * One reader of the outbox for all event streams of this process: each settled event is read once, in commit order, and
 * handed to the streams that it concerns, so an idle stream costs no query however many there are. The reader sees every
 * tenant's rows; a stream of a project gets a row only if both its project and its organization are those of the row, a
 * stream of an organization only if its organization is.
 *
 * A stream reads by itself, within its caller's scope, only while it is behind: when it resumes after an event, and when
 * its queue ran full because its client reads slowly. Then the queue is dropped and the stream continues from the last
 * event it has passed on. These reads take turns, so that the streams of one organization cannot occupy the database.
 *
 * A stream joins before it notes where it starts. What the reader handed out earlier had therefore committed by then, and
 * everything later reaches the queue: no event is lost or repeated between the two sources.
 *
 * A stream never starts from now in place of an event that is gone: it is refused. Transaction ids fall only when the
 * database was restored or lost its last transactions. All streams then end, because later events could be taken for
 * known ones.
 */
import { backoffMs, type Log, type LoopWatch, pause } from '@gpuaas/kit';
import { type Database, PLATFORM, type Reader } from '../db/client.ts';
import {
  type EventsOf,
  findEventPosition,
  getFeedStart,
  getSnapshot,
  isAfter,
  isBelow,
  listEvents,
  type OutboxPosition,
  type OutboxRow,
  visibleIn,
  xmaxOf,
} from '../db/outbox.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError } from '../errors.ts';
import type { EventHub } from '../ports/events/hub.ts';
import { createTurns } from './turns.ts';

const PAGE_ROWS = 200;
/** Together with one page, everything that a stream holds for a client that does not read. */
const QUEUE_ROWS_MAX = 256;
/** How long the reader waits without a wake-up. */
const POLL_MS = 1_000;
const OWN_READS_MAX = 4;
/** A reason that costs no stack trace. */
const CLOSED = 'closed';
const BACKOFF = { baseMs: 100, capMs: 5_000 } as const;

type Followed = Readonly<{
  /** Within the caller's scope. */
  read<T>(fn: (reader: Reader) => Promise<T>): Promise<T>;
  /** Without a project: every event of the organization and its projects. Null: every event of the control plane. */
  of: Readonly<{ organization_id: string; project_id?: string }> | null;
  type?: string | undefined;
  /** An event of the same stream that the caller already has; `gone` if it is unknown or purged. */
  after_id?: string | undefined;
  signal?: AbortSignal;
}>;

export type EventFeed = Readonly<{
  /**
   * Records its start before it returns, so that later commits are delivered. Ends when the signal is aborted or the
   * consumer returns, immediately also while it waits. Throws `gone` when the database was restored to an earlier time.
   */
  follow(options: Followed): Promise<AsyncIterableIterator<OutboxRow, void>>;
}>;

type Stream = {
  readonly of: Followed['of'];
  readonly type: string | undefined;
  queue: OutboxRow[];
  /** Events are missing from the queue: the stream must read on its own. */
  isBehind: boolean;
  isRestored: boolean;
  wake(): void;
};

const gone = (sentence: string): AppError => new AppError('gone', sentence);

const offer = (stream: Stream, row: OutboxRow): void => {
  if (stream.isBehind || (stream.type !== undefined && stream.type !== row.event_type)) return;
  if (stream.of !== null && stream.of.organization_id !== row.organization_id) return;
  if (stream.queue.length < QUEUE_ROWS_MAX) stream.queue.push(row);
  else {
    stream.queue = [];
    stream.isBehind = true;
  }
  stream.wake();
};

/** What a stream follows: the id of a project or of an organization, which no two of them share. */
const keyOf = (of: Followed['of']): string | null => of?.project_id ?? of?.organization_id ?? null;

const eventsOf = (of: Followed['of']): EventsOf => {
  if (of === null) return null;
  const { organization_id, project_id } = of;
  return project_id === undefined ? { organization_id } : { project_id };
};

/** The highest `xmaxOf` that the reader or a stream has read. */
type Newest = { xmax: string };
const note = (newest: Newest, snapshot: string): void => {
  if (isBelow(newest.xmax, xmaxOf(snapshot))) newest.xmax = xmaxOf(snapshot);
};

export const createEventFeed = (
  deps: Readonly<{ database: Pick<Database, 'read'>; hub: EventHub; log: Log; loops?: LoopWatch }>,
): EventFeed => {
  const { database, hub, log } = deps;
  const turn = createTurns(OWN_READS_MAX);
  /** By project, or by organization where they follow all of it; those of the control plane under null. */
  const streams = new Map<string | null, Set<Stream>>();
  /** Set while there are streams. */
  let reader: Readonly<{ started: Promise<void>; stop: AbortController; newest: Newest }> | undefined;

  const hand = (row: OutboxRow): void => {
    for (const stream of streams.get(null) ?? []) offer(stream, row);
    for (const id of [row.project_id, row.organization_id])
      if (id !== null) for (const stream of streams.get(id) ?? []) offer(stream, row);
  };

  const endAll = (): void => {
    const all = [...streams.values()].flatMap((some) => [...some]);
    log.warn({ streams: all.length }, 'the database has fewer transactions than before; event streams end');
    for (const stream of all) {
      stream.isRestored = true;
      leave(stream);
    }
  };

  const readOn = async (start: OutboxPosition, newest: Newest, signal: AbortSignal): Promise<void> => {
    let after = start;
    let failures = 0;
    const watch = deps.loops?.add('read-events', Math.max(POLL_MS, BACKOFF.capMs));
    signal.addEventListener('abort', () => watch?.end(), { once: true });
    while (!signal.aborted) {
      // Requested before the read, so that a wake-up during the read is not lost.
      const woken = hub.wait(POLL_MS, signal);
      try {
        const read = () =>
          database.read(PLATFORM, (tx) =>
            Promise.all([getSnapshot(tx), listEvents(tx, { of: null, after, limit: PAGE_ROWS })]),
          );
        // Only snapshots that were complete before this read must be older.
        const floor = newest.xmax;
        const [snapshot, rows] = await (watch === undefined ? read() : watch.turn(read));
        if (signal.aborted) return;
        if (isBelow(xmaxOf(snapshot), floor)) return endAll();
        note(newest, snapshot);
        if (failures > 0) log.info({ failures }, 'event streams continue');
        failures = 0;
        for (const row of rows) hand(row);
        after = rows.at(-1) ?? after;
        if (rows.length < PAGE_ROWS) await woken;
      } catch (err) {
        failures += 1;
        if (failures === 1) log.warn({ err }, 'failed to read the outbox; event streams wait');
        await pause(backoffMs(failures, BACKOFF), signal);
      }
    }
  };

  const startReader = (): NonNullable<typeof reader> => {
    const stop = new AbortController();
    const newest: Newest = { xmax: '0' };
    const started = database.read(PLATFORM, getFeedStart).then(({ position, snapshot }) => {
      note(newest, snapshot);
      void readOn(position, newest, stop.signal);
    });
    const own = { started, stop, newest };
    started.catch(() => {
      if (reader === own) reader = undefined;
    });
    return own;
  };

  const join = async (stream: Stream): Promise<Newest> => {
    const key = keyOf(stream.of);
    const others = streams.get(key);
    if (others === undefined) streams.set(key, new Set([stream]));
    else others.add(stream);
    reader ??= startReader();
    const { started, newest } = reader;
    await started;
    return newest;
  };

  const leave = (stream: Stream): void => {
    const key = keyOf(stream.of);
    const others = streams.get(key);
    others?.delete(stream);
    if (others?.size === 0) streams.delete(key);
    stream.queue = [];
    stream.wake();
    if (streams.size > 0) return;
    reader?.stop.abort();
    reader = undefined;
  };

  const follow: EventFeed['follow'] = async ({ read, of, type, after_id, signal: outer }) => {
    const closed = new AbortController();
    const signal = outer === undefined ? closed.signal : AbortSignal.any([outer, closed.signal]);
    const selected = eventsOf(of);
    const ownRead = <T>(fn: (tx: Reader) => Promise<T>): Promise<T> => turn(of?.organization_id ?? '*', () => read(fn));
    let wake = (): void => {};
    const stream: Stream = { of, type, queue: [], isBehind: false, isRestored: false, wake: () => wake() };
    signal.addEventListener('abort', () => leave(stream), { once: true });

    const begin = async () => {
      const newest = await join(stream);
      const [start, known] = await ownRead((tx) =>
        Promise.all([getFeedStart(tx), after_id === undefined ? undefined : findEventPosition(tx, selected, after_id)]),
      );
      // A row from a dump may carry an id that this database has not assigned yet.
      if (after_id !== undefined && (known === undefined || !isBelow(known.xid, xmaxOf(start.snapshot))))
        throw gone(REFUSALS.events_gone);
      note(newest, start.snapshot);
      return [start, known] as const;
    };
    const [start, known] = await begin().catch((err: unknown) => {
      closed.abort(CLOSED);
      throw err;
    });
    const not_in = known === undefined ? start.snapshot : undefined;
    const isKnown = not_in === undefined ? () => false : visibleIn(not_in);
    let after: OutboxPosition = known ?? start.position;
    if (known !== undefined) stream.isBehind = true;
    if (signal.aborted) leave(stream);

    /** Waits for the database as long as the client waits. */
    const ownPage = async (): Promise<OutboxRow[]> => {
      for (let attempt = 1; !signal.aborted; attempt++) {
        try {
          return await ownRead((tx) => listEvents(tx, { of: selected, after, not_in, type, limit: PAGE_ROWS }));
        } catch (err) {
          if (!(err instanceof AppError) || err.code !== 'unavailable') throw err;
          await pause(backoffMs(attempt, BACKOFF), signal);
        }
      }
      return [];
    };

    const events = (async function* (): AsyncGenerator<OutboxRow, void> {
      while (!signal.aborted) {
        if (stream.isRestored) throw gone(REFUSALS.events_restored);
        if (stream.isBehind) {
          // The queue fills from here on, so nothing is missing between the last page and its first row.
          stream.isBehind = false;
          let rows: readonly OutboxRow[];
          do {
            rows = await ownPage();
            if (stream.isRestored) break;
            for (const row of rows) {
              if (signal.aborted) return;
              yield row;
              after = row;
            }
          } while (rows.length === PAGE_ROWS);
          continue;
        }
        const row = stream.queue.shift();
        if (row === undefined)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        else if (isAfter(row, after) && !isKnown(row.writer_xid)) {
          yield row;
          after = row;
        }
      }
    })();
    const iterator: AsyncIterableIterator<OutboxRow, void> = {
      next: () => events.next(),
      return: () => {
        closed.abort(CLOSED);
        return events.return();
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  };

  return { follow };
};
