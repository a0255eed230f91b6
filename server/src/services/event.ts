/**
 * Events in commit order, a project's as pages and as a stream, the control plane's as a stream. All read only below
 * the oldest transaction still running, so an event that commits late is told late but never left out, and none is told
 * twice.
 */
import type { PublicApi, RequestOf, ResponseOf } from '@gpuaas/contract';
import type { ReadCtx } from '../context.ts';
import type { Reader } from '../db/client.ts';
import { findEventPosition, getSnapshot, listEvents, type OutboxPosition, type OutboxRow } from '../db/outbox.ts';
import { toCloudEvent } from '../domain/cloud-event.ts';
import { decodeCursor, malformedCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';
import type { EventHub } from '../ports/events/hub.ts';

type Request<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;
type Response<K extends keyof PublicApi> = Promise<ResponseOf<PublicApi[K]>>;
type ProjectEvent = Awaited<Response<'eventList'>>['items'][number];

const START: OutboxPosition = { xid: '0', id: '' };
const XID_MAX = 2n ** 64n - 1n;
const STREAM_PAGE_ROWS = 200;
/** How long a stream goes without looking when nothing wakes it. */
const STREAM_POLL_MS = 1_000;

/** Rows of a project always name it and its organization. */
export const projectEvent = (row: OutboxRow): ProjectEvent => ({
  ...toCloudEvent(row),
  organizationid: row.organization_id ?? '',
  projectid: row.project_id ?? '',
});

const positionOf = (ctx: ReadCtx, cursor: string | undefined): OutboxPosition => {
  const key = decodeCursor(ctx, cursor, 2);
  if (key === undefined) return START;
  const [xid, id] = key;
  if (typeof xid !== 'string' || !/^\d{1,20}$/.test(xid) || BigInt(xid) > XID_MAX) throw malformedCursor();
  return { xid, id: String(id) };
};

export const eventList = async (ctx: ReadCtx, req: Request<'eventList'>): Response<'eventList'> => {
  const limit = req.query.limit ?? PAGE_LIMIT_DEFAULT;
  const after = positionOf(ctx, req.query.cursor);
  const rows = await ctx.read((reader) =>
    listEvents(reader, { project_id: req.params.project_id, after, type: req.query.type, limit: limit + 1 }),
  );
  return pageOf(ctx, limit, rows, (row) => [row.xid, row.id], projectEvent);
};

export type FollowOptions = Readonly<{
  read<T>(fn: (reader: Reader) => Promise<T>): Promise<T>;
  hub: EventHub;
  /** Null: every event of the control plane. */
  project_id: string | null;
  type?: string | undefined;
  /** An event of the same stream that the caller already has; unknown or purged means from now on. */
  after_id?: string | undefined;
  signal?: AbortSignal;
}>;

/**
 * Notes where it starts before it returns, so that whatever commits after that is told. Ends when the signal is
 * aborted or the consumer returns, at once also while it waits.
 */
export const followEvents = async <Item>(
  options: FollowOptions,
  show: (row: OutboxRow) => Item,
): Promise<AsyncIterableIterator<Item, void>> => {
  const { read, hub, project_id, type, after_id } = options;
  const closed = new AbortController();
  const signal = options.signal === undefined ? closed.signal : AbortSignal.any([options.signal, closed.signal]);
  const [snapshot, known] = await read((reader) =>
    Promise.all([
      getSnapshot(reader),
      after_id === undefined ? undefined : findEventPosition(reader, project_id, after_id),
    ]),
  );
  const not_in = known === undefined ? snapshot : undefined;
  // A snapshot prints as xmin:xmax:list, and below xmin nothing can commit any more.
  let after = known ?? { xid: snapshot.split(':')[0] ?? '0', id: '' };

  const events = (async function* () {
    while (!signal.aborted) {
      // Asked for before the look, so that a wake during the look is not lost.
      const woken = hub.wait(STREAM_POLL_MS, signal);
      const rows = await read((reader) =>
        listEvents(reader, { project_id, after, not_in, type, limit: STREAM_PAGE_ROWS }),
      );
      for (const row of rows) {
        if (signal.aborted) return;
        yield show(row);
        after = { xid: row.xid, id: row.id };
      }
      if (rows.length < STREAM_PAGE_ROWS) await woken;
    }
  })();
  const iterator: AsyncIterableIterator<Item, void> = {
    next: () => events.next(),
    return: () => {
      closed.abort();
      return events.return();
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
};

export const eventStream = (ctx: ReadCtx, req: Request<'eventStream'>): Response<'eventStream'> =>
  followEvents(
    {
      read: ctx.read,
      hub: ctx.deps.events,
      project_id: req.params.project_id,
      type: req.query.type,
      after_id: req.last_event_id,
    },
    projectEvent,
  );

export const adminEventStream = (ctx: ReadCtx, req: Request<'adminEventStream'>): Response<'adminEventStream'> =>
  followEvents(
    { read: ctx.read, hub: ctx.deps.events, project_id: null, type: req.query.type, after_id: req.last_event_id },
    toCloudEvent,
  );
