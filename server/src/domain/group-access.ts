/**
 * Memberships by groups of the issuer. The mapped groups of a user give at most one role per organization and project,
 * the highest. A membership that a person gave is never touched; one by a group follows the groups, and ends with them.
 * Where a person removed the user, groups give nothing.
 */
export type GroupRole = 'admin' | 'member' | 'viewer';

/** Of the groups of one user; `project_id` is null for a role in the organization. */
export type MappedRole = Readonly<{ organization_id: string; project_id: string | null; role: GroupRole }>;

export type HeldRole = Readonly<{
  organization_id: string;
  project_id: string | null;
  role: 'owner' | GroupRole;
  source: 'manual' | 'group';
}>;

export type AccessChange = Readonly<{ organization_id: string; project_id: string | null }> &
  (Readonly<{ kind: 'grant' | 'change'; role: GroupRole }> | Readonly<{ kind: 'remove'; role: null }>);

const RANK: Readonly<Record<GroupRole, number>> = { viewer: 0, member: 1, admin: 2 };

/** Where a person removed the user: `project_id` is null for an organization with all its projects. */
export type BlockedPlace = Readonly<{ organization_id: string; project_id: string | null }>;

type Place = Readonly<{ organization_id: string; project_id: string | null }>;
const keyOf = ({ organization_id, project_id }: Place): string => project_id ?? organization_id;

const highest = (mapped: readonly MappedRole[]): Map<string, MappedRole> => {
  const wanted = new Map<string, MappedRole>();
  for (const one of mapped) {
    const known = wanted.get(keyOf(one));
    if (known === undefined || RANK[known.role] < RANK[one.role]) wanted.set(keyOf(one), one);
  }
  return wanted;
};

/** A member of a project is a member of its organization. */
const withOrganizations = (mapped: readonly MappedRole[]): MappedRole[] => {
  const named = new Set(mapped.filter((one) => one.project_id === null).map((one) => one.organization_id));
  const implied = mapped
    .filter((one) => !named.has(one.organization_id))
    .map(({ organization_id }): MappedRole => ({ organization_id, project_id: null, role: 'member' }));
  return [...mapped, ...implied];
};

/**
 * In the order in which they can be made: organizations before their projects, and removals last. The end of a membership
 * in an organization ends those in its projects, so they are not listed.
 */
export const planGroupAccess = (
  mapped: readonly MappedRole[],
  held: readonly HeldRole[],
  blocked: readonly BlockedPlace[],
): AccessChange[] => {
  const keptOut = new Set(blocked.map(keyOf));
  const wanted = highest(withOrganizations(mapped.filter((one) => !keptOut.has(one.organization_id))));
  for (const key of keptOut) wanted.delete(key);
  const holds = new Map(held.map((one) => [keyOf(one), one]));
  const changes: AccessChange[] = [];
  for (const { organization_id, project_id, role } of wanted.values()) {
    const known = holds.get(project_id ?? organization_id);
    if (known === undefined) changes.push({ kind: 'grant', organization_id, project_id, role });
    else if (known.source === 'group' && known.role !== role)
      changes.push({ kind: 'change', organization_id, project_id, role });
  }
  changes.sort((a, b) => Number(a.project_id !== null) - Number(b.project_id !== null));
  const ended = held.filter((one) => one.source === 'group' && !wanted.has(keyOf(one)));
  const organizations = new Set(ended.filter((one) => one.project_id === null).map((one) => one.organization_id));
  for (const { organization_id, project_id } of ended)
    if (project_id === null || !organizations.has(organization_id))
      changes.push({ kind: 'remove', organization_id, project_id, role: null });
  return changes;
};
