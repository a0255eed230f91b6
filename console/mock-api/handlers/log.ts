import { LOG_LEVELS } from '@gpuaas/contract';
import type { MockCtx, Req } from '../core/context.ts';
import { asIs, pageOf } from '../core/page.ts';

const DAY_MS = 86_400_000;

export const log = {
  adminLogList: async (ctx: MockCtx, { query }: Req<'adminLogList'>) => {
    const { world } = ctx;
    const since = query.since === undefined ? world.now() - DAY_MS : Date.parse(query.since);
    const rows = world.logs
      .map((line, index) => ({ line, index }))
      .filter(({ line }) => Date.parse(line.logged_at) >= since)
      .filter(({ line }) => query.correlation_id === undefined || line.correlation_id === query.correlation_id)
      .filter(({ line }) => query.node_id === undefined || line.node_id === query.node_id)
      .filter(
        ({ line }) => query.level === undefined || LOG_LEVELS.indexOf(line.level) >= LOG_LEVELS.indexOf(query.level),
      )
      .sort((a, b) => (a.line.logged_at < b.line.logged_at ? -1 : a.line.logged_at > b.line.logged_at ? 1 : 0));
    return pageOf(
      ctx,
      query,
      rows,
      ({ index }) => String(index),
      ({ line }) => asIs(line),
    );
  },
};
