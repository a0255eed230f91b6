import { type MockCtx, must, type Req } from '../core/context.ts';
import { idOf, newestFirst, pageOf } from '../core/page.ts';
import type { WebSession } from '../core/rows.ts';

const view = ({ user_id: _, ...row }: WebSession) => row;

export const webSession = {
  webSessionList: async (ctx: MockCtx, { query }: Req<'webSessionList'>) => {
    const rows = ctx.world.webSessions.filter((one) => one.user_id === ctx.principal.id);
    return pageOf(ctx, query, newestFirst(rows), idOf, view);
  },
  webSessionRevoke: async (ctx: MockCtx, { params }: Req<'webSessionRevoke'>) => {
    const { webSessions } = ctx.world;
    const row = must(
      webSessions.find((one) => one.id === params.web_session_id && one.user_id === ctx.principal.id),
      'session',
    );
    webSessions.splice(webSessions.indexOf(row), 1);
    return undefined;
  },
};
