import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx, WriteCtx } from '../context.ts';
import { listOrganizations } from '../db/organization.ts';
import * as db from '../db/user.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { revokeLostKeys } from '../identity/lost-access.ts';
import { principalOf, resourceChanged } from '../pipeline/caller.ts';
import { listPage } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const userView = ({ email_verified: _, groups: __, groups_at: ___, ...user }: db.UserRow) => user;

export const organizationList = (ctx: ReadCtx, { query }: Req<'adminOrganizationList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => listOrganizations(reader, { ...page, name: query.name ?? null }),
    (row) => row.id,
    (row) => row,
  );

export const userList = (ctx: ReadCtx, { query }: Req<'adminUserList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listUsers(reader, { ...page, email: query.email ?? null }),
    (row) => row.id,
    userView,
  );

export const userGet = (ctx: ReadCtx, { params }: Req<'adminUserGet'>) =>
  ctx.read(async (reader) => {
    const row = await db.findUser(reader, params.user_id);
    if (row === undefined) throw notFound('user');
    return userView(row);
  });

export const userUpdate = async (ctx: WriteCtx, req: Req<'adminUserUpdate'>) => {
  const superadmins = await db.lockSuperadmins(ctx.tx);
  // From the locked rows, not from cached roles: a user just demoted must not undo it.
  if (!superadmins.includes(principalOf(ctx).id))
    throw new AppError('permission_denied', 'You are no longer a superadmin.');
  const before = await db.findUser(ctx.tx, req.params.user_id);
  if (before === undefined) throw notFound('user');
  if (before.state === 'pending' && req.body.state !== undefined) throw conflict(REFUSALS.user_pending);
  const state = req.body.state ?? before.state;
  const platform_role = req.body.platform_role === undefined ? before.platform_role : req.body.platform_role;
  const staysSuperadmin = state === 'active' && platform_role === 'superadmin';
  if (superadmins.length === 1 && superadmins[0] === before.id && !staysSuperadmin)
    throw conflict(REFUSALS.last_superadmin);
  const row = await db.updateUser(ctx.tx, before.id, req.if_match, { state, platform_role });
  if (row === undefined) throw resourceChanged(before.version);
  if (state !== 'active') await revokeLostKeys(ctx.tx, { user_id: row.id, correlation_id: ctx.correlation_id });
  ctx.note({
    state_before: before.state,
    state_after: state,
    role_before: before.platform_role,
    role_after: platform_role,
  });
  return userView(row);
};
