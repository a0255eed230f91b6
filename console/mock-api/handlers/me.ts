import { roleHolds } from '@gpuaas/contract';
import type { MockCtx } from '../core/context.ts';

export const me = {
  meGet: async ({ world, principal }: MockCtx) => {
    const memberships = world.members.filter((one) => one.user_id === principal.id);
    const organizations = memberships.flatMap(({ organization_id, role }) => {
      const row = world.organizations.get(organization_id);
      return row === undefined ? [] : [{ id: row.id, name: row.name, display_name: row.display_name, role }];
    });
    const projects = [...world.projects.values()].flatMap(({ id, organization_id, name }) => {
      const tenant = memberships.find((one) => one.organization_id === organization_id);
      if (tenant === undefined) return [];
      const direct = world.projectMembers.find((one) => one.project_id === id && one.user_id === principal.id);
      const reaches = roleHolds(`tenant:${tenant.role}`, 'project.read');
      const wide = tenant.role === 'viewer' ? ('viewer' as const) : ('admin' as const);
      if (!reaches && direct === undefined) return [];
      const role = direct !== undefined && (!reaches || wide === 'viewer') ? direct.role : wide;
      return [{ id, organization_id, name, role }];
    });
    const asked = world.signUpRequests.find((one) => one.user_id === principal.id);
    const isPending = world.users.get(principal.id)?.state === 'pending';
    const session = world.webSessions.find((one) => one.id === principal.web_session_id);
    return {
      kind: 'user' as const,
      id: principal.id,
      name: principal.name,
      email: principal.email,
      state: isPending ? ('pending' as const) : ('active' as const),
      sign_up_request:
        asked === undefined || !isPending
          ? null
          : { id: asked.id, state: asked.state, reason: asked.reason, created_at: asked.created_at },
      platform_role: principal.platform_role,
      organizations,
      projects,
      credential: {
        kind: 'web_session' as const,
        scopes: [...principal.scopes],
        expires_at: session?.expires_at ?? null,
      },
    };
  },
};
