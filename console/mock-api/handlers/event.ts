/** Events as pages and as streams. A stream starts now, or after the event that its reader saw last, which must still be kept. */
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { type MockCtx, organizationOf, projectOf, type Req } from '../core/context.ts';
import { Refusal } from '../core/errors.ts';
import { asIs, idOf, pageOf } from '../core/page.ts';
import type { Event, KeptEvent, OrganizationEvent } from '../core/rows.ts';
import type { World } from '../core/world.ts';

const isOfProject =
  (projectId: string) =>
  (event: KeptEvent): event is Event =>
    event.projectid === projectId && event.organizationid !== undefined;

const isOfOrganization =
  (organizationId: string) =>
  (event: KeptEvent): event is OrganizationEvent =>
    event.organizationid === organizationId;

type Wanted<T extends KeptEvent> = Readonly<{
  is(event: KeptEvent): event is T;
  type: string | undefined;
  after: string | undefined;
}>;

const isOfType =
  (type: string | undefined) =>
  (event: KeptEvent): boolean =>
    type === undefined || event.type === type;

/** Not a generator: a generator that is suspended in an await cannot be closed before the next event. */
const follow = <T extends KeptEvent>(world: World, { is, type, after }: Wanted<T>): AsyncIterable<T> => {
  // By ID and not by position: old events are dropped while the stream is open.
  const seen = after === undefined ? undefined : world.events.find((one) => one.id === after);
  if (after !== undefined && (seen === undefined || !is(seen))) throw new Refusal('gone', REFUSALS.events_gone);
  let last = seen?.id ?? world.events.at(-1)?.id ?? '';
  let isOver = false;
  let wake = Promise.withResolvers<void>();
  const listener = () => wake.resolve();
  world.listeners.add(listener);
  const take = (): T | undefined => {
    for (const one of world.events) {
      if (one.id <= last) continue;
      last = one.id;
      if ((type === undefined || one.type === type) && is(one)) return one;
    }
    return undefined;
  };
  const iterator: AsyncIterator<T> = {
    next: async () => {
      while (!isOver) {
        const value = take();
        if (value !== undefined) return { done: false, value };
        await wake.promise;
        wake = Promise.withResolvers<void>();
      }
      return { done: true, value: undefined };
    },
    return: async () => {
      isOver = true;
      world.listeners.delete(listener);
      wake.resolve();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
};

export const event = {
  eventList: async (ctx: MockCtx, { query }: Req<'eventList'>) => {
    const rows = ctx.world.events.filter(isOfProject(projectOf(ctx))).filter(isOfType(query.type));
    return pageOf(ctx, query, rows, idOf, asIs);
  },
  organizationEventList: async (ctx: MockCtx, { query }: Req<'organizationEventList'>) => {
    const rows = ctx.world.events.filter(isOfOrganization(organizationOf(ctx))).filter(isOfType(query.type));
    return pageOf(ctx, query, rows, idOf, asIs);
  },
  organizationEventStream: async (ctx: MockCtx, { query, last_event_id: after }: Req<'organizationEventStream'>) =>
    follow(ctx.world, { is: isOfOrganization(organizationOf(ctx)), type: query.type, after }),
  eventStream: async (ctx: MockCtx, { query, last_event_id: after }: Req<'eventStream'>) =>
    follow(ctx.world, { is: isOfProject(projectOf(ctx)), type: query.type, after }),
  adminEventStream: async (ctx: MockCtx, { query, last_event_id: after }: Req<'adminEventStream'>) =>
    follow(ctx.world, { is: (one): one is KeptEvent => one !== undefined, type: query.type, after }),
};
