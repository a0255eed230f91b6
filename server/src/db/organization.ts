import type { TenantRole } from '@gpuaas/contract';
import type { Reader, Tx } from './client.ts';
import type { Organizations, TenantMemberships, Users } from './types.gen.ts';

export type OrganizationRow = Readonly<Omit<Organizations, 'created_by'>>;

export type MemberRow = Readonly<
  Pick<TenantMemberships, 'user_id' | 'role' | 'source' | 'version' | 'created_at'> & Pick<Users, 'name' | 'email'>
>;

export const ORGANIZATION = 'o.id, o.name, o.display_name, o.kind, o.version, o.created_at';
const MEMBER = 'm.user_id, u.name, u.email, m.role, m.source, m.version, m.created_at';

/** Only for the platform scope: names are unique across tenants that cannot see each other. */
export const organizationNameTaken = async (reader: Reader, name: string): Promise<boolean> =>
  (await reader.query('select 1 as one from organizations where name = $1', [name])).rowCount > 0;

/** In the platform scope: the user may have left it. */
export const hasCreatedOrganization = async (reader: Reader, userId: string): Promise<boolean> =>
  (await reader.query('select 1 as one from organizations where created_by = $1 limit 1', [userId])).rowCount > 0;

export const findOrganization = async (reader: Reader, id: string): Promise<OrganizationRow | undefined> =>
  (await reader.query<OrganizationRow>(`select ${ORGANIZATION} from organizations o where o.id = $1`, [id])).rows[0];

export const listOrganizationsOf = async (
  reader: Reader,
  userId: string,
  page: Readonly<{ after: string | null; limit: number }>,
): Promise<(OrganizationRow & Readonly<{ role: TenantRole }>)[]> =>
  (
    await reader.query<OrganizationRow & Readonly<{ role: TenantRole }>>(
      `select ${ORGANIZATION}, m.role from organizations o join tenant_memberships m on m.organization_id = o.id
       where m.user_id = $1 and ($2::text is null or o.id > $2) order by o.id limit $3`,
      [userId, page.after, page.limit],
    )
  ).rows;

export const listOrganizations = async (
  reader: Reader,
  page: Readonly<{ after: string | null; limit: number; name: string | null }>,
): Promise<OrganizationRow[]> =>
  (
    await reader.query<OrganizationRow>(
      `select ${ORGANIZATION} from organizations o where ($1::text is null or o.id > $1) and ($2::text is null or o.name = $2) order by o.id limit $3`,
      [page.after, page.name, page.limit],
    )
  ).rows;

export const updateOrganization = async (
  tx: Tx,
  id: string,
  version: number,
  displayName: string,
): Promise<OrganizationRow | undefined> =>
  (
    await tx.query<OrganizationRow>(
      `update organizations o set display_name = $3, version = version + 1 where o.id = $1 and o.version = $2 returning ${ORGANIZATION}`,
      [id, version, displayName],
    )
  ).rows[0];

/** False when the user is a member already, whose role does not change. */
export const insertMembership = async (
  tx: Tx,
  row: Readonly<{ organization_id: string; user_id: string; role: TenantRole; source?: 'group' }>,
): Promise<boolean> =>
  (
    await tx.query(
      'insert into tenant_memberships (organization_id, user_id, role, source) values ($1, $2, $3, $4) on conflict do nothing',
      [row.organization_id, row.user_id, row.role, row.source ?? 'manual'],
    )
  ).rowCount === 1;

/** Of a membership by a group, whose role follows the group. */
export const moveGroupRole = (tx: Tx, organizationId: string, userId: string, role: TenantRole) =>
  tx.query(
    `update tenant_memberships set role = $3, version = version + 1
     where organization_id = $1 and user_id = $2 and source = 'group'`,
    [organizationId, userId, role],
  );

/** An accepted invitation is a person's decision: the membership no longer ends with the group. */
export const keepMembership = async (
  tx: Tx,
  row: Readonly<{ organization_id: string; user_id: string; role: TenantRole }>,
): Promise<boolean> =>
  (
    await tx.query(
      `update tenant_memberships set role = $3, source = 'manual', version = version + 1
       where organization_id = $1 and user_id = $2 and source = 'group'`,
      [row.organization_id, row.user_id, row.role],
    )
  ).rowCount === 1;

export const listMembers = async (
  reader: Reader,
  organizationId: string,
  page: Readonly<{ after: string | null; limit: number }>,
): Promise<MemberRow[]> =>
  (
    await reader.query<MemberRow>(
      `select ${MEMBER} from tenant_memberships m join users u on u.id = m.user_id
       where m.organization_id = $1 and ($2::text is null or m.user_id > $2) order by m.user_id limit $3`,
      [organizationId, page.after, page.limit],
    )
  ).rows;

export const findMember = async (
  reader: Reader,
  organizationId: string,
  userId: string,
): Promise<MemberRow | undefined> =>
  (
    await reader.query<MemberRow>(
      `select ${MEMBER} from tenant_memberships m join users u on u.id = m.user_id where m.organization_id = $1 and m.user_id = $2`,
      [organizationId, userId],
    )
  ).rows[0];

/** Locks every owner of the organization, so that two removals at once cannot leave none. */
export const lockOwners = async (tx: Tx, organizationId: string): Promise<string[]> =>
  (
    await tx.query<{ user_id: string }>(
      "select user_id from tenant_memberships where organization_id = $1 and role = 'owner' order by user_id for update",
      [organizationId],
    )
  ).rows.map((row) => row.user_id);

export const updateMemberRole = async (
  tx: Tx,
  organizationId: string,
  userId: string,
  version: number,
  role: TenantRole,
): Promise<boolean> =>
  (
    await tx.query(
      'update tenant_memberships set role = $4, version = version + 1 where organization_id = $1 and user_id = $2 and version = $3',
      [organizationId, userId, version, role],
    )
  ).rowCount === 1;

/** Waits for what the member makes at this moment: see `holdRolesAt`. */
export const lockMember = async (tx: Tx, organizationId: string, userId: string): Promise<void> => {
  await tx.query('select from tenant_memberships where organization_id = $1 and user_id = $2 for update', [
    organizationId,
    userId,
  ]);
};

export const deleteMember = async (tx: Tx, organizationId: string, userId: string): Promise<boolean> =>
  (
    await tx.query('delete from tenant_memberships where organization_id = $1 and user_id = $2', [
      organizationId,
      userId,
    ])
  ).rowCount === 1;
