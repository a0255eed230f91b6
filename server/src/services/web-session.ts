import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx, WriteCtx } from '../context.ts';
import * as db from '../db/web-session.ts';
import { notFound } from '../errors.ts';
import { principalOf } from '../pipeline/caller.ts';
import { listPage } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

export const list = (ctx: ReadCtx, { query }: Req<'webSessionList'>) => {
  const { id, credential } = principalOf(ctx);
  return listPage(
    ctx,
    query,
    (reader, page) => db.listWebSessions(reader, id, page),
    (row) => row.id,
    (row) => ({ ...row, is_current: row.id === credential.id }),
  );
};

export const revoke = async (ctx: WriteCtx, { params }: Req<'webSessionRevoke'>): Promise<undefined> => {
  if (!(await db.deleteWebSession(ctx.tx, principalOf(ctx).id, params.web_session_id))) throw notFound('session');
};
