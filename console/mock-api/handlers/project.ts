import { roleHolds, roleRefusal } from '@gpuaas/contract';
import { projectDeleteRefusal } from '../../../server/src/domain/project-actions.ts';
import { action } from '../../../server/src/domain/refusal.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { rolesAt } from '../core/authorize.ts';
import { assertVersion, type MockCtx, must, organizationOf, projectOf, type Req } from '../core/context.ts';
import { conflict, Refusal, refuse } from '../core/errors.ts';
import { idOf, pageOf } from '../core/page.ts';
import type { Project, ProjectMember } from '../core/rows.ts';

const deleteRefusal = ({ world }: MockCtx, project: Project) => {
  const held = new Set(world.claims.flatMap((claim) => (claim.released_at === null ? claim.allocation_id : [])));
  const rows = [...world.allocations.values()].filter((one) => one.project_id === project.id && held.has(one.id));
  return projectDeleteRefusal({
    service_accounts: [...world.serviceAccounts.values()].filter((one) => one.project_id === project.id).length,
    allocations: rows.map((one) => one.name).sort(),
  });
};

const view = (ctx: MockCtx) => (row: Project) => {
  const may = (permission: 'project.update' | 'project.delete', reason: string | null) =>
    ctx.holds(permission, row.organization_id, row.id) ? reason : roleRefusal(permission);
  return {
    ...row,
    actions: [
      action('update', may('project.update', null)),
      action('delete', may('project.delete', deleteRefusal(ctx, row)?.reason ?? null)),
    ],
  };
};

const memberView = ({ project_id: _, ...member }: ProjectMember) => member;
const get = (ctx: MockCtx): Project => must(ctx.world.projects.get(projectOf(ctx)), 'project');

export const project = {
  projectList: async (ctx: MockCtx, { query }: Req<'projectList'>) => {
    const { world, principal } = ctx;
    const organizationId = organizationOf(ctx);
    const sees = (row: Project) =>
      rolesAt(world, principal.id, organizationId, row.id).some((role) => roleHolds(role, 'project.read'));
    const rows = [...world.projects.values()]
      .filter((row) => row.organization_id === organizationId && sees(row))
      .filter((row) => query.name === undefined || row.name === query.name);
    return pageOf(ctx, query, rows, idOf, view(ctx));
  },
  projectCreate: async (ctx: MockCtx, { body }: Req<'projectCreate'>) => {
    const { world } = ctx;
    const organization_id = organizationOf(ctx);
    if ([...world.projects.values()].some((one) => one.organization_id === organization_id && one.name === body.name))
      throw new Refusal('already_exists', REFUSALS.project_name_taken(body.name));
    const row: Project = {
      id: world.mint('project'),
      organization_id,
      name: body.name,
      display_name: body.display_name ?? body.name,
      records_terminals: false,
      requires_recording: false,
      version: 1,
      created_at: world.ago(),
    };
    world.projects.set(row.id, row);
    ctx.emit('project.created', { subject: row.id, project_id: row.id, data: { project_id: row.id, name: row.name } });
    return view(ctx)(row);
  },
  projectGet: async (ctx: MockCtx) => view(ctx)(get(ctx)),
  projectUpdate: async (ctx: MockCtx, { body, if_match }: Req<'projectUpdate'>) => {
    const row = get(ctx);
    assertVersion(row, if_match);
    Object.assign(row, body);
    row.version += 1;
    ctx.emit('project.updated', { subject: row.id, data: { project_id: row.id, name: row.name } });
    return view(ctx)(row);
  },
  projectDelete: async (ctx: MockCtx) => {
    const row = get(ctx);
    refuse(deleteRefusal(ctx, row));
    ctx.world.projects.delete(row.id);
    ctx.emit('project.deleted', { subject: row.id, data: { project_id: row.id, name: row.name } });
    return undefined;
  },
  projectMemberList: async (ctx: MockCtx, { query }: Req<'projectMemberList'>) => {
    const rows = ctx.world.projectMembers.filter((one) => one.project_id === projectOf(ctx));
    return pageOf(ctx, query, rows, (one) => one.user_id, memberView);
  },
  projectMemberPut: async (ctx: MockCtx, { params, body }: Req<'projectMemberPut'>) => {
    const { world } = ctx;
    const { project_id, user_id } = params;
    const member = must(
      world.members.find((one) => one.organization_id === organizationOf(ctx) && one.user_id === user_id),
      'member of the organization',
    );
    let row = world.projectMembers.find((one) => one.project_id === project_id && one.user_id === user_id);
    if (row === undefined) {
      const { name, email } = member;
      row = { project_id, user_id, name, email, role: body.role, source: 'manual', created_at: world.ago() };
      world.projectMembers.push(row);
    }
    if (row.source === 'group') throw conflict(REFUSALS.membership_by_group);
    row.role = body.role;
    ctx.emit('project.member.changed', { subject: user_id, data: { project_id, user_id, role: body.role } });
    return memberView(row);
  },
  projectMemberRemove: async (ctx: MockCtx, { params }: Req<'projectMemberRemove'>) => {
    const { world } = ctx;
    const { project_id, user_id } = params;
    const row = must(
      world.projectMembers.find((one) => one.project_id === project_id && one.user_id === user_id),
      'member',
    );
    world.projectMembers.splice(world.projectMembers.indexOf(row), 1);
    ctx.emit('project.member.removed', { subject: user_id, data: { project_id, user_id } });
    return undefined;
  },
};
