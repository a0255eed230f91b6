import { acceptRefusal } from '../../../server/src/domain/invitation.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { type MockCtx, must, organizationOf, type Req } from '../core/context.ts';
import { conflict, Refusal } from '../core/errors.ts';
import { assertBelowLimit } from '../core/limits.ts';
import { idOf, newestFirst, pageOf } from '../core/page.ts';
import { digestOf } from '../core/random.ts';
import type { Invitation } from '../core/rows.ts';

const WEEK_S = 604_800;
const view = ({ token: _, ...row }: Invitation) => row;

type New = Readonly<{ organization_id: string; email: string; role: Invitation['role']; expires_in_s?: number }>;

export const invite = (ctx: MockCtx, { organization_id, email, role, expires_in_s = WEEK_S }: New) => {
  const { world } = ctx;
  const id = world.mint('invitation');
  const row: Invitation = {
    id,
    organization_id,
    email: email.toLowerCase(),
    role,
    state: 'pending',
    invited_by: ctx.principal.id,
    expires_at: world.ago(-expires_in_s * 1000),
    accepted_at: null,
    created_at: world.ago(),
    token: `inv_${digestOf(id, 40)}`,
  };
  world.invitations.push(row);
  ctx.emit('invitation.created', { subject: id, organization_id, data: { organization_id, invitation_id: id } });
  return { invitation: view(row), token: row.token };
};

export const invitation = {
  invitationList: async (ctx: MockCtx, { query }: Req<'invitationList'>) => {
    const rows = ctx.world.invitations.filter((one) => one.organization_id === organizationOf(ctx));
    return pageOf(ctx, query, newestFirst(rows), idOf, view);
  },
  invitationCreate: async (ctx: MockCtx, { body }: Req<'invitationCreate'>) => {
    const { world } = ctx;
    const organization_id = organizationOf(ctx);
    const own = world.members.find((m) => m.organization_id === organization_id && m.user_id === ctx.principal.id);
    if (body.role === 'owner' && own?.role !== 'owner') throw new Refusal('permission_denied', REFUSALS.invite_owner);
    const made = invite(ctx, { organization_id, ...body });
    ctx.target('invitation', made.invitation.id);
    return made;
  },
  invitationRevoke: async (ctx: MockCtx, { params }: Req<'invitationRevoke'>) => {
    const row = must(
      ctx.world.invitations.find(
        (one) => one.id === params.invitation_id && one.organization_id === organizationOf(ctx),
      ),
      'invitation',
    );
    if (row.state !== 'pending') throw conflict(REFUSALS.invitation_ended(row.state));
    row.state = 'revoked';
    const { organization_id } = row;
    ctx.emit('invitation.revoked', { subject: row.id, data: { organization_id, invitation_id: row.id } });
    return undefined;
  },
  invitationAccept: async (ctx: MockCtx, { body }: Req<'invitationAccept'>) => {
    const { world, principal } = ctx;
    const row = must(
      world.invitations.find((one) => one.token === body.token && one.email === principal.email?.toLowerCase()),
      'invitation for your verified email address',
    );
    if (row.state !== 'pending') throw conflict(REFUSALS.invitation_ended(row.state));
    const memberOf = (user_id: string) =>
      world.members.find((one) => one.organization_id === row.organization_id && one.user_id === user_id);
    const known = memberOf(principal.id);
    const refusal = acceptRefusal({
      ...{ user_id: principal.id, invited_by: row.invited_by, role: row.role },
      inviter_role: memberOf(row.invited_by)?.role ?? null,
      inviter_is_operator: (world.users.get(row.invited_by)?.platform_role ?? null) !== null,
      source: known?.source ?? null,
    });
    if (refusal !== null) throw conflict(refusal);
    if (known === undefined) assertBelowLimit(ctx, 'members', row.organization_id);
    row.state = 'accepted';
    row.accepted_at = world.ago();
    const { organization_id, role } = row;
    if (known !== undefined) world.members.splice(world.members.indexOf(known), 1);
    world.members.push({
      organization_id,
      user_id: principal.id,
      name: principal.name,
      email: principal.email,
      role,
      source: 'manual',
      version: (known?.version ?? 0) + 1,
      created_at: row.accepted_at,
    });
    ctx.setTarget(organization_id, null);
    ctx.emit('organization.member.changed', {
      subject: principal.id,
      organization_id,
      data: { organization_id, user_id: principal.id, role },
    });
    return must(world.organizations.get(organization_id), 'organization');
  },
};
