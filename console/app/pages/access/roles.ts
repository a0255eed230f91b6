/** What each role allows, in a sentence, and who may grant it. The permissions behind a role come from the contract. */
import { type Me, type OrganizationMember, PROJECT_ROLES, type ProjectMember, TENANT_ROLES } from '@gpuaas/sdk';
import type { RoleOption } from './role-choice.tsx';

export type TenantRole = OrganizationMember['role'];
export type ProjectRole = ProjectMember['role'];

const TENANT_ROLE_TEXT: Readonly<Record<TenantRole, string>> = {
  owner: 'All admin permissions. Also grants the owner role, renames the organization and sets its access policy.',
  admin: 'Manages members and projects, reads the audit log and is an admin of every project.',
  member: 'Has access only to projects they are added to.',
  viewer: 'Reads every project. Cannot change anything.',
};

const PROJECT_ROLE_TEXT: Readonly<Record<ProjectRole, string>> = {
  admin: 'All member permissions. Also manages members, service accounts and recordings.',
  member: 'Launches, connects to, changes and releases allocations.',
  viewer: 'Reads everything. Cannot change anything.',
};

export const PROJECT_ROLE_OPTIONS: readonly RoleOption<ProjectRole>[] = PROJECT_ROLES.map((role) => ({
  role,
  meaning: PROJECT_ROLE_TEXT[role],
}));

type Member = Readonly<{ user_id: string; role: TenantRole }>;

/** Why a member's role cannot be changed or the member removed, beyond permissions. */
export const ownerRefusal = (me: Me, organizationId: string, member: Member, members: readonly Member[]) => {
  const mine = me.organizations.find(({ id }) => id === organizationId)?.role;
  if (member.role === 'owner' && mine !== 'owner') return 'Only an owner can change or remove an owner.';
  const isLastOwner = member.role === 'owner' && members.filter(({ role }) => role === 'owner').length === 1;
  return isLastOwner ? 'An organization needs an owner. Make another member an owner first.' : null;
};

/** The roles that a person may grant: only an owner grants the owner role. */
export const grantableRoles = (me: Me, organizationId: string): readonly RoleOption<TenantRole>[] => {
  const mine = me.organizations.find(({ id }) => id === organizationId)?.role;
  return TENANT_ROLES.map((role) => ({
    role,
    meaning: TENANT_ROLE_TEXT[role],
    refusal: role === 'owner' && mine !== 'owner' ? 'Only an owner can grant this role.' : null,
  }));
};
