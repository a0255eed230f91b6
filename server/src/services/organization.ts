import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import { isUniqueViolation } from '../db/errors.ts';
import { revokeInvitationsAround } from '../db/invitation.ts';
import * as db from '../db/organization.ts';
import { insertProject } from '../db/project.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { assertStillAllowed } from '../identity/permission-recheck.ts';
import { organizationOf, principalOf, resourceChanged } from '../pipeline/caller.ts';
import { assertBelowLimit } from '../pipeline/limit.ts';
import { listPage } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

export const list = (ctx: ReadCtx, { query }: Req<'organizationList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listOrganizationsOf(reader, principalOf(ctx).id, page),
    (row) => row.id,
    ({ role: _, ...row }) => row,
  );

export const create = async (ctx: WriteCtx, { body }: Req<'organizationCreate'>) => {
  const id = mintId('org');
  const projectId = mintId('prj');
  const created_by = principalOf(ctx).id;
  // A former member no longer sees an organization, but it counts.
  ctx.tx.enter({ tenant_id: '*', principal_id: created_by });
  await assertBelowLimit(ctx, 'organizations', created_by);
  // The caller belongs to no tenant yet that could hold the new rows: from here on the transaction uses the scope of
  // the new one.
  ctx.tx.enter({ tenant_id: id, principal_id: created_by });
  try {
    const inserted = await db.insertOrganization(ctx.tx, {
      id,
      name: body.name,
      display_name: body.display_name ?? body.name,
      kind: 'enterprise',
      created_by,
    });
    await db.insertMembership(ctx.tx, { organization_id: id, user_id: created_by, role: 'owner' });
    await insertProject(ctx.tx, { id: projectId, organization_id: id, name: 'default', display_name: 'Default' });
    ctx.setTarget(id);
    ctx.emit('organization.created', {
      subject: id,
      organization_id: id,
      data: { organization_id: id, name: body.name, kind: 'enterprise' },
    });
    ctx.emit('project.created', {
      subject: projectId,
      organization_id: id,
      project_id: projectId,
      data: { project_id: projectId, name: 'default' },
    });
    const row = inserted.rows[0];
    if (row === undefined) throw new AppError('internal', 'The organization was not created.');
    return row;
  } catch (err) {
    if (isUniqueViolation(err, 'organizations_name_key'))
      throw new AppError('already_exists', REFUSALS.organization_name_taken(body.name));
    throw err;
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
  await assertStillAllowed(ctx, 'organization.member.update');
  await guardOwners(ctx, user_id, req.body.role);
  if (!(await db.updateMemberRole(ctx.tx, organization_id, user_id, req.if_match, req.body.role)))
    throw resourceChanged(before.version);
  ctx.note({ role_before: before.role, role_after: req.body.role });
  ctx.emit('organization.member.changed', {
    subject: user_id,
    data: { organization_id, user_id, role: req.body.role },
  });
  const row = await db.findMember(ctx.tx, organization_id, user_id);
  if (row === undefined) throw notFound('member');
  return row;
};

export const memberRemove = async (ctx: WriteCtx, req: Req<'organizationMemberRemove'>): Promise<undefined> => {
  const organization_id = organizationOf(ctx);
  const { user_id } = req.params;
  if ((await db.findMember(ctx.tx, organization_id, user_id)) === undefined) throw notFound('member');
  await guardOwners(ctx, user_id, null);
  // While the user is still a member: afterwards row-level security hides the address.
  await revokeInvitationsAround(ctx.tx, organization_id, user_id);
  await db.deleteMember(ctx.tx, organization_id, user_id);
  ctx.emit('organization.member.removed', { subject: user_id, data: { organization_id, user_id } });
};
