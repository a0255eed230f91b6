import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import { putGroupAccessBlock } from '../db/group-access-block.ts';
import * as db from '../db/organization.ts';
import { getSitePolicy } from '../db/site-policy.ts';
import { findUser } from '../db/user.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { organizationRefusal, ownGpuLimit } from '../domain/sign-up.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { revokeLostKeysOf } from '../identity/lost-access.ts';
import { endMembership } from '../identity/member-end.ts';
import { createOrganization, isNameTaken } from '../identity/new-organization.ts';
import { assertStillAllowed } from '../identity/permission-recheck.ts';
import { organizationOf, principalOf, resourceChanged } from '../pipeline/caller.ts';
import { assertBelowLimit } from '../pipeline/limit.ts';
import { listPage } from '../pipeline/page.ts';
import { invite } from './invitation.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

export const list = (ctx: ReadCtx, { query }: Req<'organizationList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listOrganizationsOf(reader, principalOf(ctx).id, page),
    (row) => row.id,
    ({ role: _, ...row }) => row,
  );

const nameTaken = (err: unknown, name: string): unknown =>
  isNameTaken(err) ? new AppError('already_exists', REFUSALS.organization_name_taken(name)) : err;

export const create = async (ctx: WriteCtx, { body }: Req<'organizationCreate'>) => {
  const id = mintId('org');
  const caller = principalOf(ctx);
  const created_by = caller.id;
  // The policy is the platform's; and a former member no longer sees an organization, but it counts.
  ctx.tx.enter({ tenant_id: '*', principal_id: created_by });
  const policy = await getSitePolicy(ctx.tx);
  const refusal = organizationRefusal(policy, caller);
  if (refusal !== null) throw new AppError('policy_denied', refusal);
  await assertBelowLimit(ctx, 'organizations', created_by);
  const gpu_limit = ownGpuLimit(policy, await db.hasCreatedOrganization(ctx.tx, created_by));
  // The caller belongs to no tenant yet that could hold the new rows: from here on the transaction uses the scope of
  // the new one.
  ctx.tx.enter({ tenant_id: id, principal_id: created_by });
  try {
    const wanted = {
      id,
      name: body.name,
      display_name: body.display_name ?? body.name,
      kind: 'enterprise',
      created_by,
      owner_id: created_by,
      gpu_limit,
    } as const;
    const { organization } = await createOrganization(ctx.tx, wanted, ctx.emit);
    ctx.setTarget(id);
    return organization;
  } catch (err) {
    throw nameTaken(err, body.name);
  }
};

/** An operator creates an organization for somebody: a user, or a person who is invited as its owner. */
export const adminCreate = async (ctx: WriteCtx, { body }: Req<'adminOrganizationCreate'>) => {
  const { owner_user_id = null, owner_email = null } = body;
  if ((owner_user_id === null) === (owner_email === null)) throw new AppError('invalid_request', REFUSALS.one_owner);
  if (owner_user_id !== null) {
    const owner = await findUser(ctx.tx, owner_user_id);
    if (owner === undefined) throw notFound('user');
    if (owner.state !== 'active') throw conflict(REFUSALS.user_not_active(owner.state));
  }
  const id = mintId('org');
  const created_by = principalOf(ctx).id;
  const { default_gpu_limit } = await getSitePolicy(ctx.tx);
  const limit =
    body.gpu_limit === undefined
      ? { gpu_limit: default_gpu_limit }
      : { gpu_limit: body.gpu_limit, is_limit_set: true as const };
  try {
    const { organization } = await createOrganization(
      ctx.tx,
      {
        id,
        name: body.name,
        display_name: body.display_name ?? body.name,
        kind: 'enterprise',
        created_by: owner_user_id ?? created_by,
        owner_id: owner_user_id,
        ...limit,
      },
      ctx.emit,
    );
    ctx.setTarget(id);
    ctx.target('organization', id);
    ctx.note({ owner_user_id, gpu_limit: limit.gpu_limit });
    if (owner_email === null) return { organization, invitation: null, token: null };
    const { invitation, token } = await invite(ctx, { organization_id: id, email: owner_email, role: 'owner' });
    return { organization, invitation, token };
  } catch (err) {
    throw nameTaken(err, body.name);
  }
};

export const get = (ctx: ReadCtx) =>
  ctx.read(async (reader) => {
    const row = await db.findOrganization(reader, organizationOf(ctx));
    if (row === undefined) throw notFound('organization');
    return row;
  });

export const update = async (ctx: WriteCtx, req: Req<'organizationUpdate'>) => {
  const id = organizationOf(ctx);
  const row = await db.updateOrganization(ctx.tx, id, req.if_match, req.body.display_name);
  if (row === undefined) throw resourceChanged((await db.findOrganization(ctx.tx, id))?.version ?? 0);
  ctx.emit('organization.updated', { subject: id, data: { organization_id: id, name: row.name } });
  return row;
};

export const memberList = (ctx: ReadCtx, { query }: Req<'organizationMemberList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listMembers(reader, organizationOf(ctx), page),
    (row) => row.user_id,
    (row) => row,
  );

/** An organization without an owner could never be managed again, and admins must not promote themselves. */
const guardOwners = async (ctx: WriteCtx, userId: string, nextRole: string | null): Promise<void> => {
  const owners = await db.lockOwners(ctx.tx, organizationOf(ctx));
  const callerIsOwner = owners.includes(principalOf(ctx).id);
  const touchesOwner = owners.includes(userId) || nextRole === 'owner';
  if (touchesOwner && !callerIsOwner) throw new AppError('permission_denied', REFUSALS.owner_by_owner);
  if (owners.length === 1 && owners[0] === userId && nextRole !== 'owner') throw conflict(REFUSALS.last_owner);
};

export const memberUpdate = async (ctx: WriteCtx, req: Req<'organizationMemberUpdate'>) => {
  const organization_id = organizationOf(ctx);
  const { user_id } = req.params;
  const before = await db.findMember(ctx.tx, organization_id, user_id);
  if (before === undefined) throw notFound('member');
  if (before.source === 'group') throw conflict(REFUSALS.membership_by_group);
  await assertStillAllowed(ctx, 'organization.member.update');
  await guardOwners(ctx, user_id, req.body.role);
  if (!(await db.updateMemberRole(ctx.tx, organization_id, user_id, req.if_match, req.body.role)))
    throw resourceChanged(before.version);
  ctx.note({ role_before: before.role, role_after: req.body.role });
  ctx.emit('organization.member.changed', {
    subject: user_id,
    data: { organization_id, user_id, role: req.body.role },
  });
  // A lower role may reach fewer projects.
  await revokeLostKeysOf(ctx, user_id);
  const row = await db.findMember(ctx.tx, organization_id, user_id);
  if (row === undefined) throw notFound('member');
  return row;
};

export const memberRemove = async (ctx: WriteCtx, req: Req<'organizationMemberRemove'>): Promise<undefined> => {
  const organization_id = organizationOf(ctx);
  const { user_id } = req.params;
  const member = await db.findMember(ctx.tx, organization_id, user_id);
  if (member === undefined) throw notFound('member');
  await guardOwners(ctx, user_id, null);
  // The next sign-in would undo the removal.
  if (member.source === 'group') await putGroupAccessBlock(ctx.tx, { organization_id, project_id: null, user_id });
  ctx.note({ source: member.source });
  await endMembership(ctx.tx, { organization_id, user_id }, ctx.emit);
  await revokeLostKeysOf(ctx, user_id);
};
