/** What each role means, in a sentence, and who may give it. The table of permissions behind it is the contract's. */
import type { Me, OrganizationMember, ProjectMember } from '@gpuaas/sdk';

export type TenantRole = OrganizationMember['role'];
export type ProjectRole = ProjectMember['role'];

export const TENANT_ROLES: readonly (readonly [TenantRole, string])[] = [
  ['owner', 'Everything an admin may, and names owners, renames the organization and sets its access policy.'],
  ['admin', 'Manages people and projects, reads the audit log, and is an admin of every project.'],
  ['member', 'Sees the projects they were added to.'],
  ['viewer', 'Sees every project and changes nothing.'],
];

export const PROJECT_ROLES: readonly (readonly [ProjectRole, string])[] = [
  ['admin', 'Everything a member may, and manages members, service accounts and recordings.'],
  ['member', 'Launches, connects to, changes and releases allocations.'],
  ['viewer', 'Sees everything and changes nothing.'],
];

type Member = Readonly<{ user_id: string; role: TenantRole }>;

/** Why the role of a member cannot be changed or taken, where the permission alone does not say it. */
export const ownerRefusal = (me: Me, organizationId: string, member: Member, members: readonly Member[]) => {
  const mine = me.organizations.find(({ id }) => id === organizationId)?.role;
  if (member.role === 'owner' && mine !== 'owner') return 'Only an owner changes who is an owner.';
  const isLastOwner = member.role === 'owner' && members.filter(({ role }) => role === 'owner').length === 1;
  return isLastOwner ? 'The last owner cannot be removed or demoted; make another owner first.' : null;
};

/** The roles that a person may hand out: only an owner makes an owner. */
export const givableRoles = (me: Me, organizationId: string) => {
  const mine = me.organizations.find(({ id }) => id === organizationId)?.role;
  return TENANT_ROLES.map(([role, meaning]) => ({
    role,
    meaning,
    refusal: role === 'owner' && mine !== 'owner' ? 'Only an owner makes an owner.' : null,
  }));
};
