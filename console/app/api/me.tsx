/** The signed-in user and their permissions. The server decides; this predicts its decision and the reason. */
import { type Me, type Permission, ROLES, type RoleName } from '@gpuaas/sdk';
import { createContext, type ReactNode, useContext } from 'react';

const MeContext = createContext<Me | null>(null);

export const MeProvider = ({ me, children }: Readonly<{ me: Me; children: ReactNode }>) => (
  <MeContext.Provider value={me}>{children}</MeContext.Provider>
);

export const useMe = (): Me => {
  const me = useContext(MeContext);
  if (me === null) throw new Error('No user is signed in.');
  return me;
};

const holds = (role: RoleName, permission: Permission): boolean =>
  (ROLES[role] as readonly string[]).includes(permission);

/** Null if allowed, else the reason as a sentence, which every disabled button shows. */
export type Refusal = string | null;

const inProject = (me: Me, projectId: string, permission: Permission): Refusal => {
  const project = me.projects.find(({ id }) => id === projectId);
  const organization = me.organizations.find(({ id }) => id === project?.organization_id);
  const roles: RoleName[] = [];
  if (project !== undefined && project.role !== 'service_account') roles.push(`project:${project.role}`);
  if (organization !== undefined) roles.push(`tenant:${organization.role}`);
  if (roles.some((role) => holds(role, permission))) return null;
  const needed = (['member', 'admin'] as const).find((role) => holds(`project:${role}`, permission));
  return project === undefined
    ? 'You are not a member of this project.'
    : `Requires ${article(needed ?? 'organization admin')} of this project. You are ${article(project.role)}.`;
};

const inOrganization = (me: Me, organizationId: string, permission: Permission): Refusal => {
  const role = me.organizations.find(({ id }) => id === organizationId)?.role;
  if (role === undefined) return 'You are not a member of this organization.';
  if (holds(`tenant:${role}`, permission)) return null;
  const needed = (['member', 'admin', 'owner'] as const).find((one) => holds(`tenant:${one}`, permission));
  return `Requires ${article(needed ?? 'owner')} of this organization. You are ${article(role)}.`;
};

const onPlatform = (me: Me, permission: Permission): Refusal => {
  if (me.platform_role === null) return 'Requires a platform operator.';
  return holds(`platform:${me.platform_role}`, permission) ? null : 'Requires a platform superadmin.';
};

const article = (role: string): string => `${/^[aeiou]/.test(role) ? 'an' : 'a'} ${role}`;

export type Place = Readonly<{ project?: string; organization?: string }>;

export const refusalOf = (me: Me, permission: Permission, place: Place = {}): Refusal => {
  if (place.project !== undefined) return inProject(me, place.project, permission);
  if (place.organization !== undefined) return inOrganization(me, place.organization, permission);
  return onPlatform(me, permission);
};

/** `const whyNot = useMay(); <ActionButton disabledReason={whyNot('allocation.create', { project })} />` */
export const useMay = () => {
  const me = useMe();
  return (permission: Permission, place?: Place): Refusal => refusalOf(me, permission, place);
};
