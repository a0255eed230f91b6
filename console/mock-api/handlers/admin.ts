import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { assertVersion, type MockCtx, must, type Req } from '../core/context.ts';
import { conflict } from '../core/errors.ts';
import { asIs, idOf, pageOf } from '../core/page.ts';
import type { User } from '../core/rows.ts';
import { quotaView } from '../simulation/usage.ts';
import { namesOf } from '../views/names.ts';

const isLastSuperadmin = ({ world }: MockCtx, user: User): boolean =>
  user.platform_role === 'superadmin' &&
  [...world.users.values()].filter((one) => one.platform_role === 'superadmin' && one.state === 'active').length === 1;

export const admin = {
  adminOrganizationList: async (ctx: MockCtx, { query }: Req<'adminOrganizationList'>) => {
    const rows = [...ctx.world.organizations.values()];
    return pageOf(
      ctx,
      query,
      rows.filter((one) => query.name === undefined || one.name === query.name),
      idOf,
      asIs,
    );
  },
  adminUserList: async (ctx: MockCtx, { query }: Req<'adminUserList'>) => {
    const rows = [...ctx.world.users.values()];
    return pageOf(
      ctx,
      query,
      rows.filter((one) => query.email === undefined || one.email === query.email),
      idOf,
      asIs,
    );
  },
  adminUserGet: async (ctx: MockCtx, { params }: Req<'adminUserGet'>) =>
    must(ctx.world.users.get(params.user_id), 'user'),
  adminUserUpdate: async (ctx: MockCtx, { params, body, if_match }: Req<'adminUserUpdate'>) => {
    const row = must(ctx.world.users.get(params.user_id), 'user');
    assertVersion(row, if_match);
    if (row.state === 'pending' && body.state !== undefined) throw conflict(REFUSALS.user_pending);
    const loses =
      body.state === 'disabled' || (body.platform_role !== undefined && body.platform_role !== 'superadmin');
    if (loses && isLastSuperadmin(ctx, row)) throw conflict(REFUSALS.last_superadmin);
    Object.assign(row, body);
    row.version += 1;
    return row;
  },
  adminQuotaList: async (ctx: MockCtx, { query }: Req<'adminQuotaList'>) => {
    const { world } = ctx;
    const rows = [...world.quotas.values()]
      .filter((one) => query.organization_id === undefined || one.organization_id === query.organization_id)
      .filter((one) => query.project_id === undefined || one.project_id === query.project_id);
    return pageOf(
      ctx,
      query,
      rows,
      (one) => one.project_id ?? one.organization_id,
      (one) => ({ ...quotaView(world, one.organization_id, one.project_id), ...namesOf(world, one) }),
    );
  },
  adminQuotaPut: async (ctx: MockCtx, { body, if_match }: Req<'adminQuotaPut'>) => {
    const { world } = ctx;
    const { organization_id, project_id = null, gpu_limit } = body;
    must(world.organizations.get(organization_id), 'organization');
    if (project_id !== null && world.projects.get(project_id)?.organization_id !== organization_id)
      must(undefined, 'project');
    const key = project_id ?? organization_id;
    const row = world.quotas.get(key) ?? { organization_id, project_id, limit: null, version: 1 };
    assertVersion(row, if_match);
    world.quotas.set(key, { ...row, limit: gpu_limit, version: row.version + 1 });
    ctx.setTarget(organization_id, project_id);
    return quotaView(world, organization_id, project_id);
  },
};
