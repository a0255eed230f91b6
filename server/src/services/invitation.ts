import type { PublicApi, RequestOf, TenantRole } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import { deleteGroupAccessBlock } from '../db/group-access-block.ts';
import * as db from '../db/invitation.ts';
import { findMember, findOrganization, insertMembership, keepMembership } from '../db/organization.ts';
import { findUser } from '../db/user.ts';
import { acceptRefusal } from '../domain/invitation.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { assertStillAllowed } from '../identity/permission-recheck.ts';
import { hashToken, mintToken } from '../identity/token.ts';
import { organizationOf, principalOf } from '../pipeline/caller.ts';
import { assertBelowLimit } from '../pipeline/limit.ts';
import { listPage } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const LIFETIME_DEFAULT_S = 7 * 24 * 3600;

export const list = (ctx: ReadCtx, { query }: Req<'invitationList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) => db.listInvitations(reader, organizationOf(ctx), page),
    (row) => row.id,
    (row) => row,
  );

type Invited = Readonly<{
  organization_id: string;
  email: string;
  role: TenantRole;
  expires_in_s?: number | undefined;
}>;

/** The token is returned once; only its hash is stored. */
export const invite = async (
  ctx: WriteCtx,
  { organization_id, email, role, expires_in_s = LIFETIME_DEFAULT_S }: Invited,
) => {
  const { token, hash } = mintToken('invitation');
  const id = mintId('inv');
  const invitation = await db.insertInvitation(ctx.tx, {
    id,
    organization_id,
    email: email.toLowerCase(),
    role,
    token_hash: hash,
    invited_by: principalOf(ctx).id,
    expires_in_s,
  });
  if (invitation === undefined) throw new AppError('internal', 'The invitation was not created.');
  ctx.emit('invitation.created', { subject: id, organization_id, data: { organization_id, invitation_id: id } });
  return { invitation, token };
};

export const create = async (ctx: WriteCtx, { body }: Req<'invitationCreate'>) => {
  const organization_id = organizationOf(ctx);
  const roles = await assertStillAllowed(ctx, 'invitation.create');
  if (body.role === 'owner' && !roles.includes('tenant:owner'))
    throw new AppError('permission_denied', REFUSALS.invite_owner);
  await assertBelowLimit(ctx, 'invitations', organization_id);
  const made = await invite(ctx, { organization_id, ...body });
  ctx.target('invitation', made.invitation.id);
  ctx.note({ role: body.role });
  return made;
};

export const revoke = async (ctx: WriteCtx, { params }: Req<'invitationRevoke'>): Promise<undefined> => {
  const organization_id = organizationOf(ctx);
  if (!(await db.revokeInvitation(ctx.tx, organization_id, params.invitation_id))) {
    const found = await db.findInvitation(ctx.tx, organization_id, params.invitation_id);
    throw found === undefined ? notFound('invitation') : conflict(REFUSALS.invitation_ended(found.state));
  }
  ctx.emit('invitation.revoked', {
    subject: params.invitation_id,
    data: { organization_id, invitation_id: params.invitation_id },
  });
};

export const accept = async (ctx: WriteCtx, { body }: Req<'invitationAccept'>) => {
  const caller = principalOf(ctx);
  // The invited user is not a member yet, so the lookup by token crosses tenants; the token is the proof.
  ctx.tx.enter({ tenant_id: '*', principal_id: caller.id });
  const invitation = await db.lockInvitationByToken(ctx.tx, hashToken(body.token));
  const addressed =
    invitation !== undefined && caller.email_verified && caller.email?.toLowerCase() === invitation.email;
  if (invitation === undefined || !addressed) throw notFound('invitation for your verified email address');
  if (invitation.state !== 'pending') throw conflict(REFUSALS.invitation_ended(invitation.state));
  const { organization_id, role } = invitation;
  const membership = { organization_id, user_id: caller.id, role };
  const [member, inviter, author] = [
    await findMember(ctx.tx, organization_id, caller.id),
    await findMember(ctx.tx, organization_id, invitation.invited_by),
    await findUser(ctx.tx, invitation.invited_by),
  ];
  const refusal = acceptRefusal({
    ...{ ...membership, invited_by: invitation.invited_by },
    ...{ inviter_role: inviter?.role ?? null, inviter_is_operator: (author?.platform_role ?? null) !== null },
    source: member?.source ?? null,
  });
  if (refusal !== null) throw conflict(refusal);
  if (member === undefined) await assertBelowLimit(ctx, 'members', organization_id);
  // The table decides: two invitations to one organization may be accepted at the same moment.
  if (!(await insertMembership(ctx.tx, membership)) && !(await keepMembership(ctx.tx, membership)))
    throw conflict(REFUSALS.already_member);
  await deleteGroupAccessBlock(ctx.tx, { organization_id, project_id: null, user_id: caller.id });
  await db.markInvitationAccepted(ctx.tx, invitation.id, caller.id);
  ctx.setTarget(organization_id);
  ctx.target('invitation', invitation.id);
  ctx.note({ role, organization_id });
  ctx.emit('organization.member.changed', {
    subject: caller.id,
    organization_id,
    data: { organization_id, user_id: caller.id, role },
  });
  const organization = await findOrganization(ctx.tx, organization_id);
  if (organization === undefined) throw notFound('organization');
  return organization;
};
