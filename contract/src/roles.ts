/**
 * Roles and permissions in one table. An operation names one permission; a role is a bundle of permissions at one
 * level. Tenant owners and admins act as project admins in every project of their organization, tenant viewers as
 * project viewers; tenant members see the projects they were added to.
 */
export const PERMISSIONS = [
  'organization.read',
  'organization.update',
  'organization.member.read',
  'organization.member.update',
  'organization.member.remove',
  'invitation.read',
  'invitation.create',
  'invitation.revoke',
  'audit.read',
  'project.create',
  'project.list',
  'project.read',
  'project.update',
  'project.delete',
  'project.member.read',
  'project.member.update',
  'project.member.remove',
  'service_account.read',
  'service_account.create',
  'service_account.update',
  'service_account.delete',
  'service_account.token.read',
  'service_account.token.create',
  'service_account.token.revoke',
  'event.read',
  'workflow_run.read',
  'quota_request.read',
  'quota_request.create',
  'quota_request.withdraw',
  'admin.organization.read',
  'admin.organization.create',
  'admin.user.read',
  'admin.user.update',
  'admin.region.update',
  'admin.sku.update',
  'admin.image.update',
  'admin.catalog.read',
  'admin.price.update',
  'admin.pool.update',
  'admin.audit.read',
  'admin.audit.verify',
  'admin.workflow_run.read',
  'admin.workflow_run.retry',
  'admin.workflow_run.cancel',
  'allocation.read',
  'allocation.create',
  'allocation.update',
  'allocation.release',
  'allocation.power',
  // A session of any kind; without `allocation.connect` only a read-only console.
  'allocation.session.create',
  'allocation.connect',
  'allocation.grant.create',
  'allocation.recording.read',
  'admin.allocation.read',
  'admin.allocation.release',
  'admin.node.read',
  'admin.node.update',
  'admin.node.create',
  'admin.node.delete',
  'admin.slot.approve',
  'admin.slot.override',
  'admin.trust.read',
  'admin.trust.update',
  'admin.log.read',
  'admin.event.read',
  'admin.quota.read',
  'admin.quota.update',
  'admin.quota_request.read',
  'admin.quota_request.update',
  'admin.site_policy.read',
  'admin.site_policy.update',
  'admin.sign_up_request.read',
  'admin.sign_up_request.update',
  'admin.group_mapping.read',
  'admin.group_mapping.update',
  'admin.invariant.read',
  'admin.site.read',
  'admin.site.update',
  'admin.backup.record',
  // Permissions of every signed-in principal for itself; held by role, narrowed by token scope.
  'self.read',
  'self.organization.create',
  'self.invitation.accept',
  'self.ssh_key.read',
  'self.ssh_key.create',
  'self.ssh_key.delete',
  'self.api_token.read',
  'self.api_token.create',
  'self.api_token.revoke',
  'self.web_session.read',
  'self.web_session.revoke',
  'catalog.read',
] as const;
export type Permission = (typeof PERMISSIONS)[number];

export const TENANT_ROLES = ['owner', 'admin', 'member', 'viewer'] as const;
export const PROJECT_ROLES = ['admin', 'member', 'viewer'] as const;
export const PLATFORM_ROLES = ['superadmin', 'ops'] as const;
export type TenantRole = (typeof TENANT_ROLES)[number];
export type ProjectRole = (typeof PROJECT_ROLES)[number];
export type PlatformRole = (typeof PLATFORM_ROLES)[number];
export type RoleName =
  | `tenant:${TenantRole}`
  | `project:${ProjectRole}`
  | `platform:${PlatformRole}`
  | 'service_account'
  | 'user';

const projectViewer = [
  'project.read',
  'project.member.read',
  'service_account.read',
  'service_account.token.read',
  'event.read',
  'workflow_run.read',
  'allocation.read',
  'allocation.session.create',
] as const;
const projectMember = [
  ...projectViewer,
  'allocation.create',
  'allocation.update',
  'allocation.release',
  'allocation.power',
  'allocation.connect',
  'allocation.grant.create',
] as const;
const projectAdmin = [
  ...projectMember,
  'allocation.recording.read',
  'project.update',
  'project.member.update',
  'project.member.remove',
  'service_account.create',
  'service_account.update',
  'service_account.delete',
  'service_account.token.create',
  'service_account.token.revoke',
] as const;

const tenantMember = ['organization.read', 'organization.member.read', 'project.list', 'quota_request.read'] as const;
const tenantAdmin = [
  ...tenantMember,
  'organization.member.update',
  'organization.member.remove',
  'invitation.read',
  'invitation.create',
  'invitation.revoke',
  'audit.read',
  'project.create',
  'quota_request.create',
  'quota_request.withdraw',
  ...projectAdmin,
  'project.delete',
] as const;

