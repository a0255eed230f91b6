import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { organizationRefusal, ownGpuLimit } from '../../../server/src/domain/sign-up.ts';
import { assertVersion, type MockCtx, must, organizationOf, type Req } from '../core/context.ts';
import { conflict, Refusal } from '../core/errors.ts';
import { asIs, idOf, pageOf } from '../core/page.ts';
import type { Member, Organization } from '../core/rows.ts';

const memberView = ({ organization_id: _, ...member }: Member) => member;

const getMember = (ctx: MockCtx, userId: string): Member =>
  must(
    ctx.world.members.find((one) => one.organization_id === organizationOf(ctx) && one.user_id === userId),
    'member',
  );

/** An organization without an owner could not be managed, and admins must not promote themselves. */
const guardOwners = (ctx: MockCtx, member: Member, next: Member['role'] | null): void => {
  const { organization_id, user_id } = member;
  const owners = ctx.world.members
    .filter((one) => one.organization_id === organization_id && one.role === 'owner')
    .map((one) => one.user_id);
  if ((owners.includes(user_id) || next === 'owner') && !owners.includes(ctx.principal.id))
    throw new Refusal('permission_denied', REFUSALS.owner_by_owner);
  if (owners.length === 1 && owners[0] === user_id && next !== 'owner') throw conflict(REFUSALS.last_owner);
};

const get = (ctx: MockCtx): Organization => must(ctx.world.organizations.get(organizationOf(ctx)), 'organization');

type New = Readonly<{
  name: string;
  display_name?: string;
  gpu_limit?: number | null;
  /** By an operator. */
  is_limit_set?: boolean;
}>;

/** With its default project and its GPU limit. */
export const newOrganization = (
  ctx: MockCtx,
  { name, display_name = name, gpu_limit, is_limit_set = false }: New,
): Organization => {
  const { world } = ctx;
  if ([...world.organizations.values()].some((one) => one.name === name))
    throw new Refusal('already_exists', REFUSALS.organization_name_taken(name));
  const row: Organization = {
    id: world.mint('organization'),
    ...{ name, display_name, kind: 'enterprise', version: 1, created_at: world.ago() },
  };
  world.organizations.set(row.id, row);
  const limit = gpu_limit === undefined ? world.sitePolicy.default_gpu_limit : gpu_limit;
  world.quotas.set(row.id, { organization_id: row.id, project_id: null, limit, version: is_limit_set ? 2 : 1 });
  const project_id = world.mint('project');
  world.projects.set(project_id, {
    id: project_id,
    organization_id: row.id,
    name: 'default',
    display_name: 'Default',
    records_terminals: false,
    requires_recording: false,
    version: 1,
    created_at: row.created_at,
  });
  ctx.setTarget(row.id, null);
  ctx.emit('organization.created', {
    subject: row.id,
    organization_id: row.id,
    data: { organization_id: row.id, name: row.name, kind: row.kind },
  });
  return row;
};

export const organization = {
  organizationList: async (ctx: MockCtx, { query }: Req<'organizationList'>) => {
    const mine = ctx.world.members.filter((one) => one.user_id === ctx.principal.id);
    const rows = mine.flatMap((one) => ctx.world.organizations.get(one.organization_id) ?? []);
    return pageOf(ctx, query, rows, idOf, asIs);
  },
  organizationCreate: async (ctx: MockCtx, { body }: Req<'organizationCreate'>) => {
    const { world, principal } = ctx;
    const refusal = organizationRefusal(world.sitePolicy, { email: principal.email, email_verified: true });
    if (refusal !== null) throw new Refusal('policy_denied', refusal);
    // The mock does not store who created an organization; its owner is the best guess.
    const hasCreated = world.members.some((one) => one.user_id === principal.id && one.role === 'owner');
    const row = newOrganization(ctx, { ...body, gpu_limit: ownGpuLimit(world.sitePolicy, hasCreated) });
    world.members.push({
      organization_id: row.id,
      user_id: principal.id,
      name: principal.name,
      email: principal.email,
      role: 'owner',
      source: 'manual',
      version: 1,
      created_at: row.created_at,
    });
    return row;
  },
  organizationGet: async (ctx: MockCtx) => get(ctx),
  organizationUpdate: async (ctx: MockCtx, { body, if_match }: Req<'organizationUpdate'>) => {
    const row = get(ctx);
    assertVersion(row, if_match);
    row.display_name = body.display_name;
    row.version += 1;
    ctx.emit('organization.updated', { subject: row.id, data: { organization_id: row.id, name: row.name } });
    return row;
  },
  organizationMemberList: async (ctx: MockCtx, { query }: Req<'organizationMemberList'>) => {
    const rows = ctx.world.members.filter((one) => one.organization_id === organizationOf(ctx));
    return pageOf(ctx, query, rows, (one) => one.user_id, memberView);
  },
  organizationMemberUpdate: async (ctx: MockCtx, { params, body, if_match }: Req<'organizationMemberUpdate'>) => {
    const member = getMember(ctx, params.user_id);
    if (member.source === 'group') throw conflict(REFUSALS.membership_by_group);
    guardOwners(ctx, member, body.role);
    assertVersion(member, if_match);
    member.role = body.role;
    member.version += 1;
    const { organization_id, user_id, role } = member;
    ctx.emit('organization.member.changed', { subject: user_id, data: { organization_id, user_id, role } });
    return memberView(member);
  },
  organizationMemberRemove: async (ctx: MockCtx, { params }: Req<'organizationMemberRemove'>) => {
    const { world } = ctx;
    const member = getMember(ctx, params.user_id);
    guardOwners(ctx, member, null);
    world.members.splice(world.members.indexOf(member), 1);
    const isOfOrganization = (projectId: string) =>
      world.projects.get(projectId)?.organization_id === member.organization_id;
    for (const one of world.projectMembers.filter((row) => row.user_id === member.user_id))
      if (isOfOrganization(one.project_id)) world.projectMembers.splice(world.projectMembers.indexOf(one), 1);
    const { organization_id, user_id } = member;
    ctx.emit('organization.member.removed', { subject: user_id, data: { organization_id, user_id } });
    return undefined;
  },
};
