import { type PublicApi, type RequestOf, ROLES, scopeAllows } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import * as tokens from '../db/api-token.ts';
import { isUniqueViolation } from '../db/errors.ts';
import { holdProject } from '../db/project.ts';
import * as db from '../db/service-account.ts';
import { deleteServiceAccount } from '../db/statements/service-account-token.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { assertStillAllowed } from '../identity/permission-recheck.ts';
import { assertScopesWithin, lifetimeWithin } from '../identity/scopes.ts';
import { hashesEqual, hashToken, mintToken } from '../identity/token.ts';
import { onlyText, organizationOf, principalOf, projectOf, resourceChanged } from '../pipeline/caller.ts';
import { assertBelowLimit } from '../pipeline/limit.ts';
import { decodeCursor, listPage, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const ACCESS_TOKEN_LIFETIME_S = 3600;

export const list = (ctx: ReadCtx, { query }: Req<'serviceAccountList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listServiceAccounts(reader, projectOf(ctx), page),
    (row) => row.id,
    (row) => row,
  );

export const create = async (ctx: WriteCtx, { body }: Req<'serviceAccountCreate'>) => {
  const { token: client_secret, hash } = mintToken('client_secret');
  const id = mintId('sva');
  const project_id = projectOf(ctx);
  if (!(await holdProject(ctx.tx, project_id))) throw notFound('project');
  await assertStillAllowed(ctx, 'service_account.create');
  assertScopesWithin(principalOf(ctx), ROLES.service_account, 'service_account');
  await assertBelowLimit(ctx, 'service_accounts', organizationOf(ctx));
  try {
    const service_account = await db.insertServiceAccount(ctx.tx, {
      id,
      organization_id: organizationOf(ctx),
      project_id,
      name: body.name,
      description: body.description ?? null,
      secret_hash: hash,
    });
    if (service_account === undefined) throw new AppError('internal', 'The service account was not created.');
    ctx.target('service_account', id);
    ctx.emit('service_account.created', { subject: id, data: { service_account_id: id, name: body.name } });
    return { service_account, client_secret };
  } catch (err) {
    if (isUniqueViolation(err, 'service_accounts_name'))
      throw new AppError('already_exists', REFUSALS.service_account_name_taken(body.name));
    throw err;
  }
};

export const get = (ctx: ReadCtx, { params }: Req<'serviceAccountGet'>) =>
  ctx.read(async (reader) => {
    const row = await db.findServiceAccount(reader, projectOf(ctx), params.service_account_id);
    if (row === undefined) throw notFound('service account');
    return row;
  });

export const update = async (ctx: WriteCtx, req: Req<'serviceAccountUpdate'>) => {
  const { service_account_id } = req.params;
  const change = { state: req.body.state ?? null, description: req.body.description ?? null };
  const row = await db.updateServiceAccount(ctx.tx, projectOf(ctx), service_account_id, req.if_match, change);
  if (row === undefined) {
    const current = await db.findServiceAccount(ctx.tx, projectOf(ctx), service_account_id);
    throw current === undefined ? notFound('service account') : resourceChanged(current.version);
  }
  ctx.note(change.state === null ? {} : { state: change.state });
  ctx.emit('service_account.updated', {
    subject: row.id,
    data: { service_account_id: row.id, name: row.name, state: row.state },
  });
  return row;
};

export const remove = async (ctx: WriteCtx, { params }: Req<'serviceAccountDelete'>): Promise<undefined> => {
  const row = await deleteServiceAccount(ctx.tx, projectOf(ctx), params.service_account_id);
  if (row === undefined) throw notFound('service account');
  ctx.emit('service_account.deleted', { subject: row.id, data: { service_account_id: row.id, name: row.name } });
};

export const secretRotate = async (ctx: WriteCtx, { params, body }: Req<'serviceAccountSecretRotate'>) => {
  const { token: client_secret, hash } = mintToken('client_secret');
  const overlapS = body.overlap_s ?? 0;
  await assertStillAllowed(ctx, 'service_account.update');
  assertScopesWithin(principalOf(ctx), ROLES.service_account, 'service_account');
  const service_account = await db.rotateSecret(ctx.tx, projectOf(ctx), params.service_account_id, hash, overlapS);
  if (service_account === undefined) throw notFound('service account');
  ctx.note({ overlap_s: overlapS });
  const { id, name, state } = service_account;
  ctx.emit('service_account.updated', { subject: id, data: { service_account_id: id, name, state } });
  return { service_account, client_secret };
};

export const tokenList = async (ctx: ReadCtx, { params, query }: Req<'serviceAccountTokenList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const after = onlyText(decodeCursor(ctx, query.cursor)?.[0]);
  const rows = await ctx.read(async (reader) => {
    if ((await db.findServiceAccount(reader, projectOf(ctx), params.service_account_id)) === undefined)
      throw notFound('service account');
    return tokens.listApiTokens(reader, { service_account_id: params.service_account_id }, { after, limit: limit + 1 });
  });
  return pageOf(
    ctx,
    limit,
    rows,
    (row) => [row.id],
    (row) => row,
  );
};

export const tokenCreate = async (ctx: WriteCtx, { params, body }: Req<'serviceAccountTokenCreate'>) => {
  const account = await db.findServiceAccount(ctx.tx, projectOf(ctx), params.service_account_id);
  if (account === undefined) throw notFound('service account');
  if (account.state !== 'enabled') throw conflict(REFUSALS.service_account_disabled);
  await assertStillAllowed(ctx, 'service_account.token.create');
  assertScopesWithin(principalOf(ctx), body.scopes, 'service_account');
  await assertBelowLimit(ctx, 'service_account_tokens', organizationOf(ctx));
  const { token, hash, prefix } = mintToken('service_account');
  const id = mintId('tok');
  const api_token = await tokens.insertApiToken(ctx.tx, {
    id,
    kind: 'service_account',
    user_id: null,
    service_account_id: account.id,
    organization_id: organizationOf(ctx),
    project_id: projectOf(ctx),
    name: body.name,
    token_prefix: prefix,
    token_hash: hash,
    scopes: body.scopes,
    expires_in_s: lifetimeWithin(ctx, body.expires_in_s),
  });
  if (api_token === undefined) throw new AppError('internal', 'The token was not created.');
  ctx.target('api_token', id);
  ctx.note({ scopes: body.scopes, expires_at: api_token.expires_at, service_account_id: account.id });
  return { api_token, token };
};

export const tokenRevoke = async (ctx: WriteCtx, { params }: Req<'serviceAccountTokenRevoke'>): Promise<undefined> => {
  const account = await db.findServiceAccount(ctx.tx, projectOf(ctx), params.service_account_id);
  if (account === undefined) throw notFound('service account');
  if (!(await tokens.revokeApiToken(ctx.tx, { service_account_id: account.id }, params.token_id)))
    throw notFound('token');
};

/** Client credentials. An unknown account costs the same lookup and gets the same response as a wrong secret. */
export const tokenIssue = async (ctx: WriteCtx, { body }: Req<'serviceAccountTokenIssue'>) => {
  // There is no signed-in caller: the secret itself proves the account.
  ctx.tx.enter({ tenant_id: '*', principal_id: '' });
  const account = await db.findSecret(ctx.tx, body.client_id);
  const presented = hashToken(body.client_secret);
  const matches =
    account !== undefined &&
    [account.secret_hash, account.previous_secret_hash].some((hash) => hash !== null && hashesEqual(hash, presented));
  if (!matches || account.state !== 'enabled')
    throw new AppError('unauthenticated', REFUSALS.wrong_client_secret, {
      about: { kind: 'service_account', id: body.client_id },
    });
  const wanted = (body.scope ?? 'all').split(' ').filter(Boolean);
  const scopes = wanted.length === 0 ? ['all'] : wanted;
  if (!ROLES.service_account.some((permission) => scopeAllows(scopes, permission)))
    throw new AppError('invalid_request', REFUSALS.no_service_account_scope, {
      errors: [
        { pointer: '/body/scope', code: 'unknown_scope', message: 'includes no permission of service accounts' },
      ],
    });
  await assertBelowLimit(ctx, 'service_account_tokens', account.organization_id);
  const { token, hash, prefix } = mintToken('access');
  const id = mintId('tok');
  await tokens.insertApiToken(ctx.tx, {
    id,
    kind: 'access',
    user_id: null,
    service_account_id: account.id,
    organization_id: account.organization_id,
    project_id: account.project_id,
    name: 'client credentials',
    token_prefix: prefix,
    token_hash: hash,
    scopes,
    expires_in_s: ACCESS_TOKEN_LIFETIME_S,
  });
  ctx.setTarget(account.organization_id, account.project_id);
  ctx.target('service_account', account.id);
  ctx.note({ token_id: id, scopes });
  return {
    access_token: token,
    token_type: 'Bearer' as const,
    expires_in: ACCESS_TOKEN_LIFETIME_S,
    scope: scopes.join(' '),
  };
};
