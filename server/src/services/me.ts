import { type ProjectRole, roleHolds } from '@gpuaas/contract';
import type { ReadCtx } from '../context.ts';
import { listOrganizationsOf } from '../db/organization.ts';
import { listProjects, listProjectsById, type ProjectRow } from '../db/project.ts';
import { findSignUpRequestOf } from '../db/sign-up-request.ts';
import { principalOf } from '../pipeline/caller.ts';

const ORGANIZATIONS_SHOWN_MAX = 200;
const PROJECTS_SHOWN_MAX = 200;

/** `whoami`: at most 200 of each; the lists have the rest. */
export const get = (ctx: ReadCtx) => {
  const principal = principalOf(ctx);
  return ctx.read(async (reader) => {
    const asked = principal.is_pending ? await findSignUpRequestOf(reader, principal.id) : undefined;
    const organizations =
      principal.kind === 'user'
        ? await listOrganizationsOf(reader, principal.id, { after: null, limit: ORGANIZATIONS_SHOWN_MAX })
        : [];
    const rows = new Map<string, { row: ProjectRow; role: ProjectRole | 'service_account' }>();
    for (const organization of organizations) {
      const tenantRole = organization.role;
      if (!roleHolds(`tenant:${tenantRole}`, 'project.read')) continue;
      const role = tenantRole === 'viewer' ? 'viewer' : 'admin';
      for (const row of await listProjects(reader, organization.id, {
        after: null,
        limit: PROJECTS_SHOWN_MAX,
        name: null,
        member_id: null,
      }))
        rows.set(row.id, { row, role });
    }
    const direct = principal.home === null ? [...principal.projects.keys()] : [principal.home.project_id];
    for (const row of await listProjectsById(reader, direct)) {
      const known = rows.get(row.id);
      const role = principal.projects.get(row.id) ?? 'service_account';
      if (known === undefined || known.role === 'viewer') rows.set(row.id, { row, role });
    }
    const reach = principal.credential.project_id;
    return {
      kind: principal.kind,
      id: principal.id,
      name: principal.name,
      email: principal.email,
      state: principal.is_pending ? ('pending' as const) : ('active' as const),
      sign_up_request: asked ?? null,
      platform_role: principal.platform_role,
      organizations: organizations.map(({ id, name, display_name, role }) => ({ id, name, display_name, role })),
      projects: [...rows.values()]
        .filter(({ row }) => reach === null || row.id === reach)
        .slice(0, PROJECTS_SHOWN_MAX)
        .map(({ row, role }) => ({ id: row.id, organization_id: row.organization_id, name: row.name, role })),
      credential: {
        kind: principal.credential.kind,
        scopes: [...principal.credential.scopes],
        expires_at: principal.credential.expires_at,
      },
    };
  });
};
