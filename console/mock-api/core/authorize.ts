/**
 * Authorization by the contract's own table: a resource that the caller may not see returns 404, one that it may see
 * but not change 403.
 */

import {
  type Operation,
  type Permission,
  type PlatformRole,
  type RoleName,
  roleHolds,
  scopeAllows,
} from '@gpuaas/contract';
import { POLICIES, REFUSALS } from '../../../server/src/domain/sentences.ts';
import { SIGN_UP_PENDING } from '../../../server/src/domain/sign-up.ts';
import { notFound, Refusal } from './errors.ts';
import type { World } from './world.ts';

export type Principal = Readonly<{
  id: string;
  name: string;
  email: string | null;
  platform_role: PlatformRole | null;
  scopes: readonly string[];
  web_session_id: string | null;
  /** When the user signed in, RFC 3339. */
  auth_time: string | null;
}>;

/** The caller as the rules of fresh sign-ins see it: a page has a web session. */
export const signedIn = ({ platform_role, scopes, auth_time }: Principal) => ({
  platform_role,
  credential: { kind: 'web_session' as const, scopes, auth_time },
});

export type Decision = Readonly<{
  organization_id: string | null;
  project_id: string | null;
  role: RoleName | null;
  policy: string;
}>;

/** The roles of a user in one organization and project, strongest first. */
export const rolesAt = (
  world: World,
  userId: string,
  organizationId: string,
  projectId: string | null,
): readonly RoleName[] => {
  const tenant = world.members.find((one) => one.organization_id === organizationId && one.user_id === userId);
  if (tenant === undefined) return [];
  const project = world.projectMembers.find((one) => one.project_id === projectId && one.user_id === userId);
  return [`tenant:${tenant.role}`, ...(project === undefined ? [] : [`project:${project.role}` as const])];
};

type Bound = Readonly<{ roles: readonly RoleName[]; organization_id: string | null; project_id: string | null }>;

const boundOf = (
  world: World,
  principal: Principal,
  operation: Operation,
  params: Readonly<Record<string, string>>,
): Bound => {
  if (operation.access === 'platform') {
    const roles = principal.platform_role === null ? [] : [`platform:${principal.platform_role}` as const];
    return { roles, organization_id: null, project_id: null };
  }
  if (operation.access === 'tenant') {
    const organization_id = params['organization_id'] ?? '';
    const roles = rolesAt(world, principal.id, organization_id, null);
    if (roles.length === 0) throw notFound('organization');
    return { roles, organization_id, project_id: null };
  }
  if (operation.access === 'project') {
    const project = world.projects.get(params['project_id'] ?? '');
    if (project === undefined) throw notFound('project');
    const roles = rolesAt(world, principal.id, project.organization_id, project.id);
    // A member of the organization who was not added to the project does not see it.
    if (!roles.some((role) => roleHolds(role, 'project.read'))) throw notFound('project');
    return { roles, organization_id: project.organization_id, project_id: project.id };
  }
  return { roles: ['user'], organization_id: null, project_id: null };
};

export const authorize = (
  world: World,
  principal: Principal,
  operation: Operation,
  params: Readonly<Record<string, string>>,
): Decision => {
  const { permission } = operation;
  if (permission === null) return { organization_id: null, project_id: null, role: null, policy: 'public' };
  if (world.users.get(principal.id)?.state === 'pending' && permission !== 'self.read')
    throw new Refusal('permission_denied', `Permission denied: ${SIGN_UP_PENDING}.`);
  const { roles, ...bound } = boundOf(world, principal, operation, params);
  const role = roles.find((name) => roleHolds(name, permission));
  if (role === undefined) throw new Refusal('permission_denied', REFUSALS.denied(POLICIES.no_role(permission)));
  if (!scopeAllows(principal.scopes, permission))
    throw new Refusal('permission_denied', REFUSALS.denied(POLICIES.no_scope(permission)));
  return { ...bound, role, policy: `${role} holds ${permission}` };
};

export const holds = (
  world: World,
  principal: Principal,
  permission: Permission,
  at: Readonly<{ organization_id: string; project_id: string | null }>,
): boolean =>
  rolesAt(world, principal.id, at.organization_id, at.project_id).some((role) => roleHolds(role, permission));
