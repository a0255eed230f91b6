/** What operators decide for the whole site: sign-up, organizations of others, groups. */
import {
  type GroupMembers,
  indexMembers,
  membersProblems,
  syncWarnings,
} from '../../../server/src/domain/group-sync.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { assertVersion, type MockCtx, must, type Req } from '../core/context.ts';
import { conflict, Refusal } from '../core/errors.ts';
import { asIs, idOf, newestFirst, pageOf } from '../core/page.ts';
import { digestOf } from '../core/random.ts';
import type { GroupMapping, SignUpRequest } from '../core/rows.ts';
import { ISSUER } from '../seed/people.ts';
import { invite } from './invitation.ts';
import { newOrganization } from './organization.ts';

const requestOf = (ctx: MockCtx, id: string): SignUpRequest =>
  must(
    ctx.world.signUpRequests.find((one) => one.id === id),
    'sign-up request',
  );

const decide = (ctx: MockCtx, row: SignUpRequest, state: 'approved' | 'rejected', reason: string | null) =>
  Object.assign(row, { state, reason, decided_by: ctx.principal.id, decided_at: ctx.world.ago() });

const addOwner = ({ world }: MockCtx, organization_id: string, user_id: string): void => {
  const user = world.users.get(user_id);
  world.members.push({
    ...{ organization_id, user_id, name: user?.name ?? '', email: user?.email ?? null },
    ...{ role: 'owner', source: 'manual', version: 1, created_at: world.ago() },
  });
};

/** Users of the mock have no groups, so an export changes nothing. */
const groupPlan = ({ world }: MockCtx, members: GroupMembers) => {
  const mapped = world.groupMappings.map(({ group }) => group);
  const problems = membersProblems(members, { issuer: ISSUER, mapped, now_ms: world.now() });
  if (problems.length > 0)
    throw new Refusal('invalid_request', REFUSALS.group_members(problems.length), {
      errors: problems.map(({ pointer, message }) => ({
        ...{ pointer: `/body/members${pointer}`, code: 'unusable', message },
      })),
    });
  const subjects = indexMembers(members).of.size;
  const none = { known: 0, holders: 0, losing_all: 0, stored: new Map<string, number>() };
  return {
    hash: digestOf(JSON.stringify(members), 16),
    ...{ users_checked: 0, users_newer: 0, users_unknown: subjects },
    ...{ memberships_granted: 0, memberships_changed: 0, memberships_removed: 0 },
    changes: [],
    warnings: syncWarnings(members, { ...none, mapped, now_ms: world.now() }),
  };
};

