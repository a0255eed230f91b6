/**
 * Decides one request by the contract: which role of the caller, at which level, holds the permission, and whether the
 * credential's scopes reach it. A resource the caller may not see returns 404; one it may see but not change returns
 * 403. The decision is a value: the router acts on it, and the audit row quotes its `policy`.
 */

import { type Operation, type Permission, type RoleName, roleHolds, scopeAllows } from '@gpuaas/contract';
import type { Principal } from '../context.ts';
import { type Database, PLATFORM, type Scope } from '../db/client.ts';
import { findProjectOrganization } from '../db/principal.ts';
import { POLICIES } from '../domain/sentences.ts';
import { SIGN_UP_PENDING } from '../domain/sign-up.ts';
import { ExpiringCache } from './expiring-cache.ts';

export type Decision =
  | Readonly<{
      allowed: true;
      organization_id: string | null;
      project_id: string | null;
      role: RoleName | null;
      policy: string;
      scope: Scope;
    }>
  | Readonly<{
      allowed: false;
      visible: boolean;
      organization_id: string | null;
      project_id: string | null;
      policy: string;
    }>;

/**
 * The project's organization never changes, so it may be cached; briefly, because the project may be deleted. Only for
 * its own members: the time of a response must not state whether others use such a project.
 */
export type ProjectDirectory = (
  projectId: string,
  isMember: (organizationId: string) => boolean,
) => Promise<string | undefined>;

export const createProjectDirectory = (database: Database, now: () => number): ProjectDirectory => {
  const cache = new ExpiringCache<string>(20_000);
  return async (projectId, isMember) => {
    const known = cache.get(projectId, now());
    if (known !== undefined && isMember(known)) return known;
    const found = await database.read(PLATFORM, (reader) => findProjectOrganization(reader, projectId));
    if (found !== undefined) cache.set(projectId, found, now() + 5_000);
    return found;
  };
};

/** The roles of a principal at one organization and project, strongest level first. */
export const rolesAt = (principal: Principal, organizationId: string, projectId: string | null): RoleName[] => {
  if (principal.home !== null) return principal.home.project_id === projectId ? ['service_account'] : [];
  const tenant = principal.tenants.get(organizationId);
  if (tenant === undefined) return [];
  const project = projectId === null ? undefined : principal.projects.get(projectId);
  return [`tenant:${tenant}`, ...(project === undefined ? [] : [`project:${project}` as const])];
};

/** Permissions of a project-bound credential outside projects: read, and create tokens with the same binding. */
const BOUND_CREDENTIAL_MAY: ReadonlySet<Permission> = new Set<Permission>([
  'self.read',
  'catalog.read',
  'self.ssh_key.read',
  'self.api_token.read',
  'self.api_token.create',
]);

type Bound = Readonly<{ organization_id: string | null; project_id: string | null }>;
const NOWHERE: Bound = { organization_id: null, project_id: null };

const decide = (
  principal: Principal,
  permission: Permission,
  roles: readonly RoleName[],
  bound: Bound,
  visible: boolean,
): Decision => {
  const role = roles.find((name) => roleHolds(name, permission));
  if (role === undefined) return { allowed: false, visible, ...bound, policy: POLICIES.no_role(permission) };
  if (!scopeAllows(principal.credential.scopes, permission))
    return { allowed: false, visible, ...bound, policy: POLICIES.no_scope(permission) };
  // For requests about itself, a service account reads its own project, which lies in its organization.
  const itself = principal.home?.organization_id ?? '';
  const tenant = bound.organization_id ?? (role.startsWith('platform:') ? '*' : itself);
  return {
    allowed: true,
    ...bound,
    role,
    policy: `${role} holds ${permission}`,
    scope: { tenant_id: tenant, principal_id: principal.id },
  };
};

export const authorize = async (
  principal: Principal,
  operation: Operation,
  params: Readonly<Record<string, string | undefined>>,
  organizationOf: ProjectDirectory,
): Promise<Decision> => {
  const { permission } = operation;
  if (permission === null)
    return {
      allowed: true,
      ...NOWHERE,
      role: null,
      policy: 'public',
      scope: { tenant_id: '', principal_id: principal.id },
    };
  if (principal.is_pending && permission !== 'self.read')
    return { allowed: false, visible: true, ...NOWHERE, policy: SIGN_UP_PENDING };
  const boundTo = principal.credential.project_id;
  switch (operation.access) {
    case 'platform': {
      const roles: RoleName[] =
        principal.platform_role === null || boundTo !== null ? [] : [`platform:${principal.platform_role}`];
      return decide(principal, permission, roles, NOWHERE, true);
    }
    case 'tenant': {
      const organizationId = params['organization_id'] ?? '';
      const roles = boundTo === null ? rolesAt(principal, organizationId, null) : [];
      return decide(
        principal,
        permission,
        roles,
        { organization_id: organizationId, project_id: null },
        roles.length > 0,
      );
    }
    case 'project': {
      const projectId = params['project_id'] ?? '';
      const organizationId = await organizationOf(
        projectId,
        (id) => principal.tenants.has(id) || principal.home?.organization_id === id,
      );
      if (organizationId === undefined || (boundTo !== null && boundTo !== projectId))
        return { allowed: false, visible: false, ...NOWHERE, policy: 'no such project for the caller' };
      const roles = rolesAt(principal, organizationId, projectId);
      // A tenant member who was not added to the project does not see it, though it sees the organization.
      const visible = roles.some((name) => name === 'service_account' || roleHolds(name, 'project.read'));
      return decide(principal, permission, roles, { organization_id: organizationId, project_id: projectId }, visible);
    }
    default:
      if (boundTo !== null && !BOUND_CREDENTIAL_MAY.has(permission))
        return { allowed: false, visible: true, ...NOWHERE, policy: 'the credential is bound to one project' };
      return decide(principal, permission, [principal.kind === 'user' ? 'user' : 'service_account'], NOWHERE, true);
  }
};
