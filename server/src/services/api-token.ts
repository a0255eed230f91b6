import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import * as db from '../db/api-token.ts';
import { findProject } from '../db/project.ts';
import { AppError, notFound } from '../errors.ts';
import { assertScopesWithin, lifetimeWithin } from '../identity/scopes.ts';
import { mintToken } from '../identity/token.ts';
import { callerHolds, principalOf } from '../pipeline/caller.ts';
import { assertBelowLimit } from '../pipeline/limit.ts';
import { listPage } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

export const list = (ctx: ReadCtx, { query }: Req<'apiTokenList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listApiTokens(reader, { user_id: principalOf(ctx).id }, page),
    (row) => row.id,
    (row) => row,
  );

/** A token bound to a project passes on the same binding; it cannot reach another project. */
const projectBinding = async (ctx: WriteCtx, wanted: string | undefined): Promise<string | null> => {
  const bound = principalOf(ctx).credential.project_id;
  if (wanted === undefined) return bound;
  if (bound !== null && bound !== wanted) throw notFound('project');
  const project = await findProject(ctx.tx, wanted);
  if (project === undefined || !callerHolds(ctx, 'project.read', project.organization_id, project.id))
    throw notFound('project');
  return project.id;
};

export const create = async (ctx: WriteCtx, { body }: Req<'apiTokenCreate'>) => {
  const caller = principalOf(ctx);
  assertScopesWithin(caller, body.scopes, 'user', body.expires_in_s);
  const project_id = await projectBinding(ctx, body.project_id);
  await assertBelowLimit(ctx, 'personal_tokens', caller.id);
  const { token, hash, prefix } = mintToken('personal');
  const id = mintId('tok');
  const api_token = await db.insertApiToken(ctx.tx, {
    id,
    kind: 'personal',
    user_id: caller.id,
    service_account_id: null,
    organization_id: null,
    project_id,
    name: body.name,
    token_prefix: prefix,
    token_hash: hash,
    scopes: body.scopes,
    expires_in_s: lifetimeWithin(ctx, body.expires_in_s),
  });
  if (api_token === undefined) throw new AppError('internal', 'The token was not created.');
  ctx.target('api_token', id);
  ctx.note({ scopes: body.scopes, expires_at: api_token.expires_at, project_id });
  return { api_token, token };
};

export const revoke = async (ctx: WriteCtx, { params }: Req<'apiTokenRevoke'>): Promise<undefined> => {
  if (!(await db.revokeApiToken(ctx.tx, { user_id: principalOf(ctx).id }, params.token_id))) throw notFound('token');
};