export const site = {
  adminSitePolicyGet: async ({ world }: MockCtx) => world.sitePolicy,
  adminSitePolicyUpdate: async (ctx: MockCtx, { body, if_match }: Req<'adminSitePolicyUpdate'>) => {
    const row = ctx.world.sitePolicy;
    assertVersion(row, if_match);
    Object.assign(row, body, { version: row.version + 1, updated_at: ctx.world.ago() });
    row.mail_domains = [...row.mail_domains].sort();
    ctx.target('site_policy', 'site');
    return row;
  },
  adminOrganizationCreate: async (ctx: MockCtx, { body }: Req<'adminOrganizationCreate'>) => {
    const { owner_user_id, owner_email, ...wanted } = body;
    if ((owner_user_id === undefined) === (owner_email === undefined))
      throw new Refusal('invalid_request', REFUSALS.one_owner);
    if (owner_user_id !== undefined) {
      const owner = must(ctx.world.users.get(owner_user_id), 'user');
      if (owner.state !== 'active') throw conflict(REFUSALS.user_not_active(owner.state));
    }
    const organization = newOrganization(ctx, { ...wanted, is_limit_set: wanted.gpu_limit !== undefined });
    ctx.target('organization', organization.id);
    if (owner_user_id !== undefined) addOwner(ctx, organization.id, owner_user_id);
    if (owner_email === undefined) return { organization, invitation: null, token: null };
    return { organization, ...invite(ctx, { organization_id: organization.id, email: owner_email, role: 'owner' }) };
  },
  adminSignUpRequestList: async (ctx: MockCtx, { query }: Req<'adminSignUpRequestList'>) => {
    const rows = ctx.world.signUpRequests.filter((one) => query.state === undefined || one.state === query.state);
    return pageOf(ctx, query, newestFirst(rows), idOf, asIs);
  },
  adminSignUpRequestApprove: async (ctx: MockCtx, { params, body }: Req<'adminSignUpRequestApprove'>) => {
    const row = requestOf(ctx, params.sign_up_request_id);
    if (row.state === 'approved') throw conflict(REFUSALS.sign_up_decided(row.state));
    const user = must(ctx.world.users.get(row.user_id), 'user');
    user.state = 'active';
    const organization = newOrganization(ctx, { name: user.subject, display_name: row.name });
    organization.kind = 'personal';
    addOwner(ctx, organization.id, user.id);
    return decide(ctx, row, 'approved', body.reason ?? null);
  },
  adminSignUpRequestReject: async (ctx: MockCtx, { params, body }: Req<'adminSignUpRequestReject'>) => {
    const row = requestOf(ctx, params.sign_up_request_id);
    if (row.state !== 'pending') throw conflict(REFUSALS.sign_up_decided(row.state));
    return decide(ctx, row, 'rejected', body.reason);
  },
  adminGroupMappingList: async (ctx: MockCtx, { query }: Req<'adminGroupMappingList'>) =>
    pageOf(ctx, query, ctx.world.groupMappings, idOf, asIs),
  adminGroupMappingCreate: async (ctx: MockCtx, { body }: Req<'adminGroupMappingCreate'>) => {
    const { world } = ctx;
    const { group, organization_id, project_id = null, role } = body;
    const organization = must(world.organizations.get(organization_id), 'organization');
    const project = project_id === null ? null : must(world.projects.get(project_id), 'project');
    if (project !== null && project.organization_id !== organization_id) must(undefined, 'project');
    const isSame = (one: GroupMapping) =>
      one.group === group && one.organization_id === organization_id && one.project_id === project_id;
    if (world.groupMappings.some(isSame)) throw new Refusal('already_exists', REFUSALS.group_mapping_exists);
    const row: GroupMapping = {
      id: world.mint('group_mapping'),
      ...{ group, organization_id, organization_name: organization.name, project_id },
      ...{ project_name: project?.name ?? null, role, created_at: world.ago() },
    };
    world.groupMappings.push(row);
    return row;
  },
  adminGroupMappingDelete: async (ctx: MockCtx, { params }: Req<'adminGroupMappingDelete'>) => {
    const { groupMappings } = ctx.world;
    const row = must(
      groupMappings.find((one) => one.id === params.group_mapping_id),
      'group mapping',
    );
    groupMappings.splice(groupMappings.indexOf(row), 1);
    return undefined;
  },
  /** Users of the mock have no groups, so nothing changes. */
  adminGroupSync: async (ctx: MockCtx) => {
    ctx.target('group_mapping', 'all');
    return { users_checked: 0, memberships_granted: 0, memberships_changed: 0, memberships_removed: 0 };
  },
  adminGroupSyncPlan: async (ctx: MockCtx, { body }: Req<'adminGroupSyncPlan'>) => groupPlan(ctx, body.members),
  adminGroupSyncApply: async (ctx: MockCtx, { body }: Req<'adminGroupSyncApply'>) => {
    const plan = groupPlan(ctx, body.members);
    if (plan.hash !== body.hash) throw new Refusal('conflict', REFUSALS.group_sync_changed);
    if (plan.warnings.length > 0 && body.accept_warnings !== true)
      throw new Refusal('conflict', REFUSALS.group_sync_warnings(plan.warnings));
    ctx.target('group_mapping', 'all');
    return plan;
  },
};