const opsPermissions = [
  'admin.organization.read',
  'admin.user.read',
  'admin.audit.read',
  'admin.audit.verify',
  'admin.workflow_run.read',
  'admin.workflow_run.retry',
  'admin.workflow_run.cancel',
  'admin.allocation.read',
  'admin.allocation.release',
  'admin.node.read',
  'admin.node.update',
  'admin.node.create',
  'admin.node.delete',
  'admin.slot.approve',
  'admin.slot.override',
  'admin.image.update',
  'admin.catalog.read',
  'admin.trust.read',
  'admin.log.read',
  'admin.event.read',
  'admin.quota.read',
  'admin.quota_request.read',
  'admin.site_policy.read',
  'admin.sign_up_request.read',
  'admin.group_mapping.read',
  'admin.invariant.read',
  'admin.site.read',
  'admin.backup.record',
] as const;

export const ROLES = {
  'platform:superadmin': [
    ...opsPermissions,
    'admin.user.update',
    'admin.region.update',
    'admin.sku.update',
    'admin.price.update',
    'admin.pool.update',
    'admin.quota.update',
    'admin.quota_request.update',
    'admin.organization.create',
    'admin.site.update',
    'admin.site_policy.update',
    'admin.sign_up_request.update',
    'admin.group_mapping.update',
    'admin.trust.update',
  ],
  'platform:ops': opsPermissions,
  'tenant:owner': [...tenantAdmin, 'organization.update'],
  'tenant:admin': tenantAdmin,
  'tenant:member': tenantMember,
  'tenant:viewer': [...tenantMember, ...projectViewer],
  'project:admin': projectAdmin,
  'project:member': projectMember,
  'project:viewer': projectViewer,
  /** Service accounts work inside one project; they never manage people, service accounts or tokens. */
  service_account: [
    'self.read',
    'catalog.read',
    'project.read',
    'event.read',
    'workflow_run.read',
    'allocation.read',
    'allocation.create',
    'allocation.update',
    'allocation.release',
    'allocation.power',
    'allocation.session.create',
    'allocation.connect',
  ],
  user: [
    'self.read',
    'self.organization.create',
    'self.invitation.accept',
    'catalog.read',
    'self.ssh_key.read',
    'self.ssh_key.create',
    'self.ssh_key.delete',
    'self.api_token.read',
    'self.api_token.create',
    'self.api_token.revoke',
    'self.web_session.read',
    'self.web_session.revoke',
  ],
} as const satisfies Record<RoleName, readonly Permission[]>;

const holds = new Map(Object.entries(ROLES).map(([role, list]) => [role, new Set<string>(list)]));

export const roleHolds = (role: RoleName, permission: Permission): boolean => holds.get(role)?.has(permission) ?? false;

/** From the least to the most, so that the first role with a permission is the one to request. */
const RISING: readonly (readonly [RoleName, string])[] = [
  ['project:viewer', 'a viewer of the project'],
  ['project:member', 'a member of the project'],
  ['project:admin', 'an admin of the project'],
  ['tenant:member', 'a member of the organization'],
  ['tenant:admin', 'an admin of the organization'],
  ['tenant:owner', 'an owner of the organization'],
  ['platform:ops', 'an operator of the platform'],
  ['platform:superadmin', 'a superadmin of the platform'],
];

/** Why a role lacks the permission, as a sentence that names the role or person to ask. */
export const roleRefusal = (permission: Permission): string => {
  const needed = RISING.find(([role]) => roleHolds(role, permission))?.[1] ?? 'another role';
  return `Your role does not hold ${permission}; this needs ${needed}.`;
};

/**
 * Token scopes narrow a role and never widen it: `all`, `read` (every permission that ends in .read or .list),
 * a permission, or a prefix such as `service_account.*`.
 */
export const scopeAllows = (scopes: readonly string[], permission: Permission): boolean =>
  scopes.some(
    (scope) =>
      scope === 'all' ||
      scope === permission ||
      (scope === 'read' && /\.(read|list)$/.test(permission)) ||
      (scope.endsWith('.*') && permission.startsWith(scope.slice(0, -1))),
  );

/**
 * A scope without a permission: an API token has no sign-in, and one with this scope stands for a fresh one. `all` does
 * not include it, and only an operator with a fresh sign-in can grant it.
 */
export const FRESH_SIGN_IN_SCOPE = 'fresh_sign_in';

/** Every permission that a set of scopes can reach: the maximum for tokens created with a token. */
export const scopeReach = (scopes: readonly string[]): ReadonlySet<Permission> =>
  new Set(PERMISSIONS.filter((permission) => scopeAllows(scopes, permission)));
