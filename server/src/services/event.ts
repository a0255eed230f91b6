/**
 * Events in commit order, those of a project or an organization as pages and as a stream, the control plane's as a stream. All read only below
 * the oldest transaction still running, so an event that commits late is delivered late but never skipped, and none is
 * delivered twice. Streams share the reader of `pipeline/event-feed.ts`.
 */
import type { PublicApi, RequestOf, ResponseOf } from '@gpuaas/contract';
import type { ReadCtx } from '../context.ts';
import { type EventsOf, listEvents, type OutboxPosition, type OutboxRow } from '../db/outbox.ts';
import { toCloudEvent } from '../domain/cloud-event.ts';
import { decodeCursor, malformedCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';

type Request<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;
type Response<K extends keyof PublicApi> = Promise<ResponseOf<PublicApi[K]>>;
type ProjectEvent = Awaited<Response<'eventList'>>['items'][number];
type OrganizationEvent = Awaited<Response<'organizationEventList'>>['items'][number];

const START: OutboxPosition = { xid: '0', id: '' };
const XID_MAX = 2n ** 64n - 1n;

/** Rows of a project always name it and its organization. */
const projectEvent = (row: OutboxRow): ProjectEvent => ({
  ...toCloudEvent(row),
  organizationid: row.organization_id ?? '',
  projectid: row.project_id ?? '',
});

/** Rows selected by their organization always name it. */
const organizationEvent = (row: OutboxRow): OrganizationEvent => ({
  ...toCloudEvent(row),
  organizationid: row.organization_id ?? '',
});

const positionOf = (ctx: ReadCtx, cursor: string | undefined): OutboxPosition => {
  const key = decodeCursor(ctx, cursor, 2);
  if (key === undefined) return START;
  const [xid, id] = key;
  if (typeof xid !== 'string' || !/^\d{1,20}$/.test(xid) || BigInt(xid) > XID_MAX) throw malformedCursor();
  return { xid, id: String(id) };
};

type ListQuery = Readonly<{ limit?: number; cursor?: string; type?: string }>;

const pageOfEvents = async <Item>(ctx: ReadCtx, of: EventsOf, query: ListQuery, view: (row: OutboxRow) => Item) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const after = positionOf(ctx, query.cursor);
  const rows = await ctx.read((reader) => listEvents(reader, { of, after, type: query.type, limit: limit + 1 }));
  return pageOf(ctx, limit, rows, (row) => [row.xid, row.id], view);
};

export const eventList = (ctx: ReadCtx, { params, query }: Request<'eventList'>): Response<'eventList'> =>
  pageOfEvents(ctx, { project_id: params.project_id }, query, projectEvent);

export const organizationEventList = (
  ctx: ReadCtx,
  { params, query }: Request<'organizationEventList'>,
): Response<'organizationEventList'> =>
  pageOfEvents(ctx, { organization_id: params.organization_id }, query, organizationEvent);

/** Each event of a stream as its caller sees it. */
const shown = <Item>(
  rows: AsyncIterableIterator<OutboxRow, void>,
  show: (row: OutboxRow) => Item,
): AsyncIterableIterator<Item, void> => {
  const of = (step: IteratorResult<OutboxRow, void>): IteratorResult<Item, void> =>
    step.done ? step : { done: false, value: show(step.value) };
  const iterator: AsyncIterableIterator<Item, void> = {
    next: async () => of(await rows.next()),
    return: async () => {
      await rows.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
};

export const eventStream = async (ctx: ReadCtx, req: Request<'eventStream'>): Response<'eventStream'> => {
  const { project_id } = req.params;
  const { type } = req.query;
  const of = { organization_id: ctx.organization_id ?? '', project_id };
  const rows = await ctx.deps.events.follow({ read: ctx.read, of, type, after_id: req.last_event_id });
  return shown(rows, projectEvent);
};

export const organizationEventStream = async (
  ctx: ReadCtx,
  { params, query: { type }, last_event_id }: Request<'organizationEventStream'>,
): Response<'organizationEventStream'> => {
  const of = { organization_id: params.organization_id };
  const rows = await ctx.deps.events.follow({ read: ctx.read, of, type, after_id: last_event_id });
  return shown(rows, organizationEvent);
};

export const adminEventStream = async (
  ctx: ReadCtx,
  req: Request<'adminEventStream'>,
): Response<'adminEventStream'> => {
  const { type } = req.query;
  const rows = await ctx.deps.events.follow({ read: ctx.read, of: null, type, after_id: req.last_event_id });
  return shown(rows, toCloudEvent);
};
